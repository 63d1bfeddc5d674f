# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Learning to reach
#
# An arm with two cables learns where to pull so that its tip comes to a goal: the cross-entropy method in NumPy, on
# many robots at once. `python/examples/learn_reach.py` does the same with the trunk and its nine actuators.

# %%
import numpy as np

import tendril
from tendril.envs import ReachVector

scene = tendril.Scene(time_step="10 ms", gravity=[0, 0, -9.81], steps=100)
scene.add(
    "bodies", name="arm", mesh={"box": [[0, 0, 0], [0.1, 0.02, 0.02]], "cells": [10, 2, 2]}, damping={"mass": 10},
    material={"law": "corotational", "young": "100 kPa", "poisson": 0.4, "density": 1000}, fixed=[{"group": "xmin"}],
)  # fmt: skip
for name, y, z in (("top", 0.01, 0.02), ("side", 0.02, 0.01)):
    scene.add("actuators", name=name, type="cable", body="arm", drive="displacement", range=[0, "8 mm"],
              path=[[0.09, y, z], [0.05, y, z], [0, y, z]])  # fmt: skip
scene["probes"] = [{"name": "tip", "body": "arm", "point": [0.1, 0.01, 0.01]}]
scene["reduction"] = {"samples": "grid", "levels": 3, "steps_between": 3, "pod_tolerance": 1e-3, "ecsw_tolerance": 1e-2}
scene["validation"] = {"random": {"steps": 6, "moves": 2, "seed": 1}}
scene.save("arm.yaml")
tendril.reduce("arm.yaml", "arm.h5", accept=True)

# %% [markdown]
# The environment: goals are places that the tip can reach. Stiffness, friction and delay of each robot may differ; the
# policy has to cope.

# %%
goals, policies = 8, 24
env = ReachVector(goals * policies, scene="arm.yaml", rom="arm.h5", max_steps=10, seed=1,
                  randomize={"young": (0.9, 1.1), "delay": (0, 0.02)})  # fmt: skip
print("observations", env.single_observation_space.shape, "actions", env.single_action_space.shape)


def episodes(weights, seed):
    """Robots with policies a = clip(W (tip - goal)): return and last distance of each."""
    observations, _ = env.reset(seed=seed)
    total = np.zeros(env.robots)
    for _ in range(env.max_steps):
        actions = np.clip(np.einsum("raf,rf->ra", weights, observations[:, :3]), -1, 1)
        observations, rewards, _, _, infos = env.step(actions)
        total += rewards
    return total, infos["distance"]


# %% [markdown]
# Each generation draws policies around the best ones so far, tries each on a few goals, and keeps the best.

# %%
random = np.random.default_rng(1)
mean, spread = np.zeros((2, 3)), np.full((2, 3), 2.0)
history = []
for generation in range(8):
    drawn = mean + spread * random.standard_normal((policies, 2, 3))
    total, distance = episodes(np.repeat(drawn, goals, axis=0), generation)
    score = total.reshape(policies, goals).mean(axis=1)
    best = np.argsort(-score)[:5]
    mean, spread = drawn[best].mean(axis=0), drawn[best].std(axis=0) + 0.1
    history.append(1e3 * distance.reshape(policies, goals)[best].mean())
    print(f"generation {generation + 1}: the best end {history[-1]:.1f} mm from their goals")

# %%
_, before = episodes(np.zeros((env.robots, 2, 3)), 99)
_, after = episodes(np.repeat(mean[None], env.robots, axis=0), 99)
print(f"unseen goals: {1e3 * before.mean():.1f} mm away at rest, {1e3 * after.mean():.1f} mm by the policy")
assert after.mean() < 0.5 * before.mean()
