# SPDX-License-Identifier: Apache-2.0
"""Scenes in code, and studies of them."""
import math
import signal
import tempfile
import unittest
from pathlib import Path

import hdf5
import numpy as np
from common import ARM_TEXT, OWN, tendril

BEAM = {
    "tendril": 1,
    "time_step": "10 ms",
    "steps": 5,
    "bodies": [{"name": "arm", "mesh": {"box": [[0, -0.01, -0.01], [0.1, 0.01, 0.01]], "cells": [8, 2, 2]},
                "material": {"law": "corotational", "young": "100 kPa", "poisson": 0.4, "density": 1000},
                "fixed": [{"group": "xmin"}]}],
    "effectors": [{"name": "tip", "body": "arm", "point": [0.1, 0, 0]}],
}  # fmt: skip


def cable(name, y, z):
    return {"name": name, "type": "cable", "body": "arm", "drive": "force", "range": [0, "0.2 N"],
            "path": [[0.1, y, z], [0.05, y, z], [0, y, z]]}  # fmt: skip


class Scenes(unittest.TestCase):
    def test_put_together(self):
        scene = tendril.Scene(time_step="10 ms", steps=5)
        self.assertEqual(scene.add("bodies", BEAM["bodies"][0]), "bodies[0]")
        self.assertEqual(scene.add("actuators", **cable("up", 0, 0.01)), "actuators[0]")
        self.assertEqual(scene.add("actuators", cable("down", 0, -0.01)), "actuators[1]")
        scene["gravity"] = np.array([0, 0, -9.81])
        scene["actuators[0].range[1]"] = "0.3 N"
        model = scene.model()
        self.assertEqual(model.actuator("up").range, (0, 0.3))
        self.assertEqual(scene.count("actuators"), 2)
        self.assertIn("bodies[0].material.law", scene)
        self.assertNotIn("motion", scene)
        del scene["actuators[1]"]
        self.assertEqual(len(scene.model().actuators), 1)
        # As a file it is the same.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scene.yaml"
            scene.save(path)
            states = [m.state() for m in (scene.model(), tendril.Model(path), tendril.Model(tendril.Scene(path)))]
            for state in states:
                state.step(3)
            self.assertEqual(len({s.hash() for s in states}), 1)

    def test_mistakes(self):
        scene = tendril.Scene(BEAM)
        scene["bodies[0].material.yuong"] = 1
        with self.assertRaises(tendril.InputError) as caught:
            scene.model()
        self.assertEqual(caught.exception.field, "bodies[0].material.yuong")
        self.assertIn("did you mean 'young'", caught.exception.message)
        for path, value in (("bodies[3].name", "x"), ("bodies.name", 1), ("a..b", 1), ("", 3), ("gravity", [math.nan]),
                            ("gravity", np.array([math.inf])), ("x", object()), ("x", "a\0b".encode())):  # fmt: skip
            with self.assertRaises(tendril.UsageError, msg=path):
                scene[path] = value
        with self.assertRaises(tendril.UsageError):
            del scene["loads"]


