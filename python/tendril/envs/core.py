# SPDX-License-Identifier: Apache-2.0
"""What environments share: a batch of robots, episodes, randomisation, the interface of Gymnasium 1.x."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._library import UsageError
from ..batch import Batch
from ..model import Model
from ..views import Array
from .spaces import Box, gymnasium, many

_VectorBase: Any = gymnasium.vector.VectorEnv if gymnasium else object
_EnvBase: Any = gymnasium.Env if gymnasium else object

#: What ``randomize`` may name: (least, most), drawn anew at each reset. Factors are drawn on a logarithmic scale.
RANDOM = ("young", "mass", "damping", "friction", "gravity_x", "gravity_y", "gravity_z", "delay", "offset")

AUTORESET = ("next_step", "same_step", "disabled")


class VectorEnv(_VectorBase):
    """Many episodes of one task at once, on a :class:`tendril.Batch`.

    A task gives ``observe``, ``reward`` and ``begin``; actions are in [-1, 1] and become inputs within the ranges of
    the actuators. An episode is truncated after ``max_steps`` actions and terminated when its robot fails.

    robots: how many.
    hold: steps of the simulation that an action is held for.
    max_steps: actions in an episode.
    randomize: e.g. ``{"young": (0.8, 1.25), "friction": (0.5, 2), "delay": (0, 0.05)}``: see :data:`RANDOM`.
    autoreset: "next_step" (Gymnasium's default), "same_step" or "disabled".
    seed: of everything that is drawn.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    #: The action that stands for none before the first.
    idle: Any = -1.0
    #: Soft body, or bodies, that factors on moduli, mass and damping are of.
    body: str | tuple[str, ...]

    def __init__(self, model: Model, robots: int, *, inputs: list[str], ranges: Any, outputs: list[str], hold: int,
                 max_steps: int, randomize: Mapping[str, tuple[float, float]] | None = None,
                 autoreset: str = "next_step", threads: int = 0, seed: int | None = None) -> None:  # fmt: skip
        self.model = model
        self.num_envs = self.robots = int(robots)
        self.hold, self.max_steps, self.autoreset = int(hold), int(max_steps), autoreset
        if autoreset not in AUTORESET:
            raise UsageError(f"autoreset is '{autoreset}', and one of {', '.join(AUTORESET)} is expected")
        self.randomize = dict(randomize or {})
        for name, bounds in self.randomize.items():
            low, high = bounds
            if name not in RANDOM or not low <= high or (name in ("young", "mass") and not low > 0):
                raise UsageError(f"randomize: '{name}': {bounds} makes no sense; there are {', '.join(RANDOM)} with "
                                 "(least, most)")  # fmt: skip
        self.batch = Batch(model, robots, inputs=inputs, outputs=outputs, threads=threads)
        self.low, self.high = np.asarray(ranges, float).T
        self._random = np.random.default_rng(seed)
        self._inputs = np.zeros((robots, len(inputs)))
        self._action = np.zeros((robots, len(inputs)))
        self._out = np.zeros((robots, self.batch.width))
        self._count = np.zeros(robots, np.int64)
        self._ended = np.zeros(robots, bool)
        mode = {"next_step": "NextStep", "same_step": "SameStep", "disabled": "Disabled"}[autoreset]
        if gymnasium:
            mode = gymnasium.vector.AutoresetMode(mode)
        self.metadata = {**self.metadata, "autoreset_mode": mode}

    def _spaces(self, observations: int, actions: int) -> None:
        self.single_observation_space = Box(-np.inf, np.inf, (observations,), np.float64)
        self.single_action_space = Box(-1.0, 1.0, (actions,), np.float64)
        self.observation_space = many(self.single_observation_space, self.robots)
        self.action_space = many(self.single_action_space, self.robots)

    # ------------------------------------------------------------ what a task gives

    def begin(self, robots: Array) -> None:
        """Robots (a mask) have been reset: goals and the like."""

    def command(self, actions: Array) -> Array:
        """Inputs (robots, inputs) of actions (robots, actions): each over the range of its actuator."""
        return self.low + 0.5 * (actions + 1) * (self.high - self.low)

    def observe(self) -> Array:
        """Observations (robots, observations) of ``self._out``, the outputs of the batch."""
        raise NotImplementedError

    def reward(self) -> tuple[Array, dict[str, Array]]:
        """Rewards (robots,) and what else there is to say, by robot."""
        raise NotImplementedError

    # ------------------------------------------------------------ Gymnasium

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Starts episodes. options: {"reset_mask": booleans a robot}, else all."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        mask = None if options is None else options.get("reset_mask")
        mask = np.ones(self.robots, bool) if mask is None else np.asarray(mask, bool)
        self._start(mask)
        return self.observe(), {}

    def _start(self, mask: Array) -> None:
        if not mask.any():
            return
        self.batch.reset(mask)
        for name, (low, high) in self.randomize.items():
            factor = name in ("young", "mass", "damping", "friction") and low > 0
            drawn = self._random.uniform(np.log(low), np.log(high), self.robots) if factor else self._random.uniform(
                low, high, self.robots)  # fmt: skip
            values = np.exp(drawn) if factor else drawn
            if name == "delay":
                self.batch.set_delay(values, mask=mask)
            elif name == "offset":
                for k, input_name in enumerate(self.batch.inputs):
                    share = self._random.uniform(low, high, self.robots) if k else values
                    self.batch.set_parameter(name, share * (self.high[k] - self.low[k]), of=input_name, mask=mask)
            elif name in ("young", "mass", "damping"):
                for body in (self.body,) if isinstance(self.body, str) else self.body:
                    self.batch.set_parameter(name, values, of=body, mask=mask)
            else:
                self.batch.set_parameter(name, values, mask=mask)
        self._count[mask] = 0
        self._action[mask] = self.idle
        self.batch.observe(mask, self._out)
        self.begin(mask)

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Takes an action (robots, actions): observations, rewards, terminated, truncated, infos."""
        actions = np.asarray(actions, float)
        if actions.shape != self.action_space.shape:
            raise UsageError(f"actions have the shape {actions.shape}, and {self.action_space.shape} is expected")
        if not np.isfinite(actions).all():
            raise UsageError("an action is not finite")
        fresh = self._ended if self.autoreset == "next_step" else np.zeros(self.robots, bool)
        if fresh.any():
            self._start(fresh)
        goes = ~fresh
        self._previous = self._out.copy()
        self._action = np.where(goes[:, None], np.clip(actions, -1, 1), self._action)
        self._inputs[:] = self.command(self._action)
        self.batch.step(self._inputs, hold=self.hold, mask=goes, out=self._out)
        failed = self.batch.failed & goes
        self._out[failed] = self._previous[failed]  # the last good state
        self._count[goes] += 1
        rewards, infos = self.reward()
        rewards = np.where(goes, rewards, 0.0)
        truncated = (self._count >= self.max_steps) & goes & ~failed
        self._ended = failed | truncated
        observations = self.observe()
        if self.autoreset == "same_step" and self._ended.any():
            infos = {**infos, "final_obs": observations.copy(), "_final_obs": self._ended.copy()}
            self._start(self._ended)
            observations = self.observe()
        return observations, rewards, failed, truncated, infos

    def close(self, **_more: Any) -> None:
        """Nothing is left open."""


class Env(_EnvBase):
    """One episode at a time of a task: a :class:`VectorEnv` of one robot."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, vector: VectorEnv) -> None:
        if vector.robots != 1 or vector.autoreset != "disabled":
            raise UsageError("a single environment is made of a vector of one robot with autoreset='disabled'")
        self.vector = vector
        self.observation_space, self.action_space = vector.single_observation_space, vector.single_action_space

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Starts an episode: observation and info."""
        if gymnasium:
            super().reset(seed=seed)
        observations, _ = self.vector.reset(seed=seed)
        return observations[0], {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Takes an action: observation, reward, terminated, truncated, info."""
        action = np.asarray(action, float)
        if action.shape != self.action_space.shape:
            raise UsageError(f"the action has the shape {action.shape}, and {self.action_space.shape} is expected")
        obs, rewards, terminated, truncated, infos = self.vector.step(action[None])
        return obs[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {k: v[0] for k, v in infos.items()}

    def close(self) -> None:
        """Nothing is left open."""
