# SPDX-License-Identifier: Apache-2.0
"""Compiled scenes."""
from __future__ import annotations

import ctypes as c
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _library as td
from ._library import UsageError, lib
from .scene import Scene
from .views import Array, address, view

if TYPE_CHECKING:
    from .batch import Batch
    from .state import State


@dataclass(frozen=True)
class Actuator:
    """An actuator of the scene. Effort times change of displacement is work done on the body."""

    name: str
    kind: str  #: "cable", "cavity", "force", "translation", "rotation", "joint", ...
    drive: str  #: what its input is: "effort", "displacement", "gas", ...
    effort_unit: str  #: "N", "Pa", "N m"
    displacement_unit: str  #: "m", "m^3", "rad"
    input: int  #: index of its input
    driven: bool  #: by the scene's motion; else free for inverse control
    effort: tuple[float, float]  #: least and most; infinite where unlimited
    displacement: tuple[float, float]
    gas: tuple[float, float]
    effort_rate: float  #: most change in a second
    displacement_rate: float

    @property
    def range(self) -> tuple[float, float]:
        """Least and most of its input, in the unit of what drives it."""
        return self.effort if self.drive == "effort" else self.gas if self.drive == "gas" else self.displacement


@dataclass(frozen=True)
class Effector:
    """What inverse control brings to a target."""

    name: str
    kind: str  #: "position", "orientation", "direction", "volume", "length"
    unit: str
    rows: int  #: numbers of its value: 3, or 1


@dataclass(frozen=True)
class Sensor:
    """A sensor of the scene."""

    name: str
    kind: str  #: "force_torque", "touch", "inertial", "joint"
    columns: tuple[str, ...]  #: "force_x", ...
    units: tuple[str, ...]


@dataclass(frozen=True)
class Joint:
    """A joint with one coordinate."""

    name: str
    link: str  #: that it carries
    slides: bool  #: position in metres; else in radians
    start: float


@dataclass(frozen=True)
class Body:
    """A body of the scene."""

    name: str
    kind: str  #: "soft", "reduced", "articulated"
    nodes: int
    elements: int
    coords: int  #: numbers that its motion is described by
    turns: int  #: numbers of its reference rotations, 4 each; mostly 0
    mass: float  #: [kg]; 0: nothing of it moves by itself
    joints: tuple[Joint, ...]


def _pair(two: Any) -> tuple[float, float]:
    return two[0], two[1]


