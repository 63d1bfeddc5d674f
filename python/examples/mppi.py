#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parallel robot follows a circle by sampling, or a worm crawls: model predictive path integral control on a batch of
robots.

    python mppi.py                               # on the CPU, a few samples
    python mppi.py --device gpu --samples 1024   # on a GPU: a plan of 50 steps for 1,024 samples takes milliseconds
    python mppi.py --robot worm                  # crawls along x on a floor with friction

In every step of the robot, samples start where it is, each pulls the cables by the plan with noise of its own, and the
plan becomes their mean, weighted by exp(-cost / temperature) (Williams et al. 2017). The robot itself goes on the
CPU. Where a reduced model is given it is used for both; else the robot is reduced first, which takes half a minute.
"""
from __future__ import annotations

import argparse
import os
import time

import numpy as np

import tendril

SCENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "robots", "parallel", "coarse.yaml")
WORM = os.path.join(tendril.data.folder(), "scenes", "worm.yaml")


class Mppi:
    """Plans of ``steps`` rows of inputs for one robot.

    batch: samples, whose only output is the place of what is to be moved.
    low, high: bounds of inputs.
    noise: standard deviation of what samples do otherwise, of the range; it is smooth in time.
    temperature: of the weights, in units of the spread of costs.
    """

    def __init__(self, batch: tendril.Batch, steps: int, low: np.ndarray, high: np.ndarray, *, noise: float = 0.15,
                 temperature: float = 0.1, seed: int = 1) -> None:  # fmt: skip
        self.batch, self.steps, self.low, self.high = batch, steps, low, high
        self.noise, self.temperature = noise * (high - low), temperature
        self.random = np.random.default_rng(seed)
        self.plan = np.tile(0.5 * (low + high), (steps, 1))
        self.seconds = 0.0  # that the samples took in the last turn, with copies
        self.out = np.empty((batch.robots, steps, batch.width))
        # Noise of steps of five rows each, joined by straight lines: cables do not jump.
        knots = np.arange(0, steps + 5, 5)
        self.smooth = np.array([np.interp(np.arange(steps), knots, np.eye(len(knots))[k]) for k in range(len(knots))]).T

    def turn(self, state: bytes, cost_of) -> np.ndarray:
        """The next row of inputs of a robot in that state; cost_of(places): of each sample, from (robots, steps, 3)."""
        shape = (self.batch.robots, self.smooth.shape[1], len(self.low))
        drawn = np.einsum("tk,rki->rti", self.smooth, self.random.standard_normal(shape)) * self.noise
        drawn[0] = 0
        inputs = np.clip(self.plan + drawn, self.low, self.high)
        begin = time.perf_counter()
        self.batch.read(state)
        places = self.batch.rollout(inputs, out=self.out)
        self.seconds = time.perf_counter() - begin
        cost = cost_of(places)
        change = np.square(np.diff(inputs, axis=1) / (self.high - self.low)).sum(axis=(1, 2))
        cost = np.where(np.isfinite(cost), cost, np.inf) + 1e-7 * change
        spread = np.std(cost[np.isfinite(cost)]) + 1e-30
        weight = np.exp(-(cost - cost.min()) / (self.temperature * spread))
        self.plan = np.einsum("r,rti->ti", weight / weight.sum(), inputs)
        row = self.plan[0].copy()
        self.plan = np.vstack([self.plan[1:], self.plan[-1:]])
        return row


def circle(rest: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Where the tip is to be: 15 mm above where it rests, and after a second on a circle of 20 mm, 4 s a turn."""
    radius = 0.020 * np.clip(t - 0.5, 0, 0.5) / 0.5
    angle = 2 * np.pi * t / 4
    return rest + np.stack([radius * np.cos(angle), radius * np.sin(angle), 0.015 * np.clip(t / 0.5, 0, 1)], axis=-1)


