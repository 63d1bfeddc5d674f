# SPDX-License-Identifier: Apache-2.0
"""Batches from Python."""
import ctypes
import gc
import importlib.util
import os
import unittest

import numpy as np
from common import CUBES, arm

import tendril


class OfDevice:
    """Memory of NumPy that says it is that of a GPU."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = 2
        return capsule


class Batches(unittest.TestCase):
    def setUp(self):
        self.model = arm()

    def rows(self, robots, rows, seed=1):
        return np.random.default_rng(seed).uniform(0, 0.008, (robots, rows, 2))

    def test_rollouts_are_steps(self):
        inputs = self.rows(4, 6)
        batch = self.model.batch(4, outputs=["time", "probe:tip"])
        out = batch.rollout(inputs, hold=2)
        self.assertEqual(out.shape, (4, 6, 4))
        for i in range(4):
            state = self.model.state()
            for t in range(6):
                state.set_inputs(inputs[i, t])
                state.step(2)
                np.testing.assert_array_equal(out[i, t, batch.slices["probe:tip"]], state.probe("tip"))
            self.assertEqual(batch.state(i).hash(), state.hash())
        np.testing.assert_array_equal(batch.taken, 12)
        np.testing.assert_array_equal(batch.observe(), out[:, -1])

    def test_bits_do_not_depend_on_size_and_threads(self):
        inputs = self.rows(37, 5)
        many = self.model.batch(37, threads=3)
        many.rollout(inputs)
        for i in (0, 17, 36):
            one = self.model.batch(1, threads=1)
            one.rollout(inputs[i : i + 1])
            self.assertEqual(one.state(0).hash(), many.state(i).hash())

    def test_device(self):
        host = os.path.join(os.path.dirname(os.environ["TENDRIL_LIBRARY"]), "libtendril_gpu_host.so")
        inputs = np.linspace(0, 0.006, 40)[None, :, None] * np.ones((3, 1, 2))
        cpu = self.model.batch(3, outputs=["probe:tip"]).rollout(inputs)
        batch = self.model.batch(3, outputs=["probe:tip"], device="gpu", gpu=host)
        np.testing.assert_allclose(batch.rollout(inputs), cpu, atol=1e-6)
        with self.assertRaisesRegex(tendril.InputError, "the GPU is not used"):
            self.model.batch(1, device="gpu", gpu="no/such/file.so")
        with self.assertRaises(tendril.UsageError):
            self.model.batch(1, device="tpu")
        with self.assertRaises(tendril.UsageError):
            self.model.batch(1, precision="half")

    def test_arrays_of_the_device(self):
        # The back end of the host takes its own memory for that of a device, which needs a library that says so.
        host = os.path.join(os.path.dirname(os.environ["TENDRIL_LIBRARY"]), "libtendril_gpu_host.so")
        inputs = self.rows(3, 4)
        expected = self.model.batch(3, outputs=["probe:tip"], device="gpu", gpu=host).rollout(inputs, hold=3)
        batch = self.model.batch(3, outputs=["probe:tip"], device="gpu", gpu=host)
        for given in (inputs, np.asfortranarray(inputs)):
            batch.reset()
            out = np.zeros((3, 4, 3))
            there = OfDevice(out)
            self.assertIs(batch.rollout(OfDevice(given), hold=3, out=there), there)
            np.testing.assert_array_equal(out, expected)
        for wrong in ({"inputs": OfDevice(inputs)}, {"inputs": inputs, "out": OfDevice(out)},
                      {"inputs": OfDevice(inputs[:2]), "out": OfDevice(out)},
                      {"inputs": OfDevice(inputs.astype(np.float32)), "out": OfDevice(out)},
                      {"inputs": OfDevice(inputs), "out": OfDevice(out[:, :2])}):  # fmt: skip
            with self.assertRaises(tendril.UsageError):
                batch.rollout(**wrong)
        with self.assertRaisesRegex(tendril.UsageError, "device='gpu'"):
            self.model.batch(3, outputs=["probe:tip"]).rollout(OfDevice(inputs), out=OfDevice(out))

    def test_sampling_control(self):
        # The controller of examples/mppi.py brings the tip to where constant inputs would.
        examples = os.path.join(os.path.dirname(os.path.abspath(tendril.__file__)), "..", "examples", "mppi.py")
        spec = importlib.util.spec_from_file_location("mppi", examples)
        mppi = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(mppi)
        robot = self.model.batch(1, outputs=["probe:tip"])
        rest = robot.observe()[0].copy()
        goal = robot.rollout(np.broadcast_to([0.006, 0.001], (1, 150, 2)))[0, -1]
        robot.reset()
        samples = self.model.batch(32, outputs=["probe:tip"])
        control = mppi.Mppi(samples, 12, np.zeros(2), np.full(2, 0.008))
        for _ in range(40):
            row = control.turn(
                robot.state(0).to_bytes(), lambda places: np.square(places - goal).sum(axis=2).mean(axis=1)
            )
            self.assertTrue(np.all((row >= 0) & (row <= 0.008)))
            tip = robot.step(row)[0]
        self.assertLess(np.linalg.norm(tip - goal), 0.2 * np.linalg.norm(rest - goal))

    def test_any_memory_order(self):
        inputs = self.rows(3, 4)
        expected = self.model.batch(3, outputs=["coords:arm"]).rollout(inputs)
        for given in (
            np.asfortranarray(inputs),
            np.repeat(inputs, 2, axis=2)[:, :, ::2],
            inputs[::-1].copy()[::-1],
            np.ascontiguousarray(inputs.transpose(1, 2, 0)).transpose(2, 0, 1),
        ):
            batch = self.model.batch(3, outputs=["coords:arm"])
            out = np.zeros((7, 3, 4)).transpose(1, 2, 0)
            self.assertIs(batch.rollout(given, out=out), out)
            np.testing.assert_array_equal(out, expected)
        # float32 is converted; one row for all robots is shared
        batch = self.model.batch(3, outputs=["coords:arm"])
        out = batch.rollout(inputs[0])
        np.testing.assert_array_equal(out[0], expected[0])
        np.testing.assert_array_equal(out[2], expected[0])

    def test_masks_resets_failures(self):
        batch = self.model.batch(4, outputs=["time"])
        inputs = np.full((4, 2), np.nan)
        inputs[2, 0] = np.inf
        out = batch.step(inputs)
        self.assertEqual(list(batch.failed), [False, False, True, False])
        self.assertTrue(np.isnan(out[2, 0]) and not np.isnan(out[1, 0]))
        self.assertIsInstance(batch.error(2), tendril.UsageError)
        self.assertIsNone(batch.error(1))
        batch.step(mask=[0, 2])
        self.assertEqual(list(batch.taken), [1, 0, 0, 0])
        batch.reset(batch.failed)
        self.assertFalse(batch.failed.any())
        batch.step(mask=np.array([True, False, True, False]))
        self.assertEqual([batch.state(i).steps for i in range(4)], [3, 1, 1, 1])
        with self.assertRaises(tendril.UsageError):
            batch.reset([9])
        with self.assertRaises(tendril.UsageError):
            batch.reset(np.zeros(3, bool))

    def test_parameters_and_values(self):
        batch = self.model.batch(3)
        batch.set_parameter("young", [0.8, 1.0, 1.25])
        batch.set_parameter("offset", 1e-4, of="top")
        batch.set_delay([0, 0.02, 0.04])
        batch.rollout(self.rows(3, 8))
        self.assertEqual(batch.state(2).parameter("young"), 1.25)
        values = batch.write()
        hashes = [batch.state(i).hash() for i in range(3)]
        batch.rollout(rows=2)
        batch.read(values)
        self.assertEqual([batch.state(i).hash() for i in range(3)], hashes)
        one = self.model.state()
        one.step(3)
        batch.read(one.to_bytes(), mask=[1])
        self.assertEqual(batch.state(1).hash(), one.hash())
        self.assertEqual(batch.state(0).hash(), hashes[0])
        for wrong in (lambda: batch.set_parameter("young", [1, 2]), lambda: batch.set_parameter("young", [1, -2, 1]),
                      lambda: batch.set_delay(-1), lambda: batch.read(values[:, 1:]), lambda: batch.error(3)):  # fmt: skip
            with self.assertRaises(tendril.Error):
                wrong()

    def test_shapes_and_types_are_checked(self):
        batch = self.model.batch(2, outputs=["time"])
        for wrong in (
            lambda: batch.rollout(np.zeros((3, 1, 2))), lambda: batch.rollout(np.zeros((2, 1, 3))),
            lambda: batch.rollout("words"), lambda: batch.rollout(np.zeros((2, 4, 2)), rows=3),
            lambda: batch.rollout(rows=-1), lambda: batch.rollout(hold=0), lambda: batch.step(np.zeros((2, 3))),
            lambda: batch.rollout(rows=2, out=np.zeros((2, 3, 1))),
            lambda: batch.rollout(rows=2, out=np.zeros((2, 2, 1), np.float32)),
            lambda: batch.choose_outputs("time"), lambda: batch.choose_inputs(["top", "top"]),
            lambda: batch.choose_inputs(["nothing"]), lambda: tendril.Batch(self.model, 0),
        ):  # fmt: skip
            with self.assertRaises(tendril.UsageError):
                wrong()
        frozen = np.zeros((2, 1, 1))
        frozen.flags.writeable = False
        with self.assertRaises(tendril.UsageError):
            batch.rollout(out=frozen)

    def test_arrays_of_any_shape(self):
        """Random shapes, strides and masks: each is refused, or does what it says."""
        random = np.random.default_rng(3)
        batch = self.model.batch(3, outputs=["coords:arm", "time"])
        accepted = 0
        for _ in range(300):
            batch.reset()
            shape = tuple(random.choice([1, 2, 3, 3, 3, 4], size=random.integers(1, 4)))
            data = random.uniform(0, 0.005, tuple(2 * s for s in shape))[tuple(slice(None, None, 2) for _ in shape)]
            mask = random.choice([None, 1, 2])
            mask = None if mask is None else random.integers(0, 4, random.integers(0, 3)) if mask == 1 else random.random(random.integers(2, 5)) < 0.5
            try:
                out = batch.rollout(data, mask=mask)
            except tendril.UsageError:
                continue
            accepted += 1
            self.assertTrue(len(shape) == 2 or shape[0] == 3)
            taken = batch.taken.astype(bool)
            self.assertTrue(np.isfinite(out[taken]).all() and np.isnan(out[~taken]).all())
        self.assertGreater(accepted, 5)

    def test_dlpack(self):
        class Other:  # an array of another library
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **more):
                return self.array.__dlpack__(**more)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        inputs = np.random.default_rng(5).uniform(0, 0.005, (2, 4, 2))
        batch = self.model.batch(2, outputs=["coords:arm"])
        expected = batch.rollout(inputs)
        batch.reset()
        got = batch.rollout(Other(inputs))
        np.testing.assert_array_equal(got, expected)
        shared = np.from_dlpack(got)
        self.assertEqual(shared.__array_interface__["data"][0], got.__array_interface__["data"][0])

    def test_a_state_keeps_its_batch(self):
        batch = self.model.batch(2)
        q = batch.state(1).coords()
        batch.rollout(rows=3)
        expected = q.copy()
        del batch
        gc.collect()
        np.testing.assert_array_equal(q, expected)

    def test_contact_forces(self):
        batch = tendril.Model(CUBES).batch(2, outputs=["contact:floor,cube", "contacts"])
        batch.set_parameter("gravity_z", [-9.81, -5.0])
        out = batch.rollout(rows=1, hold=150)[:, 0]
        np.testing.assert_allclose(out[:, 2], [9.81, 5.0], rtol=1e-2)


if __name__ == "__main__":
    unittest.main()
