# SPDX-License-Identifier: Apache-2.0
"""States: what changes while a scene runs."""
from __future__ import annotations

import ctypes as c
import math
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _library as td
from ._library import UsageError, lib
from .model import Model
from .views import Array, address, numbers, view


class Actuation(NamedTuple):
    """What an actuator does. Bounds: -1 at the least, 1 at the most, else 0."""

    effort: float
    displacement: float
    effort_bound: int
    displacement_bound: int


class Wrench(NamedTuple):
    """A force [N] and its torque [N m] about a point [m]."""

    force: Array
    torque: Array
    point: Array


#: A point of contact of the last step: side 0 is pushed against the normal, side 1 along it; ``force`` [N] and
#: ``torque`` [N m, of torsional and rolling friction] are on side 1.
CONTACT = np.dtype(
    [("body", "<i4", 2), ("link", "<i4", 2), ("key", "<u8"), ("position", "<f8", 3), ("normal", "<f8", 3),
     ("distance", "<f8"), ("force", "<f8", 3), ("slip", "<f8", 3),
     ("torque", "<f8", 3)], align=True)  # fmt: skip

_step, _time, _steps = lib.td_step, lib.td_state_time, lib.td_state_steps


class Report:
    """What the last step did: the fields of ``tdReport``, e.g. ``newton_iterations``, ``contacts``, ``rom_indicator``."""

    __slots__ = ("_data",)

    def __init__(self, data: td.tdReport) -> None:
        self._data = data

    def __getattr__(self, name: str) -> Any:
        if name == "doubts":
            bits = self._data.doubts
            return tuple(lib.td_doubt_name(1 << k).decode() for k in range(16) if bits >> k & 1)
        if name == "stage_seconds":
            return {lib.td_stage_name(k).decode(): self._data.stage_seconds[k] for k in range(td.TD_STAGES)}
        value = getattr(self._data, name)
        return tuple(value) if isinstance(value, c.Array) else value

    def __dir__(self) -> list[str]:
        return [name for name, *_ in td.tdReport._fields_ if name != "error"]

    def __repr__(self) -> str:
        return f"<tendril.Report {', '.join(f'{n}={getattr(self, n)}' for n in dir(self) if getattr(self, n))}>"