class Model(td.Held):
    """A compiled scene. It never changes; states, batches and views keep it alive.

    >>> model = tendril.Model("finger.yaml")
    >>> model = tendril.Model({"tendril": 1, "time_step": 0.01, "bodies": [...]})

    scene: path of a scene file, or a scene as a dictionary with the same keys (numbers in SI or in the scene's
        ``units``; texts such as "450 kPa" as in a file), or a :class:`Scene`. Mistakes raise :class:`InputError` with
        file, line and field.
    rom: reduced model of one of its bodies, made by :func:`tendril.reduce`.
    full_order: leave out reduced models that the scene itself names.
    rom_whole: with it, integrate over all elements instead of the reduced domain.
    folder: of a dictionary, where relative paths of meshes begin; else the current one.
    portable: kernels that give the same bits on any machine.
    packages: where package://NAME/... of robots is, "NAME=FOLDER:...".
    """

    def __init__(self, scene: str | os.PathLike[str] | Mapping[str, Any] | Scene, *, rom: str | os.PathLike[str] | None = None,
                 rom_whole: bool = False, full_order: bool = False, folder: str | os.PathLike[str] | None = None, portable: bool = False,
                 packages: str | None = None) -> None:  # fmt: skip
        self._handle = 0
        self._portable, self._rom = portable, rom
        settings = td.settings(rom=rom, portable=portable, rom_whole=rom_whole, packages=packages,
                               full_order=full_order)  # fmt: skip
        handle, error = c.c_void_p(), td.tdError()
        if isinstance(scene, Mapping):
            scene = Scene(scene, folder=folder)
        if isinstance(scene, Scene):
            self.file = scene.name
            status = lib.td_build_model(scene._handle, c.byref(settings), c.byref(handle), c.byref(error))
        else:
            self.file = os.fspath(scene)
            status = lib.td_model_load(os.fsencode(scene), c.byref(settings), c.byref(handle), c.byref(error))
        td.check(status, error)
        self._handle = handle.value or 0
        self._list()

    @classmethod
    def from_text(cls, text: str, *, name: str = "text", folder: str | os.PathLike[str] | None = None,
                  rom: str | os.PathLike[str] | None = None, portable: bool = False) -> Model:  # fmt: skip
        """A scene from YAML text. ``name`` stands for the file in messages."""
        self = cls.__new__(cls)
        self._handle, self._portable, self._rom, self.file = 0, portable, rom, name
        settings = td.settings(rom=rom, portable=portable)
        handle, error, data = c.c_void_p(), td.tdError(), text.encode()
        td.check(lib.td_model_parse(data, len(data), name.encode(), os.fsencode(folder) if folder else None,
                                    c.byref(settings), c.byref(handle), c.byref(error)), error)  # fmt: skip
        self._handle = handle.value or 0
        self._list()
        return self

    def _list(self) -> None:
        h = self._handle
        self.time_step: float = lib.td_model_time_step(h)  #: [s]
        self.steps: int = lib.td_model_steps(h)  #: that the scene asks for
        self.dofs: int = lib.td_model_dofs(h)  #: free coordinates of all bodies
        self.size: float = lib.td_model_size(h)  #: largest extent of a body at rest [m]
        self.bodies: tuple[Body, ...] = tuple(self._body(b) for b in range(lib.td_model_bodies(h)))
        self.inputs: tuple[str, ...] = tuple(
            lib.td_model_input_name(h, i).decode() for i in range(lib.td_model_inputs(h))
        )
        self.probes: tuple[str, ...] = tuple(
            lib.td_model_probe_name(h, i).decode() for i in range(lib.td_model_probes(h))
        )
        self.actuators: tuple[Actuator, ...] = tuple(self._actuator(a) for a in range(lib.td_model_actuators(h)))
        self.effectors: tuple[Effector, ...] = tuple(self._effector(e) for e in range(lib.td_model_effectors(h)))
        self.tools: tuple[str, ...] = tuple(lib.td_model_tool(h, i).name.decode() for i in range(lib.td_model_tools(h)))
        self.attachments: tuple[str, ...] = tuple(
            (lib.td_model_attachment_name(h, i) or b"").decode() for i in range(lib.td_model_attachments(h))
        )
        self.couplings: tuple[str, ...] = tuple(
            (lib.td_model_coupling_name(h, i) or b"").decode() for i in range(lib.td_model_couplings(h))
        )

        self.sensors: tuple[Sensor, ...] = tuple(self._sensor(i) for i in range(lib.td_model_sensors(h)))
        self._sensor_names = tuple(s.name for s in self.sensors)
        self._body_names = tuple(b.name for b in self.bodies)
        self._actuator_names = tuple(a.name for a in self.actuators)
        self._effector_names = tuple(e.name for e in self.effectors)
        lists = {"body": self._body_names, "input": self.inputs, "probe": self.probes, "tool": self.tools,
                 "actuator": self._actuator_names, "effector": self._effector_names, "attachment": self.attachments,
                 "coupling": self.couplings, "sensor": self._sensor_names}  # fmt: skip
        self._index = {(what, name): k for what, names in lists.items() for k, name in enumerate(names)}

    def _body(self, b: int) -> Body:
        h = self._handle
        joints = []
        for j in range(lib.td_model_joints(h, b)):
            info = lib.td_model_joint(h, b, j)
            joints.append(Joint(info.name.decode(), info.link.decode(), info.slides, info.start))
        return Body(lib.td_model_body_name(h, b).decode(), lib.td_model_body_kind(h, b).decode(),
                    lib.td_model_body_nodes(h, b), lib.td_model_body_elements(h, b), lib.td_model_body_coords(h, b),
                    lib.td_model_body_turns(h, b), lib.td_model_body_mass(h, b), tuple(joints))  # fmt: skip

    def _actuator(self, a: int) -> Actuator:
        i = lib.td_model_actuator(self._handle, a)
        return Actuator(i.name.decode(), i.kind.decode(), i.drive.decode(), i.effort_unit.decode(),
                        i.displacement_unit.decode(), i.input, i.driven, _pair(i.effort), _pair(i.displacement),
                        _pair(i.gas), i.effort_rate, i.displacement_rate)  # fmt: skip

    def _sensor(self, s: int) -> Sensor:
        i = lib.td_model_sensor(self._handle, s)
        texts = [tuple(t.decode() for t in list(column)[: i.values]) for column in (i.columns, i.units)]
        return Sensor(i.name.decode(), i.kind.decode(), *texts)

    def _effector(self, e: int) -> Effector:
        i = lib.td_model_effector(self._handle, e)
        return Effector(i.name.decode(), i.kind.decode(), i.unit.decode(), i.rows)

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            lib.td_model_free(self._handle)
            self._handle = 0

    def __repr__(self) -> str:
        return f"<tendril.Model {self.file}: {len(self.bodies)} bodies, {self.dofs} dofs, {len(self.inputs)} inputs>"

    _instead = "; send the path of its scene, or the Scene, and states by State.to_bytes()"

    def __copy__(self) -> Model:
        return self  # it never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self

    # ------------------------------------------------------------ names

    def _find(self, what: str, names: Sequence[str], key: int | str) -> int:
        if isinstance(key, str):
            try:
                return self._index[what, key]
            except KeyError:
                raise UsageError(f"there is no {what} '{key}'; there are: {', '.join(names) or 'none'}") from None
        index = key.__index__()
        if not 0 <= index < len(names):
            raise UsageError(f"there is no {what} {index}; there are {len(names)}")
        return index

    def body(self, key: int | str) -> int:
        """Index of a body by its name."""
        return self._find("body", self._body_names, key)

    def input(self, key: int | str) -> int:
        """Index of an input by its name."""
        return self._find("input", self.inputs, key)

    def _probe(self, key: int | str) -> int:
        return self._find("probe", self.probes, key)

    def _act(self, key: int | str) -> int:
        return self._find("actuator", self._actuator_names, key)

    def _effect(self, key: int | str) -> int:
        return self._find("effector", self._effector_names, key)

    def actuator(self, key: int | str) -> Actuator:
        """An actuator by its name."""
        return self.actuators[self._act(key)]

    # ------------------------------------------------------------ shapes

    def rest(self, body: int | str = 0) -> Array:
        """Nodes of a body at rest, (nodes, 3) [m]. A view."""
        b = self.body(body)
        return view(self, lib.td_model_body_rest(self._handle, b), (self.bodies[b].nodes, 3))

    def triangles(self, body: int | str = 0) -> Array:
        """Triangles of its surface, (triangles, 3) nodes, outward. A view."""
        b, pointer = self.body(body), c.c_void_p()
        count = lib.td_model_body_triangles(self._handle, b, c.byref(pointer))
        return view(self, pointer.value, (count, 3), "<i4")

    # ------------------------------------------------------------ what it makes

    def state(self, threads: int = 1) -> State:
        """A state at the start of the scene."""
        from .state import State

        return State(self, threads=threads)

    def render(self, width: int = 800, height: int = 600, **more: Any) -> Array:
        """A picture of the scene at its start, (height, width, 3) uint8; see :func:`tendril.pictures.render`."""
        return self.state().render(width, height, **more)

    def view(self, **more: Any) -> Any:
        """Opens the scene in the viewer, where it comes from a file; see :func:`tendril.view`."""
        from .pictures import view as open_viewer

        if not os.path.exists(self.file):
            raise UsageError("the viewer shows scene files; save the scene first (Scene.save), and open that")
        return open_viewer(self.file, rom=self._rom, **more)

    def batch(self, robots: int, **more: Any) -> Batch:
        """Many robots at once; see :class:`tendril.Batch`."""
        from .batch import Batch

        return Batch(self, robots, **more)

    def outputs(self, names: Sequence[str]) -> Outputs:
        """What is to be read of states of this model, by names; see :class:`tendril.Outputs`."""
        return Outputs(self, names)


