# SPDX-License-Identifier: Apache-2.0
"""Real-time simulation of soft robots and deformable bodies.

>>> import tendril
>>> model = tendril.Model("finger.yaml")            # a scene, compiled; never changes
>>> state = model.state()                           # what changes
>>> state.set_input("push", 0.5)
>>> state.step(100)
>>> state.probe("tip")                              # [m]

Everything is in SI units. Arrays that the engine holds are NumPy views without a copy. Errors are exceptions that
carry file, line, field and message (:class:`Error`). Many robots at once: :class:`Batch`. Environments in the manner
of Gymnasium: :mod:`tendril.envs`.
"""
from ._library import Cancelled, Error, FileError, InputError, NumericError, OutOfMemory, UsageError, lib as _lib
from .batch import Batch
from .control import Control, Reduction, Tracking, TrackingError, reduce
from .data import reduced, robot
from .model import Actuator, Body, Effector, Joint, Model, Outputs, Sensor
from .pictures import Recording, Viewer, plot, program, render, view, write_png
from .scene import Scene
from .state import CONTACT, Actuation, Report, State, Wrench
from .studies import (
    Compared, Comparison, Fits, Fitted, Load, Loads, Parameter, Sweep, Workspace, compare, estimate, fit, sweep,
    workspace,
)  # fmt: skip

__version__ = "0.2.0"

if _lib.td_version().decode() != __version__:
    raise ImportError(
        f"the package is of version {__version__} and the library that was found of {_lib.td_version().decode()}"
    )

__all__ = [
    "Actuation", "Actuator", "Batch", "Body", "CONTACT", "Cancelled", "Compared", "Comparison", "Control", "Effector",
    "Error", "FileError", "Fits", "Fitted", "InputError", "Joint", "Load", "Loads", "Model", "NumericError",
    "OutOfMemory", "Outputs", "Parameter", "Recording", "Reduction", "Report", "Scene", "Sensor", "State", "Sweep", "Tracking", "TrackingError", "UsageError", "Viewer",
    "Workspace", "Wrench", "compare", "estimate", "fit", "plot", "program", "reduce", "reduced", "render", "robot", "sweep", "view",
    "workspace", "write_png",
]  # fmt: skip
