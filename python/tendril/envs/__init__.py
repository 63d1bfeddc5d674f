# SPDX-License-Identifier: Apache-2.0
"""Environments in the manner of Gymnasium 1.x, for one robot or many.

They are subclasses of Gymnasium's where it is installed, and work alike where it is not.

>>> env = tendril.envs.make("reach")                        # one: reset(), step() -> five values
>>> envs = tendril.envs.make("reach", robots=256, randomize={"young": (0.8, 1.25), "delay": (0, 0.05)})
"""
from __future__ import annotations

from typing import Any

from .._library import UsageError
from .core import AUTORESET, RANDOM, Env, VectorEnv
from .sb3 import StableBaselinesVec
from .spaces import Box
from .tasks import CrawlVector, GraspVector, PinchVector, ReachVector

TASKS: dict[str, Any] = {
    "reach": ReachVector, "crawl": CrawlVector, "grasp": GraspVector, "pinch": PinchVector,
}  # fmt: skip


def make(task: str, robots: int | None = None, **more: Any) -> Env | VectorEnv:
    """An environment: "reach", "crawl", "grasp" or "pinch"; of one robot, or a vector of ``robots``."""
    if task not in TASKS:
        raise UsageError(f"there is no task '{task}'; there are: {', '.join(TASKS)}")
    if robots is not None:
        return TASKS[task](robots, **more)
    return Env(TASKS[task](1, autoreset="disabled", **more))


__all__ = ["AUTORESET", "Box", "CrawlVector", "Env", "GraspVector", "PinchVector", "RANDOM", "ReachVector", "StableBaselinesVec",
           "TASKS", "VectorEnv", "make"]  # fmt: skip
