# SPDX-License-Identifier: Apache-2.0
"""What the tests of the package share."""
import os
import tempfile
from pathlib import Path

os.environ.setdefault("TENDRIL_CACHE", tempfile.mkdtemp(prefix="tendril-test-"))
ROOT = Path(__file__).resolve().parent.parent.parent
OWN = ROOT / "tests" / "golden" / "scenes"

import tendril  # noqa: E402

ARM_TEXT = (OWN / "arm.yaml").read_text() + "\nprobes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n"


def arm():
    """A reduced arm with two cables and a probe at its tip."""
    return tendril.Model.from_text(ARM_TEXT, name="arm.yaml", folder=OWN, rom=OWN / "arm.h5")


def arm_file(folder) -> Path:
    path = Path(folder) / "arm.yaml"
    path.write_text(ARM_TEXT)
    return path


CUBES = {
    "tendril": 1,
    "gravity": [0, 0, -9.81],
    "time_step": 0.005,
    "steps": 100,
    "contact": {"friction": 0.5},
    "bodies": [
        {"name": "floor", "type": "rigid", "fixed": True, "shape": {"plane": True}},
        {"name": "cube", "type": "rigid", "shape": {"box": [0.1, 0.1, 0.1]}, "density": 1000,
         "transform": {"translate": [0, 0, 0.05]}},
        {"name": "jelly", "mesh": {"box": [[1, 0, 0], [1.1, 0.1, 0.1]], "cells": [2, 2, 2]},
         "material": {"law": "corotational", "young": "100 kPa", "poisson": 0.4, "density": 1000},
         "damping": {"stiffness": 0.01}},
    ],
    "probes": [{"name": "top", "body": "jelly", "point": [1.05, 0.05, 0.1]}],
}  # fmt: skip
