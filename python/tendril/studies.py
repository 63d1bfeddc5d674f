# SPDX-License-Identifier: Apache-2.0
"""What is done with a scene beside taking its steps: comparisons, workspaces, loads from shapes, materials from stresses.

Each is one call, with the results of the command of the same name. ``progress(phase, done, total)`` is told how far it
is (total 0: not known); Ctrl-C and exceptions in it end the call.
"""
from __future__ import annotations

import ctypes as c
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _library as td
from ._library import UsageError, lib
from .scene import Scene, source
from .views import Array, address, numbers, view

SceneLike = str | os.PathLike[str] | Mapping[str, Any] | Scene
Progress = Callable[[str, int, int], Any] | None

_KINDS = ("full", "reduced", "hyper_reduced", "scene")


class _Study(td.Held):
    """A study that the library holds."""

    def __init__(self, handle: int, free: Any) -> None:
        self._handle, self._free = handle, free

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            self._free(self._handle)
            self._handle = 0

    def _write(self, function: Any, path: str | os.PathLike[str]) -> None:
        error = td.tdError()
        td.check(function(self._handle, os.fsencode(path), c.byref(error)), error)


def _text(value: str | os.PathLike[str] | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def _study(kind: Any, watch: td.Watch, call: Any, *given: Any) -> Any:
    """One call of the library; what it hands out as a `kind`, also where it was stopped with a part of it."""
    handle, error = c.c_void_p(), td.tdError()
    with watch:
        status = call(*given, c.byref(handle), c.byref(error))
    out = kind(handle.value) if handle.value else None
    watch.finish(status, error, out is not None and getattr(out, "stopped", False))
    return out


# ---------------------------------------------------------------- compare


@dataclass(frozen=True)
class Compared:
    """One model of a comparison."""

    name: str
    file: str
    kind: str  #: "full", "reduced", "hyper_reduced", "scene"
    modes: int  #: 0: full order
    elements: int
    unknowns: int
    steps: int  #: that it came through
    failure: str  #: why it did not come through more; "": it did
    worst_step: int  #: with the largest error of the shape, from 1; 0: not known
    rate: float  #: steps a second on one thread
    warnings: int  #: steps in which its indicator said that it is not to be trusted
    mean: dict[str, float]  #: relative error by probe and of the "shape"; NaN: not known
    worst: dict[str, float]  #: the largest
    errors: Array  #: (steps, probes + 1) distances [m]; a view
    paths: Array  #: (steps, probes, 3) displacements of the probes [m]; a view


class Comparison(_Study):
    """What came of :func:`compare`. ``models[0]`` is full order."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle, lib.td_comparison_free)
        info = lib.td_comparison_info(handle)
        self.motion: str = info.motion.decode()
        self.steps: int = info.steps
        self.stopped: bool = info.stopped  #: before the end of the motion
        self.time_step: float = info.time_step  #: [s]
        self.names: tuple[str, ...] = tuple(
            lib.td_comparison_error_name(handle, k).decode() for k in range(info.errors)
        )  #: of errors: probes, then "shape"
        self.amplitude: dict[str, float] = {
            n: lib.td_comparison_amplitude(handle, k) for k, n in enumerate(self.names)
        }  #: largest displacement at full order [m]
        self.models: tuple[Compared, ...] = tuple(self._model(i) for i in range(info.models))

    def _model(self, i: int) -> Compared:
        h, m, mean, most = self._handle, lib.td_comparison_model(self._handle, i), c.c_double(), c.c_double()
        errors = []
        for k in range(len(self.names)):
            lib.td_comparison_error(h, i, k, c.byref(mean), c.byref(most))
            errors.append((mean.value, most.value))
        return Compared(m.name.decode(), m.file.decode(), _KINDS[m.kind], m.modes, m.elements, m.unknowns, m.steps,
                        m.failure.contents.message.decode() if m.failure else "", m.worst_step, m.rate, m.warnings,
                        {n: e[0] for n, e in zip(self.names, errors)}, {n: e[1] for n, e in zip(self.names, errors)},
                        view(self, lib.td_comparison_errors(h, i), (m.steps, len(self.names))),
                        view(self, lib.td_comparison_paths(h, i), (m.steps, len(self.names) - 1, 3)))  # fmt: skip

    def __repr__(self) -> str:
        rows = [f"<tendril.Comparison on {self.motion}, {self.steps} steps"]
        for m in self.models:
            rows.append(f"  {m.name}: shape off by {m.mean['shape']:.2%} (at most {m.worst['shape']:.2%}), {m.rate:.4g} steps/s")
        return "\n".join(rows) + ">"

    def write(self, folder: str | os.PathLike[str]) -> None:
        """errors.csv, paths.csv and pictures."""
        self._write(lib.td_comparison_write, folder)

    def report(self, path: str | os.PathLike[str]) -> None:
        """A page (.html) with the table, plots and pictures."""
        self._write(lib.td_comparison_report, path)


def compare(scene: SceneLike, rom: str | os.PathLike[str] | None = None, others: Sequence[str | os.PathLike[str]] = (), *,
            whole: bool = True, steps: int = 0, folder: str | os.PathLike[str] | None = None,
            progress: Progress = None) -> Comparison:  # fmt: skip
    """Full order, reduced and hyper-reduced on one motion: how far they are apart, and how fast each is.

    rom: reduced model of the scene. others: more of them (\\*.h5), or scenes of the same robot on other meshes.
    whole: also the reduced model over all elements, which is slow. steps: only the first; 0: all of the motion.
    """
    watch, settings, what = td.Watch(progress), td.settings(), lib.td_default_compare()
    path = source(scene, settings, folder)
    files = [os.fsencode(f) for f in others]
    what.rom, what.no_whole, what.steps, what.progress = _text(rom), not whole, steps, watch.function
    what.n_others, what.others = len(files), (c.c_char_p * (len(files) or 1))(*files)
    return _study(Comparison, watch, lib.td_compare, path, c.byref(what), c.byref(settings))


# ---------------------------------------------------------------- workspace


class Workspace(_Study):
    """What came of :func:`workspace`."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle, lib.td_workspace_free)
        info, model = lib.td_workspace_info(handle), lib.td_workspace_model(handle)
        self.places: int = info.places  #: that were looked for
        self.reached: int = info.reached  #: with an equilibrium
        self.failed: int = info.failed
        self.failure: str = info.failure.contents.message.decode() if info.failure else ""  #: the first
        self.stopped: bool = info.stopped  #: before all places were visited
        self.seconds: float = info.seconds
        self.actuators: tuple[str, ...] = tuple(
            lib.td_model_actuator(model, a).name.decode() for a in range(info.actuators)
        )
        #: Where the values of each effector are.
        self.slices: dict[str, slice] = {}
        at = 0
        for e in range(lib.td_model_effectors(model)):
            effector = lib.td_model_effector(model, e)
            self.slices[effector.name.decode()] = slice(at, at + effector.rows)
            at += effector.rows
        #: Values of all effectors, (reached, values); a view.
        self.values: Array = view(self, lib.td_workspace_points(handle), (info.reached, info.values))
        #: The same at rest, (values,); a view.
        self.rest: Array = view(self, lib.td_workspace_at_rest(handle), (info.values,))
        #: What the actuators were set to, (reached, actuators).
        self.actuation: Array = np.empty((info.reached, info.actuators))
        for i in range(info.reached if info.actuators else 0):
            lib.td_workspace_actuation(handle, i, address(self.actuation[i]))

    def points(self, effector: str | None = None) -> Array:
        """Values of one effector, the first unless it is named: (reached, 3) or (reached, 1)."""
        name = next(iter(self.slices)) if effector is None else effector
        if name not in self.slices:
            raise UsageError(f"there is no effector '{name}'; there are: {', '.join(self.slices)}")
        return self.values[:, self.slices[name]]

    def __repr__(self) -> str:
        return f"<tendril.Workspace: {self.reached} of {self.places} places>"

    def write(self, folder: str | os.PathLike[str]) -> None:
        """points.csv, points.vtu for ParaView, workspace.png."""
        self._write(lib.td_workspace_write, folder)


def workspace(scene: SceneLike, samples: int = 200, *, grid: int | None = None, effector: str | None = None,
              rom: str | os.PathLike[str] | None = None, threads: int = 0, folder: str | os.PathLike[str] | None = None,
              progress: Progress = None) -> Workspace:  # fmt: skip
    """Where the effectors of a robot can get: equilibria with its actuators set to places all over their ranges.

    samples: places, the ends of all ranges among them. grid: so many values of every actuator instead, in all
    combinations. effector: that the picture shows.
    """
    watch, settings, what = td.Watch(progress), td.settings(threads=threads, rom=rom), lib.td_default_workspace()
    path = source(scene, settings, folder)
    what.samples, what.grid, what.effector, what.progress = samples, grid or 0, _text(effector), watch.function
    return _study(Workspace, watch, lib.td_workspace_explore, path, c.byref(what), c.byref(settings))


# ---------------------------------------------------------------- batches from file to file


@dataclass(frozen=True)
class Sweep:
    """What came of :func:`sweep`."""

    robots: int
    rows: int  #: of inputs, of each robot
    steps: int  #: that were taken
    failed: int  #: robots that stopped; their rows are NaN from there on
    resumed: bool  #: work of an earlier call was found
    seconds: float


def sweep(scene: SceneLike, inputs: str | os.PathLike[str], out: str | os.PathLike[str], *, outputs: Sequence[str] = (),
          hold: int = 1, restart: bool = False, rom: str | os.PathLike[str] | None = None, threads: int = 0,
          folder: str | os.PathLike[str] | None = None, progress: Progress = None) -> Sweep:  # fmt: skip
    """Rollouts of many robots from a file to a file, on all cores, for batches that do not fit into memory.

    inputs: HDF5 file with ``inputs`` (robots, rows, n), whose attribute ``names`` says what they are, and parameters of
    each robot under ``parameters/NAME``. out: HDF5 file with ``outputs/NAME`` (robots, rows, numbers), ``status`` and
    ``steps`` of each robot. outputs: names as in :meth:`Batch.rollout`; none: probes, and what actuators do. hold:
    steps that a row of inputs holds for.

    What is done is kept beside the output: a call that was stopped, by Ctrl-C too, goes on where it was when it is made
    again, and the file is the same to the bit. restart: throw away what another job has left there.
    """
    watch, settings, what = td.Watch(progress), td.settings(threads=threads, rom=rom), lib.td_default_sweep()
    path = source(scene, settings, folder)
    names = [n.encode() for n in outputs]
    what.inputs, what.out, what.hold, what.restart = _text(inputs), _text(out), hold, restart
    what.n_outputs, what.outputs = len(names), (c.c_char_p * (len(names) or 1))(*names)
    what.progress = watch.function
    result, error = td.tdSweep(), td.tdError()
    with watch:
        status = lib.td_sweep_run(path, c.byref(what), c.byref(settings), c.byref(result), c.byref(error))
    watch.finish(status, error, result.stopped)
    return Sweep(result.robots, result.rows, result.steps, result.failed, result.resumed, result.seconds)


# ---------------------------------------------------------------- estimate


@dataclass(frozen=True)
class Load:
    """A load that was found."""

    name: str
    unit: str
    effort: float
    deviation: float  #: standard deviation; infinite where the points do not tell
    limited: bool  #: a limit of the actuator holds


class Loads(_Study):
    """What came of :func:`estimate`."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle, lib.td_loads_free)
        info = lib.td_loads_info(handle)
        self.residual: float = info.residual  #: of a coordinate, root of the mean square [m]
        self.sigma: float = info.sigma  #: of a coordinate [m]: given, or from the residual
        self.equilibria: int = info.equilibria
        self.seconds: float = info.seconds
        self.loads: dict[str, Load] = {}
        for k in range(info.loads):
            load = lib.td_loads_load(handle, k)
            name = load.name.decode()
            self.loads[name] = Load(name, load.unit.decode(), load.effort, load.deviation, load.limited)
        #: Where the model puts the points, (points, 3) [m]; a view.
        self.fitted: Array = view(self, lib.td_loads_fitted(handle), (info.points, 3))

    def __getitem__(self, name: str) -> Load:
        return self.loads[name]

    def __repr__(self) -> str:
        told = ", ".join(f"{v.name} = {v.effort:.4g} +- {v.deviation:.2g} {v.unit}" for v in self.loads.values())
        return f"<tendril.Loads: {told}>"

    def write(self, folder: str | os.PathLike[str]) -> None:
        """loads.csv and points.csv."""
        self._write(lib.td_loads_write, folder)


def estimate(scene: SceneLike, measured: str | os.PathLike[str] | None = None, *, rest: Any = None, positions: Any = None,
             noise: float | None = None, body: str | None = None, rom: str | os.PathLike[str] | None = None, threads: int = 0,
             folder: str | os.PathLike[str] | None = None, progress: Progress = None) -> Loads:  # fmt: skip
    """Loads that explain a measured shape: efforts of the actuators of type force, cavity and cable that the scene's
    motion does not drive.

    measured: CSV file with x0, y0, z0, x, y, z of each point; or rest and positions, (points, 3) [m] each.
    noise: standard deviation of a measured coordinate [m]; None: from the residual. body: that the points are on.
    """
    watch, settings, what = td.Watch(progress), td.settings(threads=threads, rom=rom), lib.td_default_estimate()
    path = source(scene, settings, folder)
    if measured is None:
        if rest is None or positions is None:
            raise UsageError("give the file of measured points, or 'rest' and 'positions'")
        shape = np.shape(rest)
        if len(shape) != 2 or shape[1] != 3:
            raise UsageError(f"'rest' has the shape {shape}, and (points, 3) is expected")
        before, after = numbers(rest, shape, "'rest'"), numbers(positions, shape, "'positions'")
        what.n, what.rest, what.position = shape[0], address(before), address(after)
    what.measured, what.body, what.progress = _text(measured), _text(body), watch.function
    what.noise = math.nan if noise is None else noise
    return _study(Loads, watch, lib.td_loads_estimate, path, c.byref(what), c.byref(settings))


# ---------------------------------------------------------------- fits


@dataclass(frozen=True)
class Parameter:
    """A parameter of a law."""

    name: str
    unit: str  #: "Pa", or "" of a pure number
    value: float
    half: float  #: half of the 95 % interval; NaN: at a bound, or the data do not tell
    at_bound: bool


@dataclass(frozen=True)
class Fitted:
    """A law with its parameters."""

    name: str
    law: str
    terms: int
    fitted: bool
    reason: str  #: why it was not
    parameters: tuple[Parameter, ...]
    r2: float
    rms: float  #: error of the stress [Pa]
    worst: float
    aic: float  #: the least explains the data best for the number of its parameters
    young: float  #: at small strain [Pa]
    poisson: float
    converged: bool
    remarks: tuple[str, ...]
    material: str  #: for a scene: "law: ogden, terms: [...], poisson: 0.49"


class Fits(_Study):
    """What came of :func:`fit`: laws, the best first."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle, lib.td_fits_free)
        self.points: int = lib.td_fits_points(handle)
        self.laws: tuple[Fitted, ...] = tuple(self._law(k) for k in range(lib.td_fits_laws(handle)))

    def _law(self, k: int) -> Fitted:
        h, i = self._handle, lib.td_fits_law(self._handle, k)
        parameters = []
        for p in range(i.parameters):
            v = lib.td_fits_parameter(h, k, p)
            parameters.append(Parameter(v.name.decode(), "Pa" if v.modulus else "", v.value, v.half, v.at_bound))
        return Fitted(i.name.decode(), i.law.decode(), i.terms, not i.reason,
                      i.reason.contents.message.decode() if i.reason else "", tuple(parameters), i.r2, i.rms, i.worst,
                      i.aic, i.young, i.poisson, i.converged,
                      tuple(lib.td_fits_remark(h, k, r).decode() for r in range(i.remarks)),
                      i.material.decode())  # fmt: skip

    @property
    def best(self) -> Fitted:
        return self.laws[0]

    def stress(self, mode: str, stretch: Any, law: int = 0) -> Array:
        """Nominal stress [Pa] of a fitted law in a test, at stretches; NaN where it has no answer."""
        if not 0 <= law < len(self.laws):
            raise UsageError(f"there is no law {law}; there are {len(self.laws)}")
        if mode not in ("uniaxial", "biaxial", "planar", "shear"):
            raise UsageError(f"the mode is uniaxial, biaxial, planar or shear, not '{mode}'")
        x = np.asarray(stretch, float)
        return np.array([lib.td_fits_stress(self._handle, law, mode.encode(), v) for v in x.ravel()]).reshape(x.shape)

    def __repr__(self) -> str:
        return f"<tendril.Fits of {self.points} points: {self.best.name}, R^2 = {self.best.r2:.5f}>"

    def plot(self, path: str | os.PathLike[str]) -> None:
        """A picture: points and curves."""
        self._write(lib.td_fits_plot, path)


def fit(data: str | os.PathLike[str] | None = None, *, stretch: Any = None, stress: Any = None, mode: str | Sequence[str] | None = None,
        law: str = "all", terms: int = 0, poisson: float | None = None, relative: bool = False,
        progress: Progress = None) -> Fits:  # fmt: skip
    """Material laws from measured nominal stresses, by least squares.

    data: CSV file (mode, stretch, stress); or arrays stretch (in shear the amount of shear) and stress [Pa], with mode
    "uniaxial", "biaxial", "planar" or "shear", one for all or one a point.
    law: one by name, or all. terms: of Ogden's. poisson: of a compressible fit; None: incompressible.
    """
    watch, what = td.Watch(progress), lib.td_default_fits()
    if data is None:
        if stretch is None or stress is None:
            raise UsageError("give a file, or 'stretch' and 'stress'")
        x, y = np.atleast_1d(np.asarray(stretch, float)), np.atleast_1d(np.asarray(stress, float))
        if x.ndim != 1 or x.shape != y.shape:
            raise UsageError(f"'stretch' and 'stress' have the shapes {x.shape} and {y.shape}; both have to be (points,)")
        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
        what.n, what.stretch, what.stress = len(x), address(x), address(y)
        if mode is not None and not isinstance(mode, str):
            modes = [m.encode() for m in mode]
            if len(modes) != len(x):
                raise UsageError(f"there are {len(modes)} modes and {len(x)} points")
            what.modes = (c.c_char_p * (len(modes) or 1))(*modes)
    what.data, what.law, what.terms, what.relative = _text(data), law.encode(), terms, relative
    what.mode = mode.encode() if isinstance(mode, str) else None
    what.poisson, what.progress = math.nan if poisson is None else poisson, watch.function
    return _study(Fits, watch, lib.td_fits_make, c.byref(what))