class Outputs(td.Held):
    """Numbers that are read of a state, by name.

    ::

        time                      probe:NAME             3 [m]      effector:NAME        1 or 3
        input:NAME                effort:ACTUATOR                   displacement:ACTUATOR
        reaction:BODY    3 [N]    contact:A,B            3 [N], on B by A
        joint:BODY,JOINT          joint_rate:BODY,JOINT             coords:BODY, rates:BODY, positions:BODY
        kinetic, elastic [J]      contacts, penetration [m]         indicator, rom_error
        sensor:NAME               all of its values

    >>> outputs = model.outputs(["probe:tip", "effort:north"])
    >>> row = outputs.read(state)
    >>> row[outputs.slices["probe:tip"]]
    """

    def __init__(self, model: Model, names: Sequence[str], _handle: int = 0) -> None:
        self._handle, self._owned = 0, False
        if isinstance(names, str):
            raise UsageError("give a list of names of outputs, not one text")
        self.model, self.names = model, tuple(names)
        if not _handle:
            handle, error = c.c_void_p(), td.tdError()
            td.check(lib.td_outputs_create(model._handle, len(self.names), _texts(self.names), c.byref(handle),
                                           c.byref(error)), error)  # fmt: skip
            _handle, self._owned = handle.value or 0, True
        self._handle = _handle
        #: Numbers of all outputs together.
        self.width: int = lib.td_outputs_width(_handle)
        #: Where the numbers of each output are.
        self.slices: dict[str, slice] = {}
        self.units: dict[str, str] = {}
        for k, name in enumerate(self.names):
            info = lib.td_outputs_info(_handle, k)
            self.slices[name] = slice(info.first, info.first + info.count)
            self.units[name] = info.unit.decode()

    def __del__(self) -> None:
        if getattr(self, "_owned", False) and self._handle:
            lib.td_outputs_free(self._handle)

    def read(self, state: State, out: Array | None = None) -> Array:
        """All numbers of a state, (width,), into ``out`` where it is given."""
        if state.model is not self.model:
            raise UsageError("the outputs are of another model than the state")
        if out is None:
            out = np.empty(self.width)
        elif out.shape != (self.width,) or out.dtype != np.float64 or not out.flags.writeable:
            raise UsageError(f"'out' has to be a writable array of {self.width} doubles")
        with state._alone:
            lib.td_outputs_read(self._handle, self.model._handle, state._handle, address(out), out.strides[0] // 8)
        return out


def _texts(names: Sequence[str]) -> Any:
    return (c.c_char_p * (len(names) or 1))(*[n.encode() for n in names])
