# SPDX-License-Identifier: Apache-2.0
"""Spaces of observations and actions: Gymnasium's where it is installed, else the little that is needed of them."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..views import Array

__all__ = ["Box", "gymnasium", "many"]

try:
    import gymnasium
    from gymnasium.spaces import Box
except ImportError:
    gymnasium = None

    class Box:  # type: ignore[no-redef]
        """Numbers between two bounds."""

        def __init__(self, low: Any, high: Any, shape: tuple[int, ...] | None = None, dtype: Any = np.float32,
                     seed: int | None = None) -> None:  # fmt: skip
            self.dtype = np.dtype(dtype)
            self.shape = tuple(shape) if shape is not None else np.broadcast(np.asarray(low), np.asarray(high)).shape
            self.low = np.broadcast_to(np.asarray(low, self.dtype), self.shape).copy()
            self.high = np.broadcast_to(np.asarray(high, self.dtype), self.shape).copy()
            self.seed(seed)

        def seed(self, seed: int | None = None) -> None:
            self._random = np.random.default_rng(seed)

        def sample(self) -> Array:
            low = np.where(np.isfinite(self.low), self.low, -1.0)
            high = np.where(np.isfinite(self.high), self.high, 1.0)
            return self._random.uniform(low, high, self.shape).astype(self.dtype)

        def contains(self, x: Any) -> bool:
            x = np.asarray(x)
            return x.shape == self.shape and bool(np.all(x >= self.low) and np.all(x <= self.high))

        __contains__ = contains

        def __repr__(self) -> str:
            return f"Box({self.low.min()}, {self.high.max()}, {self.shape}, {self.dtype})"


def many(space: Box, n: int) -> Box:
    """The space of n of them."""
    return Box(np.repeat(space.low[None], n, 0), np.repeat(space.high[None], n, 0), dtype=space.dtype)
