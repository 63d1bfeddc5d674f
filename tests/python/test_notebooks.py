# SPDX-License-Identifier: Apache-2.0
"""Notebooks run as they stand, and their pages show the lines that they have."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import ROOT

NOTEBOOKS = sorted((ROOT / "python" / "notebooks").glob("*.py"))


class Notebooks(unittest.TestCase):
    def test_they_run(self):
        self.assertEqual(len(NOTEBOOKS), 3)
        for path in NOTEBOOKS:
            if "cad" in path.stem and (shutil.which("gmsh") is None or not os.environ.get("TENDRIL_PROGRAM")):
                continue
            with self.subTest(path.stem), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, path], cwd=folder, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.strip())

    def test_pages_are_theirs(self):
        for path in NOTEBOOKS:
            page = (ROOT / "docs" / "notebooks" / f"{path.stem}.md").read_text()
            cells = [c.partition("\n") for c in re.split(r"^# %%", path.read_text(), flags=re.M)[1:]]
            code = [text.strip("\n") for first, _, text in cells if "[markdown]" not in first]
            shown = re.findall(r"^```py\n(.*?)\n```$", page, flags=re.M | re.S)
            self.assertEqual(shown, code, f"scripts/notebooks {path.stem} makes the page anew")


if __name__ == "__main__":
    unittest.main()
