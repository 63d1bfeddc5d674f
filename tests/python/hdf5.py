# SPDX-License-Identifier: Apache-2.0
"""Arrays in HDF5 files through the library's own HDF5: the package does not need h5py, and its tests do not either."""
import ctypes as c
import ctypes.util
import unittest

import numpy as np

_I = c.c_int64
_name = ctypes.util.find_library("hdf5_serial") or ctypes.util.find_library("hdf5")
_h5 = c.CDLL(_name) if _name else None


def _call(name, result, *given):
    function = getattr(_h5, name)
    function.restype, function.argtypes = result, [type(g) for g in given]
    out = function(*given)
    if out < 0:
        raise OSError(f"{name} failed")
    return out


def _double():
    if _h5 is None:
        raise unittest.SkipTest("there is no HDF5 library")
    _call("H5open", c.c_int)
    return _I(_I.in_dll(_h5, "H5T_NATIVE_DOUBLE_g").value)


def write(path, **arrays):
    double = _double()
    file = _I(_call("H5Fcreate", _I, c.c_char_p(str(path).encode()), c.c_uint(2), _I(0), _I(0)))
    for name, array in arrays.items():
        array = np.ascontiguousarray(array, float)
        dims = (c.c_uint64 * array.ndim)(*array.shape)
        space = _I(_call("H5Screate_simple", _I, c.c_int(array.ndim), c.cast(dims, c.c_void_p), c.c_void_p()))
        data = _I(_call("H5Dcreate2", _I, file, c.c_char_p(name.encode()), double, space, _I(0), _I(0), _I(0)))
        _call("H5Dwrite", c.c_int, data, double, _I(0), _I(0), _I(0), c.c_void_p(array.ctypes.data))
        _call("H5Dclose", c.c_int, data)
        _call("H5Sclose", c.c_int, space)
    _call("H5Fclose", c.c_int, file)


def read(path, name, shape):
    double, out = _double(), np.empty(shape)
    file = _I(_call("H5Fopen", _I, c.c_char_p(str(path).encode()), c.c_uint(0), _I(0)))
    data = _I(_call("H5Dopen2", _I, file, c.c_char_p(name.encode()), _I(0)))
    space = _I(_call("H5Dget_space", _I, data))
    assert _call("H5Sget_simple_extent_npoints", _I, space) == out.size
    _call("H5Dread", c.c_int, data, double, _I(0), _I(0), _I(0), c.c_void_p(out.ctypes.data))
    _call("H5Sclose", c.c_int, space)
    _call("H5Dclose", c.c_int, data)
    _call("H5Fclose", c.c_int, file)
    return out
