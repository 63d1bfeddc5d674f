# SPDX-License-Identifier: Apache-2.0
"""Closed-loop control, and reduced models."""
from __future__ import annotations

import ctypes as c
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _library as td
from ._library import Cancelled, UsageError, lib
from .model import Model
from .scene import Scene, source
from .state import State
from .views import address, numbers


class Control:
    """Follows goals with a real robot: what is measured of an effector corrects its target by an integral term.

    gain [1/s], limit (most correction, in the unit of the effector) and delay of the measurement [s] have defaults of
    the model.
    """

    def __init__(self, model: Model, *, gain: float | None = None, limit: float | None = None,
                 delay: float | None = None) -> None:  # fmt: skip
        self._handle, self.model = 0, model
        settings = lib.td_default_control(model._handle)
        for name, value in (("gain", gain), ("limit", limit), ("delay", delay)):
            if value is not None:
                setattr(settings, name, value)
        handle, error = c.c_void_p(), td.tdError()
        td.check(lib.td_control_create(model._handle, c.byref(settings), c.byref(handle), c.byref(error)), error)
        self._handle = handle.value

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            lib.td_control_free(self._handle)
            self._handle = 0

    def load_goals(self, path: str | os.PathLike) -> None:
        """Goals over time from a CSV file: t, NAME.x, NAME.y, NAME.z."""
        error = td.tdError()
        td.check(lib.td_control_load_goals(self._handle, self.model._handle, os.fsencode(path), c.byref(error)), error)

    def load_measurements(self, path: str | os.PathLike) -> None:
        """Measurements over time, likewise; replayed as time goes on."""
        error = td.tdError()
        td.check(lib.td_control_load_measurements(self._handle, self.model._handle, os.fsencode(path), c.byref(error)),
                 error)  # fmt: skip

    @property
    def duration(self) -> float:
        """Last time of the goals [s]."""
        return lib.td_control_duration(self._handle)

    def _room(self, key: int | str, value: Any) -> tuple[int, np.ndarray | None]:
        index = self.model._effect(key)
        if value is None:
            return index, None
        rows, room = self.model.effectors[index].rows, np.zeros(3)
        room[:rows] = numbers(np.atleast_1d(np.asarray(value, float)), (rows,), "the value")
        return index, room

    def set_goal(self, key: int | str, goal: Any | None) -> None:
        """Goal of an effector from now on; None: back to the file's, or none."""
        index, room = self._room(key, goal)
        if lib.td_control_set_goal(self._handle, index, address(room)):
            raise UsageError("a goal has to be finite, and a direction needs a length")

    def goal(self, key: int | str, time: float) -> np.ndarray | None:
        """Goal of an effector at a time [s]; None: it has none."""
        index, room = self.model._effect(key), np.zeros(3)
        known = lib.td_control_goal(self._handle, index, time, address(room))
        return room[: self.model.effectors[index].rows] if known else None

    def measure(self, key: int | str, value: Any | None) -> None:
        """The newest measurement of an effector."""
        index, room = self._room(key, value)
        if lib.td_control_measure(self._handle, index, address(room)):
            raise UsageError("a measurement has to be finite, and a direction needs a length")

    def correction(self, key: int | str) -> np.ndarray:
        """The integral term of an effector."""
        index, room = self.model._effect(key), np.zeros(3)
        lib.td_control_correction(self._handle, index, address(room))
        return room[: self.model.effectors[index].rows]

    def step(self, state: State) -> None:
        """Sets the targets by what was measured and takes the next step."""
        if state.model is not self.model:
            raise UsageError("the state is of another model than the control")
        with state._alone:
            if lib.td_control_step(self._handle, self.model._handle, state._handle):
                state._fail()


@dataclass(frozen=True)
class Reduction:
    """What came of a reduction. Errors are relative."""

    rom: str  #: file of the reduced model
    modes: int
    snapshots: int
    failures: int  #: places without an equilibrium
    elements: int  #: of the body
    rid_elements: int  #: that stand for all
    pod_error: float
    ecsw_error: float
    held_out_error: float  #: at places that it was not trained on, all of them together
    held_out_worst: float
    held_out_places: int
    motion_error: float  #: along a motion
    motion_worst: float
    seconds: float


def reduce(scene: str | os.PathLike | Mapping[str, Any] | Scene, rom: str | os.PathLike, *, body: str | None = None, pod_tolerance: float | None = None,
           ecsw_tolerance: float | None = None, max_modes: int | None = None, restart: bool = False, accept: bool = False,
           threads: int = 0, folder: str | os.PathLike | None = None,
           progress: Callable[[str, int, int], Any] | None = None) -> Reduction:  # fmt: skip
    """Makes the reduced model of a scene with a ``reduction`` (docs/reduction.md): minutes, as ``tendril reduce``.

    body: which is reduced, where the scene does not say so. folder: of a dictionary, where relative paths begin.
    progress(phase, done, total) is told of it. Ctrl-C, or an exception in ``progress``, stops in order; the same call
    goes on from there. A model that is off by more than 20 % at places that it was not trained on is written with ``accept`` only.
    """
    watch, what, settings = td.Watch(progress), lib.td_default_reduction(), td.settings(threads=threads)
    path = source(scene, settings, folder)
    what.pod_tolerance, what.ecsw_tolerance = pod_tolerance or 0.0, ecsw_tolerance or 0.0
    what.max_modes, what.restart, what.accept, what.progress = max_modes or 0, restart, accept, watch.function
    what.body = body.encode() if body else None
    out, error = td.tdReduction(), td.tdError()
    with watch:
        status = lib.td_model_reduce(path, os.fsencode(rom), c.byref(what), c.byref(settings), c.byref(out),
                                     c.byref(error))  # fmt: skip
    watch.finish(status, error)
    if out.stopped:
        raise Cancelled("the reduction was stopped; the same call goes on from there")
    values = {name: getattr(out, name) for name, *_ in td.tdReduction._fields_ if name != "stopped"}
    return Reduction(rom=os.fspath(rom), **values)
