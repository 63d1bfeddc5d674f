# SPDX-License-Identifier: Apache-2.0
"""Environments, and the trainer of the examples."""
import sys
import tempfile
import unittest

import numpy as np
from common import OWN, ROOT, arm_file

import tendril
from tendril import envs

sys.path.insert(0, str(ROOT / "python" / "examples"))
import learn_reach  # noqa: E402


class Environments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.arm = {"scene": arm_file(cls.folder.name), "rom": OWN / "arm.h5", "goals": 32, "max_steps": 5}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_one(self):
        env = envs.make("reach", **self.arm)
        first, info = env.reset(seed=4)
        self.assertEqual((first.shape, info), (env.observation_space.shape, {}))
        steps = []
        for k in range(5):
            obs, reward, terminated, truncated, info = env.step(np.array([0.5, -0.2]))
            self.assertTrue(env.observation_space.contains(obs))
            self.assertIsInstance(reward, float)
            self.assertEqual((terminated, truncated), (False, k == 4))
            steps.append(obs)
        self.assertAlmostEqual(-reward * env.vector.reach, info["distance"])
        again, _ = env.reset(seed=4)
        np.testing.assert_array_equal(again, first)
        np.testing.assert_array_equal(env.step(np.array([0.5, -0.2]))[0], steps[0])
        self.assertFalse(np.array_equal(env.reset(seed=5)[0], first))
        for wrong in (np.zeros(3), np.array([np.nan, 0])):
            with self.assertRaises(tendril.UsageError):
                env.step(wrong)

    def test_autoreset(self):
        action = np.full((3, 2), 0.3)
        for mode in envs.AUTORESET:
            env = envs.make("reach", robots=3, autoreset=mode, seed=2, **self.arm)
            env.reset(seed=1)
            for _ in range(5):
                obs, _, terminated, truncated, infos = env.step(action)
            self.assertTrue(truncated.all() and not terminated.any())
            if mode == "same_step":
                self.assertTrue(infos["_final_obs"].all())
                self.assertFalse(np.array_equal(infos["final_obs"], obs))
                np.testing.assert_array_equal(env._count, 0)
            else:
                np.testing.assert_array_equal(env._count, 5)
            obs, rewards, _, truncated, _ = env.step(action)
            if mode == "next_step":
                np.testing.assert_array_equal(rewards, 0)
                np.testing.assert_array_equal(env._count, 0)
                self.assertFalse(truncated.any())
            elif mode == "disabled":
                self.assertTrue(truncated.all())
                env.reset(options={"reset_mask": [True, False, False]})
                np.testing.assert_array_equal(env._count, [0, 6, 6])

    def test_randomisation(self):
        env = envs.make("reach", robots=8, seed=3, randomize={"young": (0.5, 2), "mass": (0.9, 1.1), "delay": (0, 0.03),
                        "offset": (-0.02, 0.02), "gravity_z": (-9.9, -9.7)}, **self.arm)  # fmt: skip
        factors = np.array([env.batch.state(i).parameter("young") for i in range(8)])
        self.assertTrue((factors >= 0.5).all() and (factors <= 2).all() and factors.std() > 0.1)
        env.reset()
        self.assertFalse(np.array_equal(factors, [env.batch.state(i).parameter("young") for i in range(8)]))
        env.step(np.zeros((8, 2)))
        for wrong in ({"yuong": (1, 2)}, {"young": (2, 1)}, {"young": (0, 1)}):
            with self.assertRaises(tendril.UsageError):
                envs.make("reach", robots=1, randomize=wrong, **self.arm)

    def test_a_robot_that_fails_ends_its_episode(self):
        env = envs.make("reach", robots=2, autoreset="same_step", seed=1, **self.arm)
        env.reset()
        rates = np.array(env.batch.state(1).rates())
        rates[0] = 1e200
        env.batch.state(1).set_coords(rates=rates)
        obs, _, terminated, truncated, _ = env.step(np.zeros((2, 2)))
        self.assertEqual((list(terminated), truncated.any()), ([False, True], False))
        self.assertTrue(np.isfinite(obs).all())
        self.assertFalse(env.batch.failed.any())  # it has begun anew

    def test_stable_baselines(self):
        env = envs.StableBaselinesVec(envs.make("reach", robots=3, autoreset="same_step", **self.arm))
        self.assertEqual(env.reset().shape, (3, 14))
        for k in range(5):
            obs, rewards, dones, infos = env.step(np.zeros((3, 2)))
        self.assertTrue(dones.all())
        self.assertEqual(infos[2]["terminal_observation"].shape, (14,))
        self.assertTrue(infos[2]["TimeLimit.truncated"])
        self.assertEqual([len(env.get_attr("hold", which)) for which in (None, 1, [0, 2])], [3, 1, 2])
        self.assertEqual(env.env_is_wrapped(object, [1]), [False])

    def test_gymnasium_itself(self):
        try:
            import gymnasium
            from gymnasium.utils.env_checker import check_env
        except ImportError:
            self.skipTest("there is no gymnasium")
        for task, more in (("reach", self.arm), ("crawl", {"max_steps": 4}), ("pinch", {"max_steps": 4}), ("grasp", {"max_steps": 4})):
            with self.subTest(task):
                check_env(envs.make(task, **more), skip_render_check=True)
        for mode in envs.AUTORESET:
            many = envs.make("reach", robots=3, autoreset=mode, **self.arm)
            self.assertIsInstance(many, gymnasium.vector.VectorEnv)
            wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(many)
            wrapped.reset(seed=1)
            for _ in range(5):
                obs, _, _, truncated, infos = wrapped.step(wrapped.action_space.sample())
                self.assertTrue(many.observation_space.contains(obs))
            self.assertTrue(truncated.all())
            np.testing.assert_array_equal(infos["episode"]["l"], 5)

    def test_stable_baselines_itself(self):
        try:
            from stable_baselines3 import PPO
            from stable_baselines3.common.vec_env import VecMonitor, VecNormalize
        except ImportError:
            self.skipTest("there is no stable_baselines3")
        env = envs.StableBaselinesVec(envs.make("reach", robots=8, autoreset="same_step", seed=1, **self.arm))
        model = PPO("MlpPolicy", VecNormalize(VecMonitor(env)), n_steps=8, batch_size=32, seed=1, device="cpu")
        model.learn(128)
        self.assertEqual(len(model.ep_info_buffer), 24)  # 16 steps of 8 robots, episodes of 5

    def test_the_worm_crawls(self):
        env = envs.make("crawl", robots=2, max_steps=40, seed=1)
        env.reset(seed=1)
        start = env._out[:, env._middle][:, 0].copy()
        total = np.zeros(2)
        for k in range(30):
            wave = np.cos(2 * np.pi * (k / 10 - np.arange(3) / 3))
            obs, rewards, terminated, _, infos = env.step(np.stack([wave, -np.ones(3)]))
            total += rewards
        self.assertTrue(np.isfinite(obs).all() and not terminated.any())
        np.testing.assert_allclose(total, 100 * (infos["x"] - start), rtol=1e-9, atol=1e-9)
        self.assertGreater(abs(total[0]), 10 * abs(total[1]))  # one waves, one lies

    def test_the_hand_lifts_the_ball(self):
        env = envs.make("grasp", max_steps=60)
        env.reset(seed=1)
        up = np.array([-1, -1, -1, -1, 1.0])
        for k in range(28):
            close = 2 * np.clip((k - 6) / 8, 0, 1) - 1
            up[:4], up[4] = close, -1 + 2 * np.clip((k - 16) / 10, 0, 1)
            obs, reward, terminated, truncated, info = env.step(up)
        self.assertFalse(terminated)
        self.assertGreater(info["height"], 0.05)
        self.assertTrue(info["success"])

    def test_fingers_turn_the_wheel(self):
        env = envs.make("pinch", robots=3, max_steps=60, randomize={"young": (1, 1), "friction": (0.9, 1.1)})
        self.assertEqual([b.kind for b in env.model.bodies[:2]], ["reduced", "reduced"])
        env.reset(seed=1)
        for k in range(42):
            press, turn = 0.7 * min(1, k / 12), 0.6 * np.clip((k - 16) / 20, 0, 1)
            obs, rewards, terminated, _, infos = env.step(
                [[press, -turn, press, turn], [press, turn, press, -turn], [press, 0, press, 0]]
            )
        self.assertTrue(np.isfinite(obs).all() and not terminated.any())
        turned = np.degrees(infos["turned"])
        self.assertGreater(turned[0], 10)  # one turns it, one back, one only holds it
        self.assertLess(turned[1], -10)
        self.assertLess(abs(turned[2]), 1)
        with self.assertRaises(tendril.UsageError):
            env.step(np.zeros((3, 3)))

    def test_the_trainer_learns(self):
        env = learn_reach.SameGoals(16, 4, seed=1, **{**self.arm, "max_steps": 8})
        rest = np.zeros((2, 3))
        unseen = envs.ReachVector(16, seed=1, **{**self.arm, "max_steps": 8})
        weights = learn_reach.learn(env, generations=6, seed=1, show=lambda _: None)
        before, after = learn_reach.judge(unseen, rest, 99), learn_reach.judge(unseen, weights, 99)
        self.assertLess(after[0], 0.5 * before[0])


if __name__ == "__main__":
    unittest.main()
