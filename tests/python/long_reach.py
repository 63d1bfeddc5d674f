# SPDX-License-Identifier: Apache-2.0
"""The trunk is reduced, learns to reach by the shipped trainer, and its policy is tried at full order. Minutes."""
import sys
import unittest

import numpy as np
from common import ROOT

from tendril.envs import ReachVector

sys.path.insert(0, str(ROOT / "python" / "examples"))
import learn_reach  # noqa: E402


class Trunk(unittest.TestCase):
    def test_reach(self):
        env = learn_reach.SameGoals(40, 6, seed=1)
        weights = learn_reach.learn(env, generations=10, seed=1)
        unseen = ReachVector(64, seed=1)
        before, after = learn_reach.judge(unseen, np.zeros_like(weights), 1000), learn_reach.judge(unseen, weights, 1000)
        print(f"{1e3 * before[0]:.1f} mm at rest, {1e3 * after[0]:.1f} mm by the policy, {100 * after[1]:.0f} % reached")
        self.assertLess(after[0], 0.15 * before[0])
        self.assertGreater(after[1], 0.75)
        full = ReachVector(4, rom=False, goals=4, seed=1)
        full.places, full.rest, full.reach, full.tolerance = unseen.places, unseen.rest, unseen.reach, unseen.tolerance
        distance, _ = learn_reach.judge(full, weights, 1000)
        print(f"{1e3 * distance:.1f} mm at full order")
        self.assertLess(distance, 0.15 * before[0])


if __name__ == "__main__":
    unittest.main()