class State(td.Held):
    """What changes while a scene runs: made by :meth:`Model.state`.

    Arrays that the engine holds are views without a copy; they are read-only, show what is now, and keep the state
    alive. Calls that compute release the GIL; two threads that use one state wait for each other.
    """

    def __init__(self, model: Model, threads: int = 1, _handle: int = 0, _owner: Any = None) -> None:
        self._handle, self._owner = 0, _owner
        self.model = model
        self._model = model._handle
        self._alone = threading.Lock() if _owner is None else _owner._alone
        if not _handle:
            settings = td.settings(threads=threads, portable=model._portable)
            handle, error = c.c_void_p(), td.tdError()
            td.check(lib.td_state_create(self._model, c.byref(settings), c.byref(handle), c.byref(error)), error)
            _handle = handle.value or 0
        self._handle = _handle
        self._pid = os.getpid()

    def __del__(self) -> None:
        # After a fork the threads of a pool are the parent's: joining them would never end.
        if getattr(self, "_handle", 0) and self._owner is None and self._pid == os.getpid():
            lib.td_state_free(self._handle)
            self._handle = 0

    def __repr__(self) -> str:
        return f"<tendril.State of {self.model.file} at {self.time:g} s>"

    # ------------------------------------------------------------ stepping

    @property
    def time(self) -> float:
        """[s]"""
        return _time(self._handle)

    @property
    def steps(self) -> int:
        """Steps taken."""
        return _steps(self._handle)

    def step(self, steps: int = 1) -> None:
        """Takes steps. Where one fails, :class:`NumericError` says why and the state is that before it."""
        if steps < 0:
            raise UsageError(f"{steps} steps cannot be taken; copy a state to come back to it, or reset() it")
        with self._alone:
            for _ in range(steps):
                if _step(self._model, self._handle):
                    self._fail()

    def _fail(self) -> None:
        report = lib.td_state_report(self._handle).contents
        td.interrupt(report.status)
        raise report.error.exception(report.status)

    @property
    def report(self) -> Report:
        """What the last step did; a copy."""
        return Report(td.tdReport.from_buffer_copy(lib.td_state_report(self._handle).contents))

    def render(self, width: int = 800, height: int = 600, **more: Any) -> Array:
        """A picture as an array, (height, width, 3) uint8; see :func:`tendril.pictures.render`."""
        from .pictures import render

        return render(self, width, height, **more)

    # ------------------------------------------------------------ inputs, targets

    def set_input(self, key: int | str, value: float | None) -> None:
        """Gives an input its value from now on, in SI; None hands it back to the scene's motion."""
        index = self.model.input(key)
        try:
            number = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            number = math.inf
        if value is not None and not math.isfinite(number):
            raise UsageError(f"input '{self.model.inputs[index]}' is {value!r}; give a finite number in SI units, or None "
                             "for the scene's motion")  # fmt: skip
        with self._alone:
            lib.td_state_set_input(self._model, self._handle, index, number)

    def set_inputs(self, values: Mapping[str, float | None] | Any) -> None:
        """Several inputs: by name, or all of them in the order of ``model.inputs``."""
        if isinstance(values, Mapping):
            for key, value in values.items():
                self.set_input(key, value)
            return
        for k, value in enumerate(numbers(values, (len(self.model.inputs),), "inputs").tolist()):
            self.set_input(k, value)

    def input(self, key: int | str) -> float:
        """Value that an input had in the last step."""
        return lib.td_state_input(self._model, self._handle, self.model.input(key))

    def set_target(self, key: int | str, target: Any | None) -> None:
        """Gives an effector a target: free actuators are then found by inverse control. None: the scene's, or none."""
        index = self.model._effect(key)
        rows = self.model.effectors[index].rows
        room = None
        if target is not None:
            room = np.zeros(3)
            room[:rows] = numbers(np.atleast_1d(np.asarray(target, float)), (rows,), "the target")
        with self._alone:
            if lib.td_state_set_target(self._model, self._handle, index, address(room)):
                raise UsageError(f"the target of '{self.model.effectors[index].name}' is not finite, or the integrator "
                                 "does not suit inverse control (use backward_euler or static)")  # fmt: skip

    def target(self, key: int | str) -> Array | None:
        """Its target in the last step; None: it had none."""
        index, room = self.model._effect(key), np.zeros(3)
        known = lib.td_state_target(self._model, self._handle, index, address(room))
        return room[: self.model.effectors[index].rows] if known else None

    def drive_tool(self, key: int | str, twist: Any | None) -> None:
        """Moves the target of a tool at (vx, vy, vz) [m/s] and (wx, wy, wz) [rad/s]; None: back to its inputs."""
        index = self.model._find("tool", self.model.tools, key)
        room = None if twist is None else numbers(twist, (6,), "the twist")
        with self._alone:
            if lib.td_state_drive_tool(self._model, self._handle, index, address(room)):
                raise UsageError("the twist is not finite")

    def tool(self, key: int | str) -> td.tdToolState:
        """Where a tool is: ``position``, ``rotation``, ``target``, ``error``, ..."""
        return lib.td_state_tool(self._model, self._handle, self.model._find("tool", self.model.tools, key))

    def set_spring(self, spring: int, body: int | str | None, nodes: Any = (), weights: Any = (), anchor: Any = (),
                   stiffness: float = 0.0) -> None:  # fmt: skip
        """Ties spring 0 to 7 from a point of a body (up to three nodes of one element, weights of sum 1) to an
        ``anchor`` [m] with a ``stiffness`` [N/m]; body None unties it."""
        given = None
        if body is not None:
            nodes, weights = list(nodes), list(weights)
            given = td.tdSpring(self.model.body(body), (c.c_int32 * 3)(*(nodes + nodes[:1] * 3)[:3]),
                                (c.c_double * 3)(*(weights + [0.0] * 3)[:3]),
                                (c.c_double * 3)(*numbers(anchor, (3,), "the anchor")), stiffness)  # fmt: skip
        with self._alone:
            if lib.td_state_set_spring(self._model, self._handle, spring, c.byref(given) if given else None):
                raise UsageError("the spring cannot be tied: a number makes no sense, the nodes share no element, or "
                                 "the body cannot move")  # fmt: skip

    # ------------------------------------------------------------ parameters

    def set_parameter(self, name: str, value: float, of: int | str | None = None) -> None:
        """Sets what this robot is, without compiling the scene again.

        name: "gravity_x", "gravity_y", "gravity_z" [m/s^2]; "friction", a factor on friction between bodies; "young",
            "mass", "damping", factors of a body; "offset", added to an input.
        of: the body or input it is about; may be left out where there is one.
        """
        parameter, index = _parameter(self.model, name, of)
        error = td.tdError()
        with self._alone:
            td.check(lib.td_state_set_parameter(self._model, self._handle, parameter, index, float(value),
                                                c.byref(error)), error)  # fmt: skip

    def parameter(self, name: str, of: int | str | None = None) -> float:
        """Its value."""
        return lib.td_state_parameter(self._model, self._handle, *_parameter(self.model, name, of))

    @property
    def gravity(self) -> Array:
        """[m/s^2]"""
        return np.array([self.parameter(f"gravity_{axis}") for axis in "xyz"])

    @gravity.setter
    def gravity(self, value: Any) -> None:
        for axis, number in zip("xyz", numbers(value, (3,), "gravity"), strict=True):
            self.set_parameter(f"gravity_{axis}", number)

    # ------------------------------------------------------------ where bodies are

    def coords(self, body: int | str = 0) -> Array:
        """Coordinates of a body, a view: 3 a node [m] of a soft one, amplitudes of a reduced one, of joints."""
        b = self.model.body(body)
        return view(self, lib.td_state_coords(self._model, self._handle, b), (self.model.bodies[b].coords,))

    def rates(self, body: int | str = 0) -> Array:
        """Their rates, a view [1/s]."""
        b = self.model.body(body)
        return view(self, lib.td_state_rates(self._model, self._handle, b), (self.model.bodies[b].coords,))

    def turns(self, body: int | str = 0) -> Array:
        """Reference rotations of a body, (n, 4) unit quaternions w, x, y, z, that rotations among its coordinates are
        counted from. A view."""
        b = self.model.body(body)
        return view(self, lib.td_state_turns(self._model, self._handle, b), (self.model.bodies[b].turns // 4, 4))

    def set_coords(self, body: int | str = 0, coords: Any = None, rates: Any = None, turns: Any = None) -> None:
        """Places a body; what is not given stays. Held coordinates cannot be moved."""
        b = self.model.body(body)
        info, error = self.model.bodies[b], td.tdError()
        q = None if coords is None else numbers(coords, (info.coords,), "coords")
        v = None if rates is None else numbers(rates, (info.coords,), "rates")
        t = None if turns is None else numbers(turns, (info.turns // 4, 4), "turns")
        with self._alone:
            td.check(lib.td_state_set_coords(self._model, self._handle, b, address(q), address(v), address(t),
                                             c.byref(error)), error)  # fmt: skip

    def joints(self, body: int | str = 0) -> Array:
        """Positions of all joints of a body [rad, m]."""
        return self._joints(body, True)

    def joint_rates(self, body: int | str = 0) -> Array:
        """Rates of all joints of a body [rad/s, m/s]."""
        return self._joints(body, False)

    def _joints(self, body: int | str, positions: bool) -> Array:
        b, value = self.model.body(body), c.c_double()
        out = np.empty(len(self.model.bodies[b].joints))
        place = (c.byref(value), None) if positions else (None, c.byref(value))
        for j in range(len(out)):
            lib.td_state_joint(self._model, self._handle, b, j, *place)
            out[j] = value.value
        return out

    def set_joints(self, body: int | str = 0, positions: Any = None, rates: Any = None) -> None:
        """Sets all joints of a body; what is not given stays."""
        b, error = self.model.body(body), td.tdError()
        n = len(self.model.bodies[b].joints)
        q = None if positions is None else numbers(positions, (n,), "positions")
        v = None if rates is None else numbers(rates, (n,), "rates")
        with self._alone:
            td.check(lib.td_state_set_joints(self._model, self._handle, b, address(q), address(v), c.byref(error)),
                     error)  # fmt: skip

    def positions(self, body: int | str = 0) -> Array:
        """Nodes of a body, (nodes, 3) [m]. A view; of a reduced body it shows the state at the last call of this."""
        b = self.model.body(body)
        with self._alone:
            return view(self, lib.td_state_positions(self._model, self._handle, b), (self.model.bodies[b].nodes, 3))

    def velocities(self, body: int | str = 0) -> Array:
        """Velocities of its nodes, (nodes, 3) [m/s]. A view, likewise."""
        b = self.model.body(body)
        with self._alone:
            return view(self, lib.td_state_velocities(self._model, self._handle, b), (self.model.bodies[b].nodes, 3))

    # ------------------------------------------------------------ what is measured

    def probe(self, key: int | str = 0) -> Array:
        """Position of a probe, (3,) [m]."""
        out = np.empty(3)
        lib.td_state_probe(self._model, self._handle, self.model._probe(key), address(out))
        return out

    def effector(self, key: int | str = 0) -> Array:
        """Value of an effector, (3,) or (1,)."""
        index, out = self.model._effect(key), np.zeros(3)
        lib.td_state_effector(self._model, self._handle, index, address(out))
        return out[: self.model.effectors[index].rows]

    def actuation(self, key: int | str) -> Actuation:
        """Effort and displacement of an actuator."""
        a = lib.td_state_actuation(self._model, self._handle, self.model._act(key))
        return Actuation(a.effort, a.displacement, a.effort_bound, a.displacement_bound)

    def reaction(self, body: int | str = 0) -> Array:
        """Force of supports on a body, (3,) [N]."""
        out = np.empty(3)
        lib.td_state_reaction(self._model, self._handle, self.model.body(body), address(out))
        return out

    def contacts(self) -> Array:
        """Points of contact of the last step, a structured array (:data:`CONTACT`); a copy."""
        pointer = c.c_void_p()
        n = lib.td_state_contacts(self._handle, c.byref(pointer))
        if n == 0:
            return np.zeros(0, CONTACT)
        return np.frombuffer(c.string_at(pointer.value or 0, n * CONTACT.itemsize), CONTACT)

    def contact_force(self, a: int | str, b: int | str) -> Array:
        """Sum of the contact forces on body b by body a in the last step, (3,) [N]."""
        out = np.zeros(3)
        lib.td_state_contact_force(self._handle, self.model.body(a), self.model.body(b), address(out))
        return out

    def contact_wrench(self, a: int | str, b: int | str, about: Any = (0, 0, 0)) -> Wrench:
        """The same with its torque about a place."""
        out = Wrench(np.zeros(3), np.zeros(3), numbers(about, (3,), "the place").copy())
        lib.td_state_contact_wrench(self._handle, self.model.body(a), self.model.body(b), address(out.point),
                                    address(out.force), address(out.torque))  # fmt: skip
        return out

    def attachment_force(self, key: int | str) -> Wrench:
        """What side a of an attachment feels in the last step."""
        out = Wrench(np.zeros(3), np.zeros(3), np.zeros(3))
        index = self.model._find("attachment", self.model.attachments, key)
        lib.td_state_attachment_force(self._handle, index, address(out.force), address(out.torque), address(out.point))
        return out

    def coupling_effort(self, key: int | str) -> float:
        """Effort of a coupling in the last step [N, N m]."""
        return lib.td_state_coupling_effort(self._handle, self.model._find("coupling", self.model.couplings, key))

    def sensor(self, key: int | str) -> Array:
        """What a sensor measured in the last step: the values of ``model.sensors[...].columns``."""
        index, out = self.model._find("sensor", self.model._sensor_names, key), np.zeros(6)
        return out[: lib.td_state_sensor(self._model, self._handle, index, address(out))]

    def energy(self) -> tuple[float, float]:
        """Kinetic and elastic energy [J]."""
        kinetic, elastic = c.c_double(), c.c_double()
        with self._alone:
            lib.td_state_energy(self._model, self._handle, c.byref(kinetic), c.byref(elastic))
        return kinetic.value, elastic.value

    def hash(self) -> int:
        """A number that stands for every bit of the state."""
        with self._alone:
            return lib.td_state_hash(self._model, self._handle)

    # ------------------------------------------------------------ as a value

    def reset(self) -> None:
        """Back to the start of the scene; parameters stay."""
        error = td.tdError()
        with self._alone:
            td.check(lib.td_state_reset(self._model, self._handle, c.byref(error)), error)

    def copy(self) -> State:
        """Another state that goes on to the same bits."""
        return State(self.model).assign(self)

    _instead = "; send its to_bytes(), and from_bytes() of a state of the same scene takes them"
    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.copy()

    def assign(self, other: State) -> State:
        """Becomes what ``other`` is, a state of the same model. Returns itself."""
        if other.model is not self.model:
            raise UsageError("the two states are of different models")
        if other is self or other._handle == self._handle:
            return self
        error = td.tdError()
        first, second = sorted({self._alone, other._alone}, key=id)[0], sorted({self._alone, other._alone}, key=id)[-1]
        with first:
            if second is not first:
                second.acquire()
            try:
                td.check(lib.td_state_copy(self._model, self._handle, other._handle, c.byref(error)), error)
            finally:
                if second is not first:
                    second.release()
        return self

    def to_bytes(self) -> bytes:
        """All of it, for :meth:`from_bytes` of a state of the same scene and version, in this process or another."""
        size, error = lib.td_state_size(self._model, self._handle), td.tdError()
        room = np.empty((size + 7) // 8, np.uint64)
        with self._alone:
            td.check(lib.td_state_write(self._model, self._handle, address(room), size, c.byref(error)), error)
        return room.tobytes()[:size]

    def from_bytes(self, data: bytes) -> State:
        """Becomes what :meth:`to_bytes` wrote. Returns itself."""
        room, error = np.frombuffer(data, np.uint8).copy(), td.tdError()
        with self._alone:
            td.check(lib.td_state_read(self._model, self._handle, address(room), len(room), c.byref(error)), error)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a checkpoint."""
        error = td.tdError()
        with self._alone:
            td.check(lib.td_state_save(self._model, self._handle, os.fsencode(path), c.byref(error)), error)

    def load(self, path: str | os.PathLike[str]) -> State:
        """Becomes what a checkpoint of the same scene holds. Returns itself."""
        error = td.tdError()
        with self._alone:
            td.check(lib.td_state_load(self._model, self._handle, os.fsencode(path), c.byref(error)), error)
        return self


def _parameter(model: Model, name: str, of: int | str | None) -> tuple[int, int]:
    """Number of a parameter and the index it takes."""
    if name not in td.PARAMETERS:
        raise UsageError(f"there is no parameter '{name}'; there are: {', '.join(td.PARAMETERS)}")
    if name == "offset":
        return td.PARAMETERS.index(name), model.input(of if of is not None else _only(model.inputs, "input", name))
    if name in ("young", "mass", "damping"):
        movable = [b.name for b in model.bodies if b.kind != "articulated"]
        return td.PARAMETERS.index(name), model.body(of if of is not None else _only(movable, "body", name))
    if of is not None:
        raise UsageError(f"the parameter '{name}' is of the whole scene, not of '{of}'")
    return td.PARAMETERS.index(name), 0


def _only(names: Sequence[str], what: str, name: str) -> str:
    if len(names) != 1:
        raise UsageError(f"which {what} is the parameter '{name}' about? Say of=...: {', '.join(names) or 'none'}")
    return names[0]
