# SPDX-License-Identifier: Apache-2.0
"""A vector of robots in the shape that Stable-Baselines3 wants."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._library import UsageError
from ..views import Array
from .core import VectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv as _Base
except ImportError:
    _Base = object


class StableBaselinesVec(_Base):
    """``StableBaselinesVec(tendril.envs.make("reach", robots=64, autoreset="same_step"))``."""

    def __init__(self, vector: VectorEnv) -> None:
        if vector.autoreset != "same_step":
            raise UsageError("Stable-Baselines3 wants autoreset='same_step'")
        self.vector = vector
        self.num_envs = vector.robots
        self.observation_space, self.action_space = vector.single_observation_space, vector.single_action_space
        if _Base is not object:
            super().__init__(vector.robots, self.observation_space, self.action_space)

    def reset(self) -> Array:
        return self.vector.reset()[0]

    def step_async(self, actions: Any) -> None:
        self._waiting = actions

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, infos = self.vector.step(self._waiting)
        final = infos.pop("final_obs", None)
        infos.pop("_final_obs", None)
        out = [{k: v[i] for k, v in infos.items()} for i in range(self.num_envs)]
        for i in np.flatnonzero(terminated | truncated):
            out[i]["terminal_observation"] = final[i]
            out[i]["TimeLimit.truncated"] = bool(truncated[i])
        return observations, rewards, terminated | truncated, out

    def step(self, actions: Any) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        self.step_async(actions)
        return self.step_wait()

    def close(self) -> None:
        self.vector.close()

    def _each(self, value: Any, indices: Any) -> list[Any]:
        """One value for each robot that is meant: all of them, one, or a list."""
        return [value] * (self.num_envs if indices is None else np.size(indices))

    def get_attr(self, name: str, indices: Any = None) -> list[Any]:
        return self._each(getattr(self.vector, name), indices)

    def set_attr(self, name: str, value: Any, indices: Any = None) -> None:
        setattr(self.vector, name, value)

    def env_method(self, name: str, *arguments: Any, indices: Any = None, **more: Any) -> list[Any]:
        return self._each(getattr(self.vector, name)(*arguments, **more), indices)

    def env_is_wrapped(self, wrapper: Any, indices: Any = None) -> list[bool]:
        return self._each(False, indices)

    def seed(self, seed: int | None = None) -> list[None]:
        self.vector._random = np.random.default_rng(seed)
        return [None] * self.num_envs