def follow(model: tendril.Model, samples: int, steps: int, seconds: float, *, show=print, **more) -> dict:
    """Mean distance from the circle in the second half [m], and the median time of a turn's samples [s]."""
    low = np.array([a.displacement[0] for a in model.actuators])
    high = np.array([a.displacement[1] for a in model.actuators])
    names = [model.inputs[a.input] for a in model.actuators]
    samples_of = tendril.Batch(model, samples, inputs=names, outputs=["effector:tip"], **more)
    robot = tendril.Batch(model, 1, inputs=names, outputs=["effector:tip"])
    control, h = Mppi(samples_of, steps, low, high), model.time_step
    rest = robot.observe()[0].copy()
    far, took = [], []
    for k in range(round(seconds / h)):
        goals = circle(rest, (k + 1 + np.arange(steps)) * h)
        row = control.turn(
            robot.state(0).to_bytes(), lambda places, goals=goals: np.square(places - goals).sum(axis=2).mean(axis=1))
        tip = robot.step(row)[0]
        far.append(np.linalg.norm(tip - goals[0]))
        took.append(control.seconds)
        if (k + 1) % 50 == 0:
            show(f"t = {(k + 1) * h:.2f} s: {1e3 * far[-1]:.2f} mm off, {1e3 * np.median(took[-50:]):.2f} ms for "
                 f"{samples} samples of {steps} steps")  # fmt: skip
    return {"distance": float(np.mean(far[len(far) // 2:])), "seconds": float(np.median(took))}


def crawl(model: tendril.Model, samples: int, steps: int, seconds: float, *, show=print, **more) -> dict:
    """How far the worm has come along -x, where its cables begin to pull [m], and the median time of a turn's samples."""
    low, high = np.array([a.range for a in model.actuators]).T
    names = [model.inputs[a.input] for a in model.actuators]
    samples_of = tendril.Batch(model, samples, inputs=names, outputs=["probe:middle"], **more)
    robot = tendril.Batch(model, 1, inputs=names, outputs=["probe:middle"])
    control, h = Mppi(samples_of, steps, low, high, noise=0.4), model.time_step
    control.plan[:] = low
    start, took = robot.observe()[0].copy(), []
    middle = start
    for k in range(round(seconds / h)):
        # Where it is at the end of the plan counts; in the mean over its second half, since it swings.
        row = control.turn(robot.state(0).to_bytes(), lambda places: places[:, steps // 2:, 0].mean(axis=1))
        middle = robot.step(row)[0]
        took.append(control.seconds)
        if (k + 1) % 50 == 0:
            show(f"t = {(k + 1) * h:.2f} s: {1e3 * (start[0] - middle[0]):.2f} mm, {1e3 * np.median(took[-50:]):.2f} ms for "
                 f"{samples} samples of {steps} steps")  # fmt: skip
    return {"distance": float(start[0] - middle[0]), "seconds": float(np.median(took))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="parallel", choices=["parallel", "worm"])
    parser.add_argument("--scene", help="another one of that kind")
    parser.add_argument("--rom", help="its reduced model; made when it is not given")
    parser.add_argument("--device", default="cpu", help="of the samples: cpu or gpu")
    parser.add_argument("--gpu", help="file of the GPU's back end")
    parser.add_argument("--precision", default="split", help="of tangents on the GPU: split, half or single")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--steps", type=int, default=50, help="of a plan")
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    more = {"device": "gpu", "gpu": given.gpu, "precision": given.precision} if given.device == "gpu" else {}
    scene = given.scene or (WORM if given.robot == "worm" else SCENE)
    model = tendril.Model(scene, rom=given.rom or tendril.reduced(scene))
    if given.robot == "worm":
        result = crawl(model, given.samples, given.steps, given.seconds, **more)
        print(f"{1e3 * result['distance']:.1f} mm in {given.seconds} s, {1e3 * result['seconds']:.2f} ms a turn")
        return
    result = follow(model, given.samples, given.steps, given.seconds, **more)
    print(f"{1e3 * result['distance']:.2f} mm off on the circle, {1e3 * result['seconds']:.2f} ms a turn")


if __name__ == "__main__":
    main()
