# SPDX-License-Identifier: Apache-2.0
"""Closed-loop control, and reduced models."""
from __future__ import annotations

import ctypes as c
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _library as td
from ._library import Cancelled, UsageError, lib
from .model import Model
from .scene import Scene, source
from .state import State
from .views import Array, address, numbers


class Control(td.Held):
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
        self._handle = handle.value or 0

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            lib.td_control_free(self._handle)
            self._handle = 0

    def load_goals(self, path: str | os.PathLike[str]) -> None:
        """Goals over time from a CSV file: t, NAME.x, NAME.y, NAME.z."""
        error = td.tdError()
        td.check(lib.td_control_load_goals(self._handle, self.model._handle, os.fsencode(path), c.byref(error)), error)

    def load_measurements(self, path: str | os.PathLike[str]) -> None:
        """Measurements over time, likewise; replayed as time goes on."""
        error = td.tdError()
        td.check(lib.td_control_load_measurements(self._handle, self.model._handle, os.fsencode(path), c.byref(error)),
                 error)  # fmt: skip

    @property
    def duration(self) -> float:
        """Last time of the goals [s]."""
        return lib.td_control_duration(self._handle)

    def _room(self, key: int | str, value: Any) -> tuple[int, Array | None]:
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

    def goal(self, key: int | str, time: float) -> Array | None:
        """Goal of an effector at a time [s]; None: it has none."""
        index, room = self.model._effect(key), np.zeros(3)
        known = lib.td_control_goal(self._handle, index, time, address(room))
        return room[: self.model.effectors[index].rows] if known else None

    def measure(self, key: int | str, value: Any | None) -> None:
        """The newest measurement of an effector."""
        index, room = self._room(key, value)
        if lib.td_control_measure(self._handle, index, address(room)):
            raise UsageError("a measurement has to be finite, and a direction needs a length")

    def correction(self, key: int | str) -> Array:
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

    def follow(self, state: State, steps: int | None = None, *, folder: str | os.PathLike[str] | None = None,
               measured: bool = False, progress: Callable[[str, int, int], Any] | None = None) -> Tracking:  # fmt: skip
        """Takes steps to the last time of the goals, or so many, and keeps what came of them, as ``tendril control`` does.

        folder: for actuation.csv, tracking.csv and pictures of both. measured: what is measured is kept too.
        progress(phase, done, total) is told of it. What a step that fails raises has the ``tracking`` up to it.
        """
        if steps is None:
            steps = max(1, math.ceil(self.duration / self.model.time_step - 1e-6)) - state.steps
        tracking = Tracking(self, folder=folder, measured=measured)
        try:
            for done in range(steps):
                begin = time.perf_counter()
                self.step(state)
                tracking.add(state, time.perf_counter() - begin)
                if progress is not None:
                    progress("following", done + 1, steps)
        except BaseException as error:
            error.tracking = tracking  # type: ignore[attr-defined]
            tracking.finish(early=True)
            raise
        tracking.finish()
        return tracking


@dataclass(frozen=True)
class TrackingError:
    """Distances of an effector from its goal, in its unit."""

    mean: float
    max: float
    rms: float
    settled: int  #: the first step whose error is not above the median: the start is over
    settled_mean: float
    settled_max: float


class Tracking(td.Held):
    """What a control did, step by step: :meth:`Control.follow` makes one, or a loop of your own that calls ``add``."""

    def __init__(self, control: Control, *, folder: str | os.PathLike[str] | None = None, measured: bool = False) -> None:
        self._handle, self.control, self.measured, self.early = 0, control, measured, False
        handle, error = c.c_void_p(), td.tdError()
        td.check(lib.td_tracking_create(control.model._handle, control._handle,
                                        os.fsencode(folder) if folder is not None else None, measured, c.byref(handle),
                                        c.byref(error)), error)  # fmt: skip
        self._handle = handle.value or 0

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            lib.td_tracking_free(self._handle)
            self._handle = 0

    def add(self, state: State, seconds: float = math.nan) -> None:
        """Adds the step that ``state`` has just taken, in so many seconds."""
        if state.model is not self.control.model:
            raise UsageError("the state is of another model than the control")
        error = td.tdError()
        td.check(lib.td_tracking_add(self._handle, state._handle, seconds, c.byref(error)), error)

    def finish(self, early: bool = False) -> None:
        """Closes the tables and draws pictures of them, where there is a folder. early: before the goals' end."""
        error, self.early = td.tdError(), early
        td.check(lib.td_tracking_finish(self._handle, c.byref(error)), error)

    def _info(self) -> td.tdTrackingInfo:
        return lib.td_tracking_info(self._handle)

    @property
    def steps(self) -> int:
        """That were added."""
        return self._info().steps

    @property
    def out_of_reach(self) -> int:
        """Steps in which a goal was out of reach."""
        return self._info().out_of_reach

    @property
    def limited(self) -> int:
        """Steps in which a limit of an actuator held."""
        return self._info().limited

    @property
    def blocked(self) -> int:
        """Steps in which contact was in the way."""
        return self._info().blocked

    @property
    def stopped(self) -> int:
        """Steps in which the solver met its bound on iterations."""
        return self._info().stopped

    @property
    def seconds(self) -> tuple[float, ...]:
        """Of a step: 50, 90, 99 and 100 of a hundred took no longer; NaN: nobody said."""
        return tuple(self._info().step)

    def _errors(self, measured: bool) -> dict[str, TrackingError]:
        out = {}
        for k in range(self._info().effectors):
            e = lib.td_tracking_error(self._handle, k, measured)
            name = self.control.model.effectors[e.effector].name
            out[name] = TrackingError(e.mean, e.max, e.rms, e.settled, e.settled_mean, e.settled_max)
        return out

    @property
    def errors(self) -> dict[str, TrackingError]:
        """By effector that has a goal: of the model."""
        return self._errors(False)

    @property
    def measured_errors(self) -> dict[str, TrackingError]:
        """The same of what was measured; NaN where nothing was."""
        return self._errors(True)

    def report(self, path: str | os.PathLike[str], lead: str = "") -> None:
        """Writes a page (.html) with paths, errors and what the actuators did. lead: its first sentence."""
        error = td.tdError()
        td.check(lib.td_tracking_report(self._handle, lead.encode(), self.early, os.fsencode(path), c.byref(error)), error)

    def __repr__(self) -> str:
        rows = [f"<tendril.Tracking of {self.steps} steps"]
        for name, e in self.errors.items():
            unit = self.control.model.effectors[self.control.model._effect(name)].unit
            rows.append(f"  {name}: {e.mean:.3g} {unit} off in the mean, {e.max:.3g} at most")
        return "\n".join(rows) + ">"


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


def reduce(scene: str | os.PathLike[str] | Mapping[str, Any] | Scene, rom: str | os.PathLike[str], *, body: str | None = None, pod_tolerance: float | None = None,
           ecsw_tolerance: float | None = None, max_modes: int | None = None, restart: bool = False, accept: bool = False,
           threads: int = 0, folder: str | os.PathLike[str] | None = None,
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
