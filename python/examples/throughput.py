# SPDX-License-Identifier: Apache-2.0
"""How many steps a batch takes against one robot alone: processor time of a step, by turns, the least of several rounds.

    python throughput.py SCENE [ROM] [--rows 20] [--rounds 5] [--robots 1,16,256,1024,4096]
"""
import argparse
import time

import numpy as np

import tendril


def drive(model, robots, rows, seed):
    """Random commands in the ranges of the actuators, constant over each call."""
    random, inputs = np.random.default_rng(seed), np.full((robots, rows, len(model.inputs)), np.nan)
    for a in model.actuators:
        low, high = a.range
        if np.isfinite(low + high):
            inputs[:, :, a.input] = low + (high - low) * random.uniform(0, 0.3, (robots, 1))
    return inputs


def cost(batch, inputs, repeat):
    """Processor time of a step [s]: that of all threads."""
    batch.reset()
    batch.rollout(inputs[:, :2])
    start = time.process_time()
    for _ in range(repeat):
        batch.rollout(inputs)
    return (time.process_time() - start) / (repeat * inputs.shape[0] * inputs.shape[1])


def reset_cost(batch, inputs):
    """Processor time of a reset by mask [s] for each robot, right after steps."""
    batch.rollout(inputs[:, :2])
    mask = np.ones(batch.robots, bool)
    start = time.process_time()
    batch.reset(mask)
    return (time.process_time() - start) / batch.robots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene")
    parser.add_argument("rom", nargs="?")
    parser.add_argument("--rows", type=int, default=20, help="rows of a call, a step each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--robots", default="1,16,256,1024,4096")
    arguments = parser.parse_args()
    model = tendril.Model(arguments.scene, rom=arguments.rom)
    alone = model.batch(1, threads=1)
    one = drive(model, 1, 500, 0)
    for robots in map(int, arguments.robots.split(",")):
        batch, inputs = model.batch(robots), drive(model, robots, arguments.rows, 1)
        repeat = max(1, 2000 // (robots * arguments.rows))
        pairs = [(cost(alone, one, 1), cost(batch, inputs, repeat)) for _ in range(arguments.rounds)]
        best_alone, best = min(p[0] for p in pairs), min(p[1] for p in pairs)
        reset = min(reset_cost(batch, inputs) for _ in range(arguments.rounds))
        print(f"{robots:5} robots: alone {1e6 * best_alone:7.2f} us a step, in the batch {1e6 * best:7.2f}, "
              f"{best_alone / best:5.1%}; reset {1e6 * reset:.2f} us a robot", flush=True)  # fmt: skip
        del batch


if __name__ == "__main__":
    main()
