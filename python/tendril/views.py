# SPDX-License-Identifier: Apache-2.0
"""Arrays over memory of the library, and arrays of the caller as the library takes them."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._library import UsageError


class _Memory:
    """Memory of an owner, which a view keeps alive."""

    __slots__ = ("owner", "__array_interface__")

    def __init__(self, owner: Any, address: int, shape: tuple[int, ...], kind: str, write: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (address, not write), "shape": shape, "typestr": kind, "version": 3}


def view(owner: Any, address: int | None, shape: tuple[int, ...], kind: str = "<f8", write: bool = False) -> np.ndarray:
    """An array without a copy. As long as it lives, so does ``owner``."""
    if not address or 0 in shape:
        return np.zeros(shape, kind)
    return np.asarray(_Memory(owner, address, shape, kind, write))


def address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.__array_interface__["data"][0]


def numbers(value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """``value`` as doubles of that shape, in order; copied only where it has to be."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what}: {error}") from None
    if array.shape != shape:
        raise UsageError(f"{what} has the shape {array.shape}, and {shape} is wanted")
    return np.ascontiguousarray(array)


def mask_of(value: Any, robots: int) -> np.ndarray | None:
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
