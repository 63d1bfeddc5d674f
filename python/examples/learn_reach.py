#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A soft arm learns to reach: the cross-entropy method in NumPy, on a batch of robots.

    python learn_reach.py                       # the trunk; minutes, and some more the first time, to reduce it
    python learn_reach.py --scene arm.yaml --rom arm.h5

A policy says how fast each actuator pulls or gives way, by where the tip is beside the goal: a = clip(W (tip - goal)),
W of (actuators x 3) numbers. Each generation draws policies around the best ones so far, tries each on the same few
goals, and keeps the best. At the end the policy is tried on goals that it has not seen; with --full it also drives the
robot at full order.
"""
from __future__ import annotations

import argparse
import time

import numpy as np

from tendril.envs import ReachVector


def features(observations: np.ndarray) -> np.ndarray:
    """Of observations of the reach task (robots, n): the tip less the goal."""
    return observations[:, :3]


def episodes(env: ReachVector, weights: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs an episode of each robot with its own weights (robots, actions, features): return, last distance."""
    observations, _ = env.reset(seed=seed)
    total = np.zeros(env.robots)
    for _ in range(env.max_steps):
        actions = np.clip(np.einsum("raf,rf->ra", weights, features(observations)), -1, 1)
        observations, rewards, terminated, _, infos = env.step(actions)
        total += np.where(terminated, -10.0, rewards)
    return total, infos["distance"]


class SameGoals(ReachVector):
    """Reach where robot k and robot k + goals have the same goal, so that policies can be compared."""

    def __init__(self, policies: int, per_policy: int, **more) -> None:
        self.per_policy = per_policy
        super().__init__(policies * per_policy, **more)

    def begin(self, robots: np.ndarray) -> None:
        super().begin(robots)
        chosen = self._random.integers(len(self.places), size=self.per_policy)
        self.goal[robots] = np.tile(self.places[chosen], (self.robots // self.per_policy, 1))[robots]


def learn(env: SameGoals, generations: int = 15, seed: int = 1, show=print) -> np.ndarray:
    """Weights (actions, features) of the policy that the cross-entropy method ends with."""
    random = np.random.default_rng(seed)
    policies, actions = env.robots // env.per_policy, env.single_action_space.shape[0]
    n = features(env.observe()).shape[1]
    mean, spread, elite = np.zeros((actions, n)), np.full((actions, n), 2.0), max(4, policies // 8)
    for generation in range(generations):
        drawn = mean + spread * random.standard_normal((policies, actions, n))
        drawn[0] = mean
        score, distance = episodes(env, np.repeat(drawn, env.per_policy, axis=0), seed + generation)
        score = score.reshape(policies, -1).mean(axis=1)
        best = np.argsort(-score)[:elite]
        mean, spread = drawn[best].mean(axis=0), drawn[best].std(axis=0) + 0.2 * 0.8**generation
        show(f"generation {generation + 1}: return {score[best[0]]:.3f}, "
             f"distance {1e3 * distance.reshape(policies, -1)[best[0]].mean():.2f} mm")  # fmt: skip
    return mean


def judge(env: ReachVector, weights: np.ndarray, seed: int) -> tuple[float, float]:
    """Mean distance at the end [m] and share of goals that were reached, over unseen goals."""
    _, distance = episodes(env, np.repeat(weights[None], env.robots, axis=0), seed)
    return float(distance.mean()), float((distance < env.tolerance).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", help="another robot than the trunk")
    parser.add_argument("--rom", help="its reduced model; made when it is not given")
    parser.add_argument("--generations", type=int, default=15)
    parser.add_argument("--policies", type=int, default=48)
    parser.add_argument("--goals", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="try the policy at full order too")
    given = parser.parse_args()
    begin = time.perf_counter()
    robot = {"scene": given.scene, "seed": given.seed}
    env = SameGoals(given.policies, given.goals, rom=given.rom, **robot)
    weights = learn(env, given.generations, given.seed)
    unseen = ReachVector(64, rom=given.rom, **robot)
    before, after = judge(unseen, np.zeros_like(weights), 1000), judge(unseen, weights, 1000)
    print(f"unseen goals: {1e3 * before[0]:.1f} mm away at rest, {1e3 * after[0]:.1f} mm by the policy; "
          f"{100 * after[1]:.0f} % reached within {1e3 * unseen.tolerance:.1f} mm; "
          f"{time.perf_counter() - begin:.0f} s")  # fmt: skip
    if given.full:
        full = ReachVector(4, rom=False, goals=16, **robot)
        full.places, full.rest, full.reach, full.tolerance = unseen.places, unseen.rest, unseen.reach, unseen.tolerance
        print(f"at full order: {1e3 * judge(full, weights, 1000)[0]:.1f} mm")


if __name__ == "__main__":
    main()
