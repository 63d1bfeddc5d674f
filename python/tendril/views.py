# SPDX-License-Identifier: Apache-2.0
"""Arrays over memory of the library, and arrays of the caller as the library takes them."""
from __future__ import annotations

import ctypes as c
import operator
from typing import Any

import numpy as np

from ._library import UsageError


#: Of numbers of any kind.
Array = np.ndarray[Any, np.dtype[Any]]


class _Memory:
    """Memory of an owner, which a view keeps alive."""

    __slots__ = ("owner", "__array_interface__")

    def __init__(self, owner: Any, address: int, shape: tuple[int, ...], kind: str, write: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (address, not write), "shape": shape, "typestr": kind, "version": 3}


def view(owner: Any, address: int | None, shape: tuple[int, ...], kind: str = "<f8", write: bool = False) -> Array:
    """An array without a copy. As long as it lives, so does ``owner``."""
    if not address or 0 in shape:
        return np.zeros(shape, kind)
    return np.asarray(_Memory(owner, address, shape, kind, write))


def address(array: Array | None) -> int | None:
    return None if array is None else array.__array_interface__["data"][0]


def doubles(value: Any, what: str) -> Array:
    """``value`` as doubles; copied only where it has to be."""
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise UsageError(f"{what}: complex numbers are not accepted; give real ones")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise error if isinstance(error, UsageError) else UsageError(f"{what}: {error}") from None


def count(value: Any, what: str) -> int:
    """``value`` as a whole number; 2.5 is none."""
    try:
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{what} is {value!r}, and a whole number is expected") from None


def numbers(value: Any, shape: tuple[int, ...], what: str) -> Array:
    """``value`` as doubles of that shape, in order; copied only where it has to be."""
    array = doubles(value, what)
    if array.shape != shape:
        raise UsageError(f"{what} has the shape {array.shape}, and {shape} is expected")
    return np.ascontiguousarray(array)


def mask_of(value: Any, robots: int) -> Array | None:
    """A mask over robots: None (all), a boolean a robot, or indices."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype == bool and array.shape == (robots,):
        return np.ascontiguousarray(array.view(np.uint8))
    if array.ndim == 1 and np.issubdtype(array.dtype, np.integer) or array.size == 0:
        out = np.zeros(robots, np.uint8)
        if array.size and (array.min() < 0 or array.max() >= robots):
            raise UsageError(f"the mask names a robot that is not there; they are 0 to {robots - 1}")
        out[array.astype(np.int64)] = 1
        return out
    raise UsageError(f"a mask is a boolean for each of the {robots} robots, or indices; found {array.dtype} {array.shape}")


# ------------------------------------------------------------ memory of a GPU

_CUDA, _CUDA_MANAGED, _FLOAT = 2, 13, 2


class _Tensor(c.Structure):
    """The head of what a capsule of DLPack holds."""

    _fields_ = [("data", c.c_void_p), ("device", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]  # fmt: skip


_get_pointer = c.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]


def on_gpu(value: Any) -> bool:
    """Whether an array of another library (PyTorch, CuPy, JAX, ...) is in the memory of a GPU."""
    try:
        return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in (_CUDA, _CUDA_MANAGED)
    except BufferError:
        return False


class Device:
    """Doubles in the memory of a GPU, where another library has them; kept there as long as this lives."""

    def __init__(self, value: Any, what: str) -> None:
        self.capsule = value.__dlpack__(stream=1)  # what that library has begun is done before the default stream goes on
        tensor = _Tensor.from_address(_get_pointer(self.capsule, b"dltensor"))
        if (tensor.code, tensor.bits, tensor.lanes) != (_FLOAT, 64, 1):
            raise UsageError(f"{what} on the GPU have to be doubles (float64)")
        self.shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        if tensor.strides:
            self.strides = tuple(tensor.strides[i] for i in range(tensor.ndim))
        else:
            self.strides = tuple(int(np.prod(self.shape[i + 1:])) for i in range(tensor.ndim))
        self.address = (tensor.data or 0) + tensor.byte_offset
