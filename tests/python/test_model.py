# SPDX-License-Identifier: Apache-2.0
"""Models and states from Python."""
import copy
import ctypes
import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref
from pathlib import Path

import numpy as np
from common import CUBES, OWN, ROOT, arm

import tendril


class Models(unittest.TestCase):
    def test_lists(self):
        model = arm()
        self.assertEqual(model.inputs, ("top", "side"))
        self.assertEqual(model.actuator("side").range, (0.0, 0.01))
        self.assertEqual(model.bodies[0].kind, "reduced")
        self.assertEqual(model.probes, ("tip",))
        rest, triangles = model.rest("arm"), model.triangles("arm")
        self.assertEqual(rest.shape, (99, 3))
        self.assertEqual((triangles.min(), triangles.max() < 99), (0, True))
        # a closed surface: area vectors sum up to nothing
        a, b, c = (rest[triangles[:, k]] for k in range(3))
        self.assertLess(np.abs(np.cross(b - a, c - a).sum(axis=0)).max(), 1e-12)
        with self.assertRaises(ValueError):
            rest[0, 0] = 1

    def test_dictionaries_are_scenes(self):
        model = tendril.Model(CUBES)
        self.assertEqual([b.kind for b in model.bodies], ["articulated", "articulated", "soft"])
        with_arrays = copy.deepcopy(CUBES)
        with_arrays["gravity"] = np.array([0.0, 0.0, -9.81])
        with_arrays["steps"] = np.int64(7)
        self.assertEqual(tendril.Model(with_arrays).steps, 7)

    def test_errors_say_where(self):
        wrong = copy.deepcopy(CUBES)
        wrong["bodies"][2]["material"]["yuong"] = 1
        with self.assertRaises(tendril.InputError) as caught:
            tendril.Model(wrong)
        error = caught.exception
        self.assertEqual(error.field, "bodies[2].material.yuong")
        self.assertEqual(error.file, "dictionary")
        self.assertIn("young", error.message)
        self.assertIsInstance(error, ValueError)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((again.field, str(again)), (error.field, str(error)))
        with self.assertRaises(tendril.Error) as caught:
            tendril.Model("no such file.yaml")
        self.assertIn("no such file.yaml", str(caught.exception))
        units = copy.deepcopy(CUBES)
        units["bodies"][2]["material"]["young"] = "100 kg"
        with self.assertRaises(tendril.InputError) as caught:
            tendril.Model(units)
        self.assertIn("young", caught.exception.field)
        for bad in ({"tendril": 1, "gravity": float("nan")}, {"tendril": object()}):
            with self.assertRaises(tendril.UsageError):
                tendril.Model(bad)
        with self.assertRaises(tendril.InputError):  # a reduced model of another robot
            tendril.Model(OWN / "worm.yaml", rom=OWN / "arm.h5")

    def test_names_are_checked(self):
        state = arm().state()
        for call in (
            lambda: state.set_input("nothing", 1), lambda: state.set_input(99, 1), lambda: state.probe("x"),
            lambda: state.coords(7), lambda: state.coords(-1), lambda: state.actuation("x"), lambda: state.effector(0),
            lambda: state.set_parameter("x", 1), lambda: state.set_parameter("friction", 1, of="arm"),
            lambda: state.set_input("top", float("inf")), lambda: state.set_coords("arm", coords=[1, 2]),
            lambda: state.set_coords("arm", coords="words"), lambda: state.set_inputs([1, 2, 3]),
        ):  # fmt: skip
            with self.assertRaises(tendril.UsageError):
                call()


    def test_numbers_that_make_no_sense(self):
        model = arm()
        state, batch = model.state(), model.batch(2, outputs=["probe:tip"])
        nan, inf = float("nan"), float("inf")
        for call, told in (
            (lambda: state.set_input("top", nan), "top"), (lambda: state.set_input("top", "5 mm"), "5 mm"),
            (lambda: state.set_input("top", 1j), "1j"), (lambda: state.set_input("top", [1e-3, 2e-3]), "0.002"),
            (lambda: state.set_inputs([nan, 0]), "top"), (lambda: state.set_inputs({"side": "x"}), "side"),
            (lambda: state.step(-1), "-1 steps"), (lambda: model.batch(2.5), "2.5"),
            (lambda: batch.rollout(rows=1.5), "1.5"), (lambda: batch.rollout(hold=0.5), "0.5"),
            (lambda: batch.rollout(np.zeros((2, 1, 2), complex)), "complex"),
            (lambda: state.set_coords("arm", rates=np.ones(model.bodies[0].coords) * 1j), "complex"),
            (lambda: tendril.Model(CUBES | {"gravity": [0, inf, 0]}), "gravity[1]"),
            (lambda: tendril.Model(CUBES | {"gravity": np.array([0, 0, nan])}), "gravity"),
            (lambda: tendril.Scene(CUBES).add("probes", name="x", body="jelly", point=[0, nan, 0]), "probes[1].point[1]"),
        ):  # fmt: skip
            with self.assertRaises((tendril.UsageError, tendril.InputError)) as caught:
                call()
            self.assertIn(told, str(caught.exception))
        state.step()
        before = arm().state()
        before.step()
        self.assertEqual(state.hash(), before.hash())  # nothing of it has come through

    def test_what_is_pickled_and_copied(self):
        scene = tendril.Scene(CUBES, name="cubes")
        for again in (pickle.loads(pickle.dumps(scene)), copy.copy(scene), copy.deepcopy(scene)):
            self.assertEqual((again.text, again.name, again.folder), (scene.text, scene.name, scene.folder))
            again["gravity"] = [0, 0, -1]
            self.assertNotEqual(again.text, scene.text)
            del again
            gc.collect()  # what it had was its own
        model = scene.model()
        self.assertIs(copy.deepcopy(model), model)
        state = model.state()
        state.step(3)
        self.assertEqual(copy.deepcopy({"a": state})["a"].hash(), state.hash())
        refused = [model, state, model.batch(2), model.outputs(["time"])]
        for one in refused:
            with self.assertRaisesRegex(TypeError, "neither pickled nor copied"):
                pickle.dumps(one)
        for one in refused[2:]:
            with self.assertRaisesRegex(TypeError, "neither pickled nor copied"):
                copy.copy(one)


