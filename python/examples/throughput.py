# SPDX-License-Identifier: Apache-2.0
"""How many steps a batch takes against one robot alone: processor time of a step, by turns, the median of several rounds.

    python throughput.py SCENE [ROM] [--rows 20] [--rounds 5] [--robots 1,16,256,1024,4096]
"""
import argparse
import time

import numpy as np

import tendril


def drive(model, robots, rows):
    """A fifth of the range of each actuator, for all robots alike: all of them have the same to do."""
    inputs = np.full((robots, rows, len(model.inputs)), np.nan)
    for a in model.actuators:
        low, high = a.range
        if np.isfinite(low + high):
            inputs[:, :, a.input] = low + 0.2 * (high - low)
    return inputs


def cost(batch, inputs, repeat):
    """Processor time of a step [s], that of all threads, when the robots have come to rest."""
    batch.reset()
    batch.rollout(inputs[:, :1], hold=100)
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
    one = drive(model, 1, 500)
    for robots in map(int, arguments.robots.split(",")):
        batch, inputs = model.batch(robots), drive(model, robots, arguments.rows)
        repeat = max(1, 20000 // (robots * arguments.rows))
        steps = robots * arguments.rows * repeat
        # By turns and for as long: what else the machine does hits both alike.
        pairs = [(cost(alone, one, max(1, steps // 500)), cost(batch, inputs, repeat)) for _ in range(arguments.rounds)]
        best_alone, best = (float(np.median([p[k] for p in pairs])) for k in (0, 1))
        share = float(np.median([p[0] / p[1] for p in pairs]))
        reset = min(reset_cost(batch, inputs) for _ in range(arguments.rounds))
        print(f"{robots:5} robots: alone {1e6 * best_alone:7.2f} us a step, in the batch {1e6 * best:7.2f}, "
              f"{share:5.1%}; reset {1e6 * reset:.2f} us a robot", flush=True)  # fmt: skip
        del batch


if __name__ == "__main__":
    main()
