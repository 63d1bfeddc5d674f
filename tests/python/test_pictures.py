# SPDX-License-Identifier: Apache-2.0
"""Pictures of states, recordings, the viewer."""
import base64
import json
import os
import re
import tempfile
import unittest
import urllib.request
from pathlib import Path

import numpy as np
from common import ARM_TEXT, CUBES, OWN, arm, tendril


class Pictures(unittest.TestCase):
    def test_render(self):
        state = arm().state()
        still = state.render(160, 120)
        self.assertEqual((still.shape, still.dtype), ((120, 160, 3), np.uint8))
        self.assertGreater(still.std(), 5)  # there is something on it
        np.testing.assert_array_equal(still, state.model.render(160, 120))
        state.set_input("top", 8e-3)
        state.step(30)
        self.assertGreater(np.abs(state.render(160, 120).astype(int) - still).max(), 50)
        dark = state.render(64, 64, background="dark", marks=False, axes=False, key=False, shadow=False)
        self.assertLess(dark.mean(), 100)
        self.assertEqual(tendril.Model(CUBES).render(64, 48).shape, (48, 64, 3))
        for bad in (dict(width=3), dict(width=10**6), dict(background="pink"), dict(up="w"), dict(elevation=200),
                    dict(zoom=float("nan")), dict(opacity=7), dict(supersample=9)):  # fmt: skip
            with self.assertRaises(tendril.UsageError, msg=str(bad)):
                state.render(**bad)

    def test_recording(self):
        model = arm()
        state = model.state()
        recording = tendril.Recording(state, title="an <arm>")
        state.set_input("top", 8e-3)
        for _ in range(4):
            state.step(10)
            recording.add()
        self.assertEqual(len(recording), 5)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "motion.html"
            recording.save(path)
            page = path.read_text()
        data = json.loads(re.search(r"const data = (.*);\n", page).group(1))
        frames = np.frombuffer(base64.b64decode(data["frames"]), "<u2").reshape(5, data["nodes"], 3)
        triangles = np.frombuffer(base64.b64decode(data["triangles"]), "<u4").reshape(-1, 3)
        x = np.array(data["low"]) + data["scale"] * frames[-1] / 65535
        want = np.asarray(state.positions())[np.unique(model.triangles())]
        np.testing.assert_allclose(x, want, atol=data["scale"] / 65535)
        np.testing.assert_allclose(want[triangles], state.positions()[model.triangles()])
        self.assertNotIn("{{", page)
        self.assertIn("<iframe", recording._repr_html_())

    def test_view(self):
        if not os.environ.get("TENDRIL_PROGRAM"):
            self.skipTest("there is no program")
        with tempfile.TemporaryDirectory() as folder:
            scene = Path(folder) / "arm.yaml"
            scene.write_text(ARM_TEXT)
            with tendril.Model(scene, rom=OWN / "arm.h5").view(browser=False, paused=True) as viewer:
                with urllib.request.urlopen(viewer.address) as answer:
                    self.assertEqual(answer.status, 200)
            with self.assertRaises(tendril.Error):
                tendril.view(Path(folder) / "none.yaml", browser=False)
        with self.assertRaises(tendril.UsageError):
            tendril.Model(CUBES).view(browser=False)

    def test_plot(self):
        try:
            import matplotlib

            matplotlib.use("Agg")
        except ImportError:
            with self.assertRaisesRegex(tendril.Error, "matplotlib"):
                tendril.plot([0, 1], [0, 1])
            return
        axes = tendril.plot([0, 1, 2], [[0, 1], [1, 2], [2, 3]], ["a", "b"], unit="m")
        self.assertEqual(len(axes.lines), 2)
        with self.assertRaises(tendril.UsageError):
            tendril.plot([0, 1], [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
