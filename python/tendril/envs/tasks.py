# SPDX-License-Identifier: Apache-2.0
"""Tasks for soft robots: reach, crawl, grasp, pinch."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from .._library import UsageError
from ..batch import Batch
from ..data import folder, reduced, robot
from ..model import Model
from ..scene import Scene
from .core import VectorEnv
from ..views import Array


class ReachVector(VectorEnv):
    """A soft arm brings its tip to goals: the trunk with its nine actuators, reduced, or any scene with ranges.

    Actions move the commands of the actuators, by ``rate`` of their ranges at most. Observations: tip less goal, tip,
    goal (each 3, in units of the reach), motion of the tip, commands (0 to 1). Reward: minus the distance to the goal
    in units of the reach, at most 0; a goal is reached within ``tolerance`` [m], a twentieth of the reach unless said
    otherwise.

    scene, rom: another robot than the trunk; rom=False takes it at full order.
    tip: name of the probe or effector that is to come to the goal; the first of the scene unless said otherwise.
    """

    idle = 0.0

    def __init__(self, robots: int = 1, *, scene: str | os.PathLike[str] | None = None,
                 rom: str | os.PathLike[str] | bool | None = None, tip: str | None = None, tolerance: float | None = None,
                 hold: int = 5, max_steps: int = 20, rate: float = 0.2, goals: int = 256, seed: int | None = None,
                 **more: Any) -> None:  # fmt: skip
        scene = robot("trunk") if scene is None else scene
        model = Model(scene, rom=reduced(scene) if rom is None or rom is True else None if rom is False else rom)
        self.body = model.bodies[0].name
        if tip is None and not model.effectors and not model.probes:
            raise UsageError("the scene has neither an effector nor a probe that could reach a goal; add a probe")
        names = [e.name for e in model.effectors if e.kind == "position"]
        tip = tip or (names[0] if names else model.probes[0])
        output = f"effector:{tip}" if tip in names else f"probe:{tip}"
        inputs = [model.inputs[a.input] for a in model.actuators]
        ranges = np.array([a.range for a in model.actuators])
        if not np.isfinite(ranges).all():
            raise UsageError("every actuator needs a 'range' in the scene, over which its command goes")
        super().__init__(model, robots, inputs=inputs, ranges=ranges, outputs=[output], hold=hold, max_steps=max_steps,
                         seed=seed, **more)  # fmt: skip
        self.rate = rate
        self._commands = np.zeros((robots, len(inputs)))
        self._reachable(goals, 0 if seed is None else seed)
        self.tolerance = 0.05 * self.reach if tolerance is None else tolerance
        self.goal = np.zeros((robots, 3))
        self._last = np.zeros((robots, 3))
        self._spaces(12 + len(inputs), len(inputs))
        self.reset(seed=seed)

    def _reachable(self, count: int, seed: int) -> None:
        """Places of the tip under random commands: goals that can be reached. At rest: where it starts."""
        random = np.random.default_rng(seed)
        n = len(self.low)
        # One or two of the actuators, so that the places fill the workspace instead of its middle.
        share = np.zeros((count, n))
        for k in range(count):
            share[k, random.choice(n, min(n, 1 + k % 2), replace=False)] = random.uniform(0.2, 1.0)
        batch = Batch(self.model, min(count, 64), inputs=list(self.batch.inputs), outputs=list(self.batch.outputs.names))
        batch.rollout(np.tile(self.low, (1, 1)), hold=1)
        self.rest = batch.observe()[0].copy()
        places = []
        for start in range(0, count, batch.robots):
            part = share[start : start + batch.robots]
            part = np.concatenate([part, np.zeros((batch.robots - len(part), n))])
            batch.reset()
            ramp = np.minimum(1, self.rate * np.arange(1, self.max_steps + 1))
            rows = self.low + part[:, None, :] * ramp[None, :, None] * (self.high - self.low)
            out = batch.rollout(rows, hold=self.hold)[:, -1]
            places.append(out[~batch.failed][: count - start])
        self.places = np.concatenate(places)
        self.reach = float(np.linalg.norm(self.places - self.rest, axis=1).max())

    def begin(self, robots: Array) -> None:
        chosen = self._random.integers(len(self.places), size=self.robots)
        self.goal[robots] = self.places[chosen[robots]]
        self._commands[robots] = 0.0
        self._last[robots] = self._out[robots]

    def command(self, actions: Array) -> Array:
        self._commands = np.clip(self._commands + self.rate * actions, 0, 1)
        return self.low + self._commands * (self.high - self.low)

    def observe(self) -> Array:
        tip, goal = (self._out - self.rest) / self.reach, (self.goal - self.rest) / self.reach
        moved = (self._out - self._last) / self.reach
        return np.concatenate([tip - goal, tip, goal, moved, self._commands], axis=1)

    def reward(self) -> tuple[Array, dict[str, Array]]:
        self._last = self._previous
        distance = np.linalg.norm(self._out - self.goal, axis=1)
        return -distance / self.reach, {"distance": distance, "success": distance < self.tolerance}


class CrawlVector(VectorEnv):
    """A worm of 12 cm with three cables along its belly crawls along x, reduced, on a floor with friction.

    Observations: amplitudes of its modes and their rates, height and tilt of its frame, velocity along x, action.
    Reward: way along x in centimetres.
    """

    def __init__(self, robots: int = 1, *, hold: int = 5, max_steps: int = 100, seed: int | None = None,
                 **more: Any) -> None:  # fmt: skip
        scene = folder() / "scenes" / "worm.yaml"
        model = Model(scene, rom=reduced(scene))
        self.body = "worm"
        inputs = [model.inputs[a.input] for a in model.actuators]
        super().__init__(model, robots, inputs=inputs, ranges=[a.range for a in model.actuators],
                         outputs=["coords:worm", "rates:worm", "probe:middle"], hold=hold, max_steps=max_steps,
                         seed=seed, **more)  # fmt: skip
        self._coords, self._rates, self._middle = (self.batch.slices[n] for n in self.batch.outputs.names)
        self.modes = model.bodies[model.body("worm")].coords - 6
        self._scale = 100.0  # amplitudes are of some centimetres
        self._spaces(2 * self.modes + 1 + 3 + 1 + len(inputs), len(inputs))
        self._previous = self._out.copy()
        self.reset(seed=seed)

    def observe(self) -> Array:
        q, v = self._out[:, self._coords], self._out[:, self._rates]
        n = self.modes
        return np.concatenate([self._scale * q[:, :n], self._scale * v[:, :n], self._scale * q[:, n + 2 : n + 3],
                               q[:, n + 3 :], self._scale * v[:, n : n + 1], self._action], axis=1)  # fmt: skip

    def reward(self) -> tuple[Array, dict[str, Array]]:
        x = self._out[:, self._middle][:, 0]
        return 100 * (x - self._previous[:, self._middle][:, 0]), {"x": x}


class GraspVector(VectorEnv):
    """An arm with a hand of four fingers grasps a soft ball from a stand and lifts it.

    Actions: how far the four fingers are closed, and the height of the hand. Observations: centre of the ball less the
    start, its velocity, force of the hand on it, height of the hand, action. Reward: height of the ball above the
    stand in decimetres, and a little for touching it.

    A step takes milliseconds: the ball is of full order.
    """

    idle = (-1.0, -1.0, -1.0, -1.0, 1.0)
    _FINGERS = (("i", 75, 75, 60), ("s", 75, 75, 60), ("t", 75, 75, 60), ("u", 55, 55, 50))

    def __init__(self, robots: int = 1, *, hold: int = 5, max_steps: int = 40, seed: int | None = None,
                 **more: Any) -> None:  # fmt: skip
        model = Model(folder() / "scenes" / "contact" / "grasp.yaml")
        self.body = "ball"
        inputs = [f"{finger}{k}" for finger, *_ in self._FINGERS for k in (1, 2, 3)] + ["hand.z"]
        ranges = [(0.0, np.radians(angle)) for _, *angles in self._FINGERS for angle in angles] + [(-0.06, 0.1)]
        super().__init__(model, robots, inputs=inputs, ranges=ranges,
                         outputs=["positions:ball", "contact:robot,ball", "input:hand.z"], hold=hold,
                         max_steps=max_steps, seed=seed, **more)  # fmt: skip
        self._ball, self._force, self._hand = (self.batch.slices[n] for n in self.batch.outputs.names)
        self._action = np.tile(self.idle, (robots, 1))
        self._spaces(3 + 3 + 3 + 1 + 5, 5)
        self._start_centre = self.model.rest("ball").mean(axis=0)
        self._previous = self._out.copy()
        self.reset(seed=seed)

    def command(self, actions: Array) -> Array:
        whole = np.concatenate([np.repeat(actions[:, :4], 3, axis=1), actions[:, 4:]], axis=1)
        return super().command(whole)

    def _centre(self, out: Array) -> Array:
        return out[:, self._ball].reshape(self.robots, -1, 3).mean(axis=1)

    def observe(self) -> Array:
        centre = self._centre(self._out)
        rate = (centre - self._centre(self._previous)) / (self.hold * self.model.time_step)
        return np.concatenate([10 * (centre - self._start_centre), rate, self._out[:, self._force],
                               10 * self._out[:, self._hand], self._action], axis=1)  # fmt: skip

    def begin(self, robots: Array) -> None:
        if hasattr(self, "_previous"):
            self._previous[robots] = self._out[robots]

    def reward(self) -> tuple[Array, dict[str, Array]]:
        height = self._centre(self._out)[:, 2] - self._start_centre[2]
        force = np.linalg.norm(self._out[:, self._force], axis=1)
        return 10 * np.maximum(height, 0) + 0.01 * (force > 0.1), {"height": height, "success": height > 0.05}


class PinchVector(VectorEnv):
    """Two soft fingers, both reduced, pinch a wheel on a table and turn it.

    Actions: four for each finger's tip, how far it goes in or out and to the fore or to the back, in [-1, 1]: (left
    in, left fore, right in, right fore). Observations: angle of the wheel (sine, cosine) and its rate, place of the
    wheel, places of the tips from rest, forces on the wheel, action. Reward: angle that the wheel was turned by,
    counter-clockwise, in radians, less ten times the way of its hub in metres.
    """

    idle = 0.0

    def __init__(self, robots: int = 1, *, hold: int = 5, max_steps: int = 40, seed: int | None = None,
                 **more: Any) -> None:  # fmt: skip
        file = Path(__file__).with_name("pinch.yaml")
        scene = Scene(file)
        self.body = ("left", "right")
        for k, body in enumerate(self.body):
            scene[f"bodies[{k}].rom"] = reduced(self._alone(file, k), body=body).as_posix()
        model = Model(scene)
        inputs = [f"{side}_{way}" for side in self.body for way in ("in", "out", "fore", "back")]
        super().__init__(model, robots, inputs=inputs, ranges=[model.actuator(name).range for name in inputs],
                         outputs=["probe:hub", "probe:rim", "probe:left_tip", "probe:right_tip", "contact:left,wheel",
                                  "contact:right,wheel"], hold=hold, max_steps=max_steps, seed=seed, **more)  # fmt: skip
        self._action = np.zeros((robots, 4))
        self._parts = [self.batch.slices[name] for name in self.batch.outputs.names]
        self._rest = self.batch.observe()[:, self._parts[2].start : self._parts[3].stop]
        self._turned = np.zeros(robots)
        self._spaces(2 + 1 + 3 + 6 + 6 + 4, 4)
        self._previous = self._out.copy()
        self.reset(seed=seed)

    @staticmethod
    def _alone(file: Path, finger: int) -> Scene:
        """One finger, to be trained: what lies between them has no equilibrium of its own."""
        scene = Scene(file)
        for path in ("bodies[3]", "bodies[2]", f"bodies[{1 - finger}]", "probes[3]", "probes[2]", f"probes[{1 - finger}]",
                     "contact"):  # fmt: skip
            del scene[path]
        for k in range(4):
            del scene[f"actuators[{4 - 4 * finger}]"]
        scene["reduction.body"] = ("left", "right")[finger]
        return scene

    def command(self, actions: Array) -> Array:
        pairs = np.stack([np.maximum(actions, 0), np.maximum(-actions, 0)], axis=2)  # a cable each way
        return self.low + pairs.reshape(self.robots, -1) * (self.high - self.low)

    def _angle(self, out: Array) -> Array:
        spoke = out[:, self._parts[1]] - out[:, self._parts[0]]
        return np.arctan2(spoke[:, 1], spoke[:, 0])

    def _turn(self) -> Array:
        change = self._angle(self._out) - self._angle(self._previous)
        return (change + np.pi) % (2 * np.pi) - np.pi

    def observe(self) -> Array:
        angle, tips = self._angle(self._out)[:, None], self._out[:, self._parts[2].start : self._parts[3].stop]
        rate = self._turn()[:, None] / (self.hold * self.model.time_step)
        forces = self._out[:, self._parts[4].start : self._parts[5].stop]
        return np.concatenate([np.sin(angle), np.cos(angle), rate, 100 * self._out[:, self._parts[0]],
                               100 * (tips - self._rest), forces, self._action], axis=1)  # fmt: skip

    def begin(self, robots: Array) -> None:
        if hasattr(self, "_previous"):
            self._previous[robots] = self._out[robots]
            self._turned[robots] = 0.0

    def reward(self) -> tuple[Array, dict[str, Array]]:
        turn, hub = self._turn(), self._parts[0]
        self._turned += turn
        away = np.linalg.norm((self._out - self._previous)[:, hub][:, :2], axis=1)
        return turn - 10 * away, {"turned": self._turned.copy(), "success": self._turned > 0.5}