class States(unittest.TestCase):
    def test_views_are_no_copies(self):
        state = arm().state()
        q = state.coords("arm")
        before = q.copy()
        address = q.__array_interface__["data"][0]
        state.step(5)
        self.assertFalse(np.array_equal(q, before))  # it shows what is now
        self.assertEqual(state.coords("arm").__array_interface__["data"][0], address)
        self.assertFalse(q.flags.writeable)
        self.assertTrue(np.shares_memory(q, state.coords()))
        soft = tendril.Model(CUBES).state()
        self.assertTrue(np.shares_memory(soft.coords("jelly"), soft.positions("jelly")))

    def test_a_view_keeps_its_state(self):
        state = arm().state()
        state.step(3)
        q, expected = state.coords(), state.coords().copy()
        gone = weakref.ref(state)
        del state
        gc.collect()
        self.assertIsNotNone(gone())
        np.testing.assert_array_equal(q, expected)
        del q
        gc.collect()
        self.assertIsNone(gone())

    def test_it_runs_as_the_program_does(self):
        program = os.environ.get("TENDRIL_PROGRAM")
        if not program:
            self.skipTest("TENDRIL_PROGRAM does not name the program")
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = Path(folder) / "end.h5"
            subprocess.run([program, "run", OWN / "arm.yaml", "--rom", OWN / "arm.h5", "--steps", "30", "--quiet",
                            "--checkpoint", checkpoint], check=True, capture_output=True)  # fmt: skip
            model = tendril.Model(OWN / "arm.yaml", rom=OWN / "arm.h5")
            state = model.state()
            state.step(30)
            self.assertEqual(model.state().load(checkpoint).hash(), state.hash())

    def test_copies_and_bytes(self):
        state = arm().state()
        state.set_parameter("young", 1.2)
        state.step(5)
        other, bits = state.copy(), state.to_bytes()
        third = state.model.state().from_bytes(bits)
        for s in (state, other, third):
            s.step(5)
        self.assertEqual(len({s.hash() for s in (state, other, third)}), 1)
        state.reset()
        self.assertEqual((state.time, state.parameter("young")), (0.0, 1.2))
        with self.assertRaises(tendril.InputError):
            state.from_bytes(bits[:100])
        with self.assertRaises(tendril.UsageError):
            state.assign(arm().state())
        with tempfile.TemporaryDirectory() as folder:
            other.save(Path(folder) / "a.h5")
            self.assertEqual(state.load(Path(folder) / "a.h5").hash(), other.hash())

    def test_physics_arrives(self):
        state = tendril.Model(CUBES).state()
        state.step(100)
        self.assertAlmostEqual(state.contact_force("floor", "cube")[2], 9.81, delta=0.05)
        points = state.contacts()
        self.assertGreaterEqual(len(points), 4)
        self.assertAlmostEqual(points["force"].sum(axis=0)[2], 2 * 9.81, delta=0.1)
        self.assertGreater(state.report.contacts_active, 3)
        self.assertLess(state.probe("top")[2], 0.1)
        state.gravity = [0, 0, -20]
        state.set_parameter("friction", 2)
        self.assertEqual(list(state.gravity), [0, 0, -20])
        for name in ("young", "damping"):
            state.set_parameter(name, 1.5, of="jelly")
        with self.assertRaises(tendril.InputError) as caught:
            state.set_parameter("mass", 2, of="cube")
        self.assertIn("compiled", str(caught.exception))

    def test_outputs(self):
        model = arm()
        state = model.state()
        state.step(4)
        outputs = model.outputs(["time", "probe:tip", "coords:arm"])
        row = outputs.read(state)
        np.testing.assert_array_equal(row[outputs.slices["probe:tip"]], state.probe("tip"))
        np.testing.assert_array_equal(row[outputs.slices["coords:arm"]], state.coords())
        self.assertEqual(outputs.units["probe:tip"], "m")
        with self.assertRaises(tendril.InputError) as caught:
            model.outputs(["probe:top"])
        self.assertIn("tip", str(caught.exception))

    def test_inverse_control(self):
        text = ROOT.joinpath("tests/golden/scenes/arm.yaml").read_text().replace("motion:", "effectors: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\nmotion_of_before:")
        text = "\n".join(line for line in text.splitlines() if not line.startswith("motion_of_before"))
        model = tendril.Model.from_text(text, folder=OWN, rom=OWN / "arm.h5")
        control, state = tendril.Control(model), model.state()
        for _ in range(40):
            state.step()
        goal = state.effector("tip") + [0, 0, 0.004]
        control.set_goal("tip", goal)
        for _ in range(80):
            control.step(state)
        self.assertLess(abs(state.effector("tip")[2] - goal[2]), 1e-3)
        self.assertGreater(state.actuation("top").displacement, 0)
        control.set_goal("tip", None)
        with self.assertRaises(tendril.UsageError):
            control.set_goal("tip", [np.nan, 0, 0])

    def test_follow(self):
        lines = ROOT.joinpath("tests/golden/scenes/arm.yaml").read_text().splitlines()
        text = "\n".join(line for line in lines if not line.startswith("motion"))
        model = tendril.Model.from_text(f"{text}\neffectors: [{{name: tip, body: arm, point: [0.1, 0.01, 0.01]}}]\n",
                                        folder=OWN, rom=OWN / "arm.h5")  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            goals, files, state = Path(folder) / "goals.csv", Path(folder) / "out", model.state()
            start = state.effector("tip").copy()
            end = 20 * model.time_step
            goals.write_text("t,tip.x,tip.y,tip.z\n" + "".join(
                f"{t!r},{start[0]!r},{start[1]!r},{start[2] + dz!r}\n" for t, dz in ((0.0, 0.0), (end, 0.002))))  # fmt: skip
            control, told = tendril.Control(model), []
            control.load_goals(goals)
            tracking = control.follow(state, folder=files, progress=lambda *p: told.append(p))
            self.assertEqual((tracking.steps, state.steps, told[-1]), (20, 20, ("following", 20, 20)))
            table = np.genfromtxt(files / "tracking.csv", delimiter=",", names=True, deletechars="")
            off = table[next(n for n in table.dtype.names if n.startswith("tip.error"))]
            error = tracking.errors["tip"]
            self.assertAlmostEqual(error.mean, off.mean(), delta=1e-12)
            self.assertAlmostEqual(error.max, off.max(), delta=1e-12)
            self.assertGreater(error.max, 0)
            self.assertTrue(0 < tracking.seconds[0] <= tracking.seconds[3])
            for name in ("actuation.csv", "tracking.png", "actuation.png"):
                self.assertTrue((files / name).exists(), name)
            tracking.report(Path(folder) / "page.html", "A tip goes up.")
            page = (Path(folder) / "page.html").read_text()
            self.assertIn("A tip goes up.", page)
            self.assertNotIn("ended early", page)
            # An exception on the way leaves what there was.
            with self.assertRaises(KeyError) as caught:
                control.follow(model.state(), 5, progress=lambda *_: {}["none"])
            self.assertEqual(caught.exception.tracking.steps, 1)
            caught.exception.tracking.report(Path(folder) / "early.html")
            self.assertIn("ended early", (Path(folder) / "early.html").read_text())
            with self.assertRaises(tendril.UsageError):
                tracking.add(tendril.Model(CUBES).state())

    def test_failures_are_exceptions(self):
        state = tendril.Model(CUBES).state()
        rates = np.zeros(state.rates("jelly").shape)
        rates[0] = 1e200
        state.set_coords("jelly", rates=rates)
        before = state.coords("jelly").copy()
        with self.assertRaises(tendril.NumericError) as caught:
            state.step()
        self.assertIn("t = 0.005 s", caught.exception.message)
        self.assertEqual(state.time, 0)
        np.testing.assert_array_equal(state.coords("jelly"), before)

    def test_threads_wait_for_each_other(self):
        model = arm()
        shared, alone = model.state(), [model.state() for _ in range(3)]
        workers = [threading.Thread(target=shared.step, args=(100,)) for _ in range(3)]
        workers += [threading.Thread(target=s.step, args=(100,)) for s in alone]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        self.assertEqual(shared.steps, 300)
        self.assertEqual(len({s.hash() for s in alone}), 1)

    def test_forks(self):
        state = arm().state(threads=2)
        state.step()
        child = os.fork()
        if child == 0:
            try:
                state.step(2)
                os._exit(0 if state.steps == 3 else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        state.step()

    def test_memory_does_not_grow(self):
        model = arm()
        state, other = model.state(), model.state()

        def rounds(n):
            for _ in range(n):
                state.step()
                other.assign(state)
                state.reset()
                state.coords()
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        before = rounds(2000)
        self.assertLess(rounds(20000) - before, 2000)  # [KiB]: two thirds of a byte a round would show

    def test_reductions_stop_and_go_on(self):
        with tempfile.TemporaryDirectory() as folder:
            rom, heard = Path(folder) / "worm.h5", []

            def stop(phase, done, total):
                heard.append(phase)
                if len(heard) > 3:
                    raise RuntimeError("enough")

            with self.assertRaises(RuntimeError):
                tendril.reduce(OWN / "worm.yaml", rom, progress=stop)
            self.assertFalse(rom.exists())
            result = tendril.reduce(OWN / "worm.yaml", rom)
            self.assertGreater(result.modes, 5)
            self.assertLess(result.held_out_error, 0.2)
            tendril.Model(OWN / "worm.yaml", rom=rom).state().step()
            with self.assertRaises(tendril.UsageError):
                tendril.reduce(OWN / "worm.yaml", rom, pod_tolerance=2)

    def test_interrupts_are_heard(self):
        code = (
            "import os, signal, sys\n"
            f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            "from common import arm\n"
            "batch = arm().batch(4)\n"
            "batch.rollout(rows=3)\n"
            "batch.taken[:] = 0\n"  # the signal may come before the call
            "try:\n"
            "    print('ready', flush=True)\n"
            "    batch.rollout(rows=10**8)\n"
            "except KeyboardInterrupt:\n"
            "    print('stopped at', batch.taken.min() < 10**8, batch.failed.any(), batch.state(0).steps == 3 + batch.taken[0])\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline().strip(), "ready")
        process.send_signal(signal.SIGINT)
        said = process.communicate()[0]
        self.assertEqual(said.strip(), "stopped at True False True")

    def test_interrupts_are_heard_within_a_step(self):
        # The other thread gets the interpreter when the main thread is inside the library, and not before.
        code = (
            "import os, signal, sys, threading\n"
            "import tendril\n"
            "from tendril import _library\n"
            "model = tendril.Model({'tendril': 1, 'integrator': {'method': 'static'}, 'gravity': [0, 0, -9.81], 'steps': 1,\n"
            "    'bodies': [{'name': 'block', 'mesh': {'box': [[0, 0, 0], [1, 0.2, 0.2]], 'cells': [30, 6, 6]},\n"
            "    'material': {'law': 'neo_hookean', 'young': '50 kPa', 'poisson': 0.4, 'density': 1000},\n"
            "    'fixed': [{'group': 'xmin'}]}]})\n"
            "state, go = model.state(), threading.Event()\n"
            "_library._rarely.period = 0\n"
            "sys.setswitchinterval(1000)\n"
            "def interrupt():\n"
            "    go.wait()\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=interrupt).start()\n"
            "try:\n"
            "    go.set()\n"
            "    state.step()\n"
            "except KeyboardInterrupt:\n"
            "    print('stopped', state.steps, flush=True)\n"
            "state.step()\n"
            "print('went on', state.steps)\n"
        )
        said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(said.split("\n")[:2], ["stopped 0", "went on 1"])


class Help(unittest.TestCase):
    def test_everything_has_a_docstring(self):
        for name in tendril.__all__:
            thing = getattr(tendril, name)
            if isinstance(thing, type) or callable(thing):
                self.assertTrue(thing.__doc__, name)
        for thing in (tendril.Model, tendril.State, tendril.Batch, tendril.Control, tendril.Tracking, tendril.Outputs):
            for name, value in vars(thing).items():
                if not name.startswith("_") and (callable(value) or isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{thing.__name__}.{name}")


if __name__ == "__main__":
    unittest.main()