class Studies(unittest.TestCase):
    def test_sweep(self):
        scene = tendril.Scene(BEAM)
        for name, y, z in (("north", 0.01, 0), ("up", 0, 0.01)):
            scene.add("actuators", cable(name, y, z))
        scene.add("probes", name="tip", body="arm", point=[0.1, 0, 0])
        inputs = 0.1 * np.abs(np.sin(0.3 * np.arange(6)[None, :, None] + np.arange(3)[:, None, None] + np.arange(2)))
        batch = scene.model().batch(3, outputs=["probe:tip"])
        expected = batch.rollout(inputs)
        with tempfile.TemporaryDirectory() as folder:
            given, out, told = Path(folder) / "inputs.h5", Path(folder) / "out.h5", []
            hdf5.write(given, inputs=inputs)

            def stop(*_at):
                raise KeyError("enough")

            with self.assertRaises(KeyError):
                tendril.sweep(scene, given, out, outputs=["probe:tip"], progress=stop)
            self.assertFalse(out.exists())
            done = tendril.sweep(scene, given, out, outputs=["probe:tip"], progress=lambda *p: told.append(p))
            self.assertEqual((done.robots, done.rows, done.failed), (3, 6, 0))
            self.assertTrue(told)
            np.testing.assert_array_equal(hdf5.read(out, "outputs/probe:tip", expected.shape), expected)
            with self.assertRaises(tendril.Error) as caught:
                tendril.sweep(scene, Path(folder) / "none.h5", out)
            self.assertIn("none.h5", str(caught.exception))
            with self.assertRaises(tendril.Error) as caught:
                tendril.sweep(scene, given, Path(folder) / "other.h5", outputs=["probe:tpi"])
            self.assertIn("tpi", str(caught.exception))

    def test_workspace(self):
        scene = tendril.Scene(BEAM)
        for name, y, z in (("north", 0.01, 0), ("up", 0, 0.01)):
            scene.add("actuators", cable(name, y, z))
        told = []
        found = tendril.workspace(scene, samples=5, progress=lambda *p: told.append(p))
        self.assertEqual((found.reached, found.failed, found.actuators), (5, 0, ("north", "up")))
        self.assertEqual(told[-1], ("exploring", 5, 5))
        self.assertEqual(found.points("tip").shape, (5, 3))
        self.assertTrue(((found.actuation >= 0) & (found.actuation <= 0.2)).all())
        # A cable pulls the tip to its side.
        pulled = found.actuation[:, 1] - found.actuation[:, 0]
        side = found.points()[:, 2] - found.points()[:, 1]
        self.assertGreater(np.corrcoef(pulled, side)[0, 1], 0.9)
        np.testing.assert_allclose(found.rest, [0.1, 0, 0], atol=1e-12)
        points = found.values
        del found
        self.assertTrue(np.isfinite(points).all())  # a view keeps it
        with tempfile.TemporaryDirectory() as folder:
            tendril.workspace(scene, grid=2).write(folder)
            self.assertTrue((Path(folder) / "points.csv").exists())
        with self.assertRaises(tendril.UsageError):
            tendril.workspace(scene, effector="tpi")

        def stop(_phase, done, _total):
            if done == 2:
                raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            tendril.workspace(scene, progress=stop)
        before, came = signal.getsignal(signal.SIGINT), []
        with self.assertRaises(KeyboardInterrupt):
            tendril.workspace(scene, progress=lambda *_: came.append(signal.raise_signal(signal.SIGINT)))
        self.assertEqual(len(came), 1)
        self.assertIs(signal.getsignal(signal.SIGINT), before)

    def test_estimate(self):
        scene = tendril.Scene(BEAM)
        scene.add("actuators", name="fz", type="force", body="arm", group="xmax", direction=[0, 0, 1], drive="force")
        static = tendril.Scene(BEAM)
        static.add("actuators", name="fz", type="force", body="arm", group="xmax", direction=[0, 0, 1], drive="force")
        static["integrator"] = {"method": "static"}
        state = static.model().state()
        state.set_input("fz", -0.02)
        state.step()
        rest, now = state.model.rest("arm"), state.positions("arm")
        ends = rest[:, 0] > 0.099
        loads = tendril.estimate(scene, rest=rest[ends], positions=now[ends])
        self.assertAlmostEqual(loads["fz"].effort, -0.02, 7)
        np.testing.assert_allclose(loads.fitted, now[ends], atol=1e-7)
        for bad in (dict(), dict(rest=rest[ends]), dict(rest=rest[ends, :2], positions=now[ends]),
                    dict(rest=rest[ends], positions=now[:2]), dict(rest=rest[ends], positions=now[ends], noise=-1)):  # fmt: skip
            with self.assertRaises(tendril.UsageError):
                tendril.estimate(scene, **bad)
        with self.assertRaises(tendril.InputError):
            tendril.estimate(scene, rest=rest[ends], positions=now[ends] * np.nan)

    def test_fit(self):
        x = np.linspace(1.1, 3, 8)
        fits = tendril.fit(stretch=x, stress=1e5 * (x - 1 / x**2), mode="uniaxial", law="neo_hookean")
        self.assertAlmostEqual(fits.best.young, 3e5, 0)
        self.assertIn("law: neo_hookean", fits.best.material)
        np.testing.assert_allclose(fits.stress("uniaxial", x), 1e5 * (x - 1 / x**2), rtol=1e-6)
        every = tendril.fit(stretch=x, stress=1e5 * (x - 1 / x**2), mode="uniaxial")
        self.assertGreater(len(every.laws), 3)
        for bad in (dict(), dict(stretch=x, stress=x[:2]), dict(stretch=x, stress=x), dict(stretch=x, stress=x, mode="x"),
                    dict(stretch=x, stress=x, mode=["shear"]), dict(stretch=x, stress=x, mode="shear", law="rubber")):  # fmt: skip
            with self.assertRaises(tendril.Error):
                tendril.fit(**bad)

    def test_compare(self):
        told = []
        found = tendril.compare(tendril.Scene(OWN / "arm.yaml"), OWN / "arm.h5", whole=False, steps=3,
                                progress=lambda *p: told.append(p))  # fmt: skip
        self.assertEqual([m.kind for m in found.models], ["full", "hyper_reduced"])
        self.assertEqual(found.steps, 3)
        self.assertIn(("comparing", 3, 3), told)
        self.assertEqual(found.models[1].errors.shape, (3, 1))
        self.assertLess(found.models[1].worst["shape"], 0.5)
        with self.assertRaises(tendril.UsageError):
            tendril.compare(OWN / "arm.yaml")
        with self.assertRaises(tendril.InputError):  # a reduced model of another robot
            tendril.compare(OWN / "worm.yaml", OWN / "arm.h5", steps=1)

    def test_reduced_from_code(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "arm.yaml"
            path.write_text(ARM_TEXT)
            scene = tendril.Scene(path, folder=OWN)
            scene["reduction.steps_between"] = 1
            scene["reduction.max_modes"] = 3
            got = tendril.reduce(scene, Path(folder) / "arm.h5", accept=True)
            self.assertLessEqual(got.modes, 3)
            self.assertEqual(scene.model(rom=got.rom).bodies[0].kind, "reduced")


if __name__ == "__main__":
    unittest.main()
