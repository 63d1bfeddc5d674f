# SPDX-License-Identifier: Apache-2.0
"""Ten million steps, a million resets, a million copies without growth of memory; 4,096 robots to the same bits as one."""
import gc
import logging
import os
import unittest

import numpy as np
from common import arm

STEPS = int(os.environ.get("TENDRIL_STEPS", 10**7))
TIMES = int(os.environ.get("TENDRIL_TIMES", 10**6))


def resident() -> int:
    """Memory of this process [bytes]."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Endurance(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.CRITICAL)

    def test_memory(self):
        state = arm().state()
        other = state.model.state()
        works = {
            "steps": (lambda: state.step(1000), STEPS // 1000),
            "resets": (state.reset, TIMES),
            "copies": (lambda: other.assign(state), TIMES),
            "new copies": (state.copy, TIMES // 100),
            "views": (lambda: state.coords().sum(), TIMES),
        }
        for what, (work, times) in works.items():
            for _ in range(min(1000, times // 10)):
                work()
            before = resident()
            for _ in range(times):
                work()
            grown = resident() - before
            print(f"{what}: {times} calls, memory grew by {grown} bytes", flush=True)
            self.assertLess(grown, 1 << 20, what)

    def test_bits(self):
        model = arm()
        inputs = np.random.default_rng(2).uniform(0, 0.006, (1, 30, 2)).repeat(4096, 0)
        state, one, many = model.state(), model.batch(1), model.batch(4096)
        for row in inputs[0]:
            state.set_inputs(row)
            state.step()
        one.rollout(inputs[:1])
        many.rollout(inputs)
        hashes = {state.hash(), one.state(0).hash(), *(many.state(i).hash() for i in range(4096))}
        self.assertEqual(len(hashes), 1)


if __name__ == "__main__":
    unittest.main()
