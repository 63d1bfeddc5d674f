# SPDX-License-Identifier: Apache-2.0
"""Many robots of one model at once."""
from __future__ import annotations

import ctypes as c
import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _library as td
from ._library import UsageError, lib
from .model import Model, Outputs, _texts
from .state import State, _parameter
from .views import Array, Device, address, count, doubles, mask_of, numbers, on_gpu

_DEVICES = {"cpu": 0, "gpu": 1}
_PRECISIONS = {"split": 0, "half": 1, "single": 2}


class Batch(td.Held):
    """Robots of one model, stepped by all cores in one call.

    Each robot comes to the same bits as it would alone, whatever the number of robots and threads. One that fails
    stops, ``status`` says so, and the others go on.

    >>> batch = tendril.Batch(model, 1024, outputs=["probe:tip"])
    >>> tips = batch.rollout(inputs)            # inputs (robots, rows, inputs) -> (robots, rows, width)

    model: what they are robots of.
    robots: how many.
    inputs: names of what rows of inputs hold; all inputs of the model unless said otherwise.
    outputs: names of what is read; see :class:`tendril.Outputs`.
    threads: 0 takes all cores.
    device: "cpu", or "gpu" (docs/gpu.md says what runs there; anything else is refused with the reason).
    gpu: file of the GPU's back end; otherwise libtendril_gpu.so beside the library, or where the system looks.
    precision: of tangents on the GPU: "split" (as good as single precision), "half" (one pass, faster, less exact) or
        "single" (without matrix units, slow).
    log: warnings of single robots go to the logger "tendril"; else outputs tell ("indicator", "penetration", ...).
    """

    def __init__(self, model: Model, robots: int, *, inputs: Sequence[str] | None = None, outputs: Sequence[str] = (),
                 threads: int = 0, log: bool = False, device: str = "cpu", gpu: str | os.PathLike[str] | None = None,
                 precision: str = "split") -> None:  # fmt: skip
        self._handle = 0
        self.model, self.robots = model, count(robots, "the number of robots")
        if device not in _DEVICES or precision not in _PRECISIONS:
            raise UsageError(f"device is one of {', '.join(_DEVICES)} and precision one of {', '.join(_PRECISIONS)}, "
                             f"not {device!r} and {precision!r}")  # fmt: skip
        if device == "cpu" and (gpu is not None or precision != "split"):
            raise UsageError("'gpu' and 'precision' are for device='gpu'")
        settings = td.settings(threads=threads, portable=model._portable, quiet=not log)
        settings.device, settings.rom_precision = _DEVICES[device], _PRECISIONS[precision]
        settings.gpu = os.fsencode(gpu) if gpu is not None else None
        #: Where the robots are.
        self.device = device
        handle, error = c.c_void_p(), td.tdError()
        td.check(lib.td_batch_create(model._handle, c.byref(settings), self.robots, c.byref(handle), c.byref(error)),
                 error)  # fmt: skip
        self._handle, self._pid, self._alone = handle.value or 0, os.getpid(), threading.Lock()
        #: By robot: 0, or the status that it stopped with.
        self.status = np.zeros(self.robots, np.int32)
        #: By robot: steps that it took in the last call.
        self.taken = np.zeros(self.robots, np.int32)
        self.inputs: tuple[str, ...] = model.inputs
        if inputs is not None:
            self.choose_inputs(inputs)
        self.choose_outputs(outputs)

    def __del__(self) -> None:
        if getattr(self, "_handle", 0) and self._pid == os.getpid():
            lib.td_batch_free(self._handle)
            self._handle = 0

    _instead = "; send what its write() gives, and read() of a batch of the same scene takes it"

    def __len__(self) -> int:
        return self.robots

    def __repr__(self) -> str:
        return f"<tendril.Batch of {self.robots} x {self.model.file}>"

    def choose_inputs(self, names: Sequence[str | int]) -> None:
        """What rows of inputs hold, in this order."""
        if isinstance(names, str):
            raise UsageError("give a list of names of inputs, not one text")
        index, error = [self.model.input(n) for n in names], td.tdError()
        td.check(lib.td_batch_choose_inputs(self._handle, len(index), (c.c_int * (len(index) or 1))(*index),
                                            c.byref(error)), error)  # fmt: skip
        self.inputs = tuple(self.model.inputs[i] for i in index)

    def choose_outputs(self, names: Sequence[str]) -> None:
        """What is read of each robot; see :class:`tendril.Outputs`."""
        if isinstance(names, str):
            raise UsageError("give a list of names of outputs, not one text")
        names, error = tuple(names), td.tdError()
        td.check(lib.td_batch_choose_outputs(self._handle, len(names), _texts(names), c.byref(error)), error)
        self.outputs = Outputs(self.model, names, _handle=lib.td_batch_outputs(self._handle))

    @property
    def width(self) -> int:
        """Numbers in a row of outputs."""
        return self.outputs.width

    @property
    def slices(self) -> dict[str, slice]:
        """Where each output is in a row."""
        return self.outputs.slices

    @property
    def failed(self) -> Array:
        """By robot: whether it has stopped. :meth:`error` says why."""
        return self.status != 0

    def error(self, robot: int) -> td.Error | None:
        """Why a robot stopped; None: it has not."""
        why = lib.td_batch_error(self._handle, self._robot(robot)).contents
        return why.exception() if why.status else None

    def _robot(self, robot: int) -> int:
        robot = robot.__index__()
        if not 0 <= robot < self.robots:
            raise UsageError(f"there is no robot {robot}; they are 0 to {self.robots - 1}")
        return robot

    def state(self, robot: int) -> State:
        """The state of a robot, to be read and set between calls. It keeps the batch alive.

        On a GPU it is a copy, good until the next call of the batch, and what is set there reaches no robot.
        """
        handle = lib.td_batch_state(self._handle, self._robot(robot))
        if not handle:
            raise td.NumericError("the GPU has failed; make the batch anew")
        return State(self.model, _handle=handle, _owner=self)

    # ------------------------------------------------------------ stepping

    def rollout(self, inputs: Any = None, *, rows: int | None = None, hold: int = 1, mask: Any = None,
                out: Array | None = None) -> Array:  # fmt: skip
        """Takes ``rows`` x ``hold`` steps and returns the outputs after each row, (robots, rows, width).

        inputs: (robots, rows, inputs), or (rows, inputs) for all robots alike; in any memory order, without a copy
            where they are doubles. NaN is the scene's motion. None: inputs stay as they are.
        hold: steps that each row is held for.
        mask: robots that take part: booleans or indices.
        out: where outputs go, (robots, rows, width); rows of robots that have stopped become NaN.

        On a GPU both may be arrays of another library in the GPU's memory (``__dlpack__``: PyTorch, CuPy, JAX, ...), of
        doubles; then both have to be, nothing is copied, and outputs are there when the call returns.

        Each robot takes all its steps before the next one does, which keeps it in the cache. After Ctrl-C each is after
        some whole step, and ``taken`` says how many it took.
        """
        n, width, hold = len(self.inputs), self.width, count(hold, "hold")
        rows = None if rows is None else count(rows, "rows")
        if on_gpu(inputs) or on_gpu(out):
            return self._rollout_there(inputs, rows, hold, mask, out)
        given = None
        if inputs is not None:
            given = self._doubles(inputs, "inputs")
            shape = given.shape
            if given.ndim == 2:
                given = np.broadcast_to(given, (self.robots, *given.shape))
            if given.ndim != 3 or given.shape[0] != self.robots or given.shape[2] != n:
                raise UsageError(f"inputs have the shape {shape}, and (robots, rows, inputs) = "
                                 f"({self.robots}, rows, {n}) is expected")  # fmt: skip
            if rows is not None and rows != given.shape[1]:
                raise UsageError(f"there are {given.shape[1]} rows of inputs, and rows = {rows}")
            rows = given.shape[1]
        rows = 1 if rows is None else rows
        if rows < 0 or hold < 1:
            raise UsageError(f"a rollout of {rows} rows with {hold} steps each")
        chosen = mask_of(mask, self.robots)
        if out is None:
            out = np.full((self.robots, rows, width), np.nan) if chosen is not None else np.empty((self.robots, rows, width))
        elif out.shape != (self.robots, rows, width) or out.dtype != np.float64 or not out.flags.writeable:
            raise UsageError(f"'out' has to be a writable array of doubles, ({self.robots}, {rows}, {width})")
        plan = td.tdRollout(hold=hold, mask=address(chosen), status=address(self.status), steps=address(self.taken))
        plan.rows = rows
        if given is not None:
            plan.inputs = _span(given)
        if width > 0:
            plan.outputs = _span(out)
        self.taken[:] = 0
        with self._alone:
            self._roll(plan)
        return out

    def _rollout_there(self, inputs: Any, rows: int | None, hold: int, mask: Any, out: Any) -> Any:
        if self.device != "gpu":
            raise UsageError("the arrays are in the memory of a GPU, and the robots are not: make the batch with "
                             "device='gpu', or copy them")  # fmt: skip
        if (inputs is not None and not on_gpu(inputs)) or (self.width > 0 and not on_gpu(out)):
            raise UsageError("inputs and 'out' have to be both in the memory of the GPU, or neither")
        chosen, given, seen = mask_of(mask, self.robots), None, None
        plan = td.tdRollout(hold=hold, mask=address(chosen), status=address(self.status), steps=address(self.taken))
        if inputs is not None:
            given = Device(inputs, "inputs")
            wanted = (self.robots, given.shape[1] if rows is None and len(given.shape) == 3 else rows, len(self.inputs))
            if given.shape != wanted:
                raise UsageError(f"inputs have the shape {given.shape}, and (robots, rows, inputs) = "
                                 f"({self.robots}, rows, {len(self.inputs)}) is expected")  # fmt: skip
            rows = given.shape[1]
            plan.inputs = td.tdSpan(given.address, *given.strides)
        rows = 1 if rows is None else rows
        if rows < 0 or hold < 1:
            raise UsageError(f"a rollout of {rows} rows with {hold} steps each")
        if self.width > 0:
            seen = Device(out, "outputs")
            if seen.shape != (self.robots, rows, self.width):
                raise UsageError(f"'out' has the shape {seen.shape}, and ({self.robots}, {rows}, {self.width}) is expected")
            plan.outputs = td.tdSpan(seen.address, *seen.strides)
        plan.rows, plan.on_device = rows, True
        self.taken[:] = 0
        with self._alone:
            self._roll(plan)
        return out

    def step(self, inputs: Any = None, *, hold: int = 1, mask: Any = None, out: Array | None = None) -> Array:
        """One row: inputs (robots, inputs) or (inputs,) -> outputs (robots, width)."""
        if inputs is not None:
            inputs = self._doubles(inputs, "inputs")
            if inputs.shape not in ((self.robots, len(self.inputs)), (len(self.inputs),)):
                raise UsageError(f"inputs have the shape {inputs.shape}, and ({self.robots}, {len(self.inputs)}) is "
                                 "wanted")  # fmt: skip
            inputs = inputs[..., None, :]
        if out is not None:
            if out.shape != (self.robots, self.width):
                raise UsageError(f"'out' has the shape {out.shape}, and ({self.robots}, {self.width}) is expected")
            out = out[:, None, :]
        return self.rollout(inputs, hold=hold, mask=mask, out=out, rows=1)[:, 0, :]

    @staticmethod
    def _doubles(value: Any, what: str) -> Array:
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            try:
                value = np.from_dlpack(value)  # of another library, where it lies
            except (TypeError, ValueError, BufferError, RuntimeError) as error:
                raise UsageError(f"{what}: {error}") from None
        return doubles(value, what)

    def _roll(self, plan: td.tdRollout) -> None:
        error = td.tdError()
        status = lib.td_batch_rollout(self._handle, c.byref(plan), c.byref(error))
        self.status[self.status == td.CANCELLED] = 0  # they have not failed
        td.check(status, error)

    def observe(self, mask: Any = None, out: Array | None = None) -> Array:
        """Outputs at the present states, (robots, width)."""
        if out is None:
            out = np.full((self.robots, self.width), np.nan)
        elif out.shape != (self.robots, self.width) or out.dtype != np.float64 or not out.flags.writeable:
            raise UsageError(f"'out' has to be a writable array of doubles, ({self.robots}, {self.width})")
        chosen, error = mask_of(mask, self.robots), td.tdError()
        span = td.tdSpan(address(out), out.strides[0] // 8, 0, out.strides[1] // 8)
        if self.width > 0:
            with self._alone:
                td.check(lib.td_batch_read_outputs(self._handle, c.byref(span), address(chosen), c.byref(error)), error)
        return out

    def reset(self, mask: Any = None) -> None:
        """Robots back to the start, with their parameters; clears failures."""
        chosen, error = mask_of(mask, self.robots), td.tdError()
        with self._alone:
            td.check(lib.td_batch_reset(self._handle, address(chosen), c.byref(error)), error)
            self._cleared(chosen)

    def _cleared(self, chosen: Array | None) -> None:
        self.status[:] = 0 if chosen is None else np.where(chosen, 0, self.status)

    # ------------------------------------------------------------ what robots are

    def set_parameter(self, name: str, values: Any, of: int | str | None = None, mask: Any = None) -> None:
        """A parameter of each robot (see :meth:`State.set_parameter`): one number a robot, or one for all."""
        parameter, index = _parameter(self.model, name, of)
        array, chosen, error = self._by_robot(values, name), mask_of(mask, self.robots), td.tdError()
        with self._alone:
            td.check(lib.td_batch_set_parameter(self._handle, parameter, index, address(array), 1, address(chosen),
                                                c.byref(error)), error)  # fmt: skip

    def set_delay(self, seconds: Any, mask: Any = None) -> None:
        """Time between a row of inputs and its effect [s], in whole steps; of each robot, or one for all."""
        array, chosen, error = self._by_robot(seconds, "the delay"), mask_of(mask, self.robots), td.tdError()
        with self._alone:
            td.check(lib.td_batch_set_delay(self._handle, address(array), 1, address(chosen), c.byref(error)), error)

    def _by_robot(self, values: Any, what: str) -> Array:
        array = self._doubles(values, what)
        return numbers(np.full(self.robots, array) if array.ndim == 0 else array, (self.robots,), what)

    # ------------------------------------------------------------ where robots are

    def write(self) -> Array:
        """The states of all robots as values, (robots, bytes)."""
        size, error = lib.td_state_size(self.model._handle, lib.td_batch_state(self._handle, 0)), td.tdError()
        out = np.empty((self.robots, size), np.uint8)
        with self._alone:
            td.check(lib.td_batch_write(self._handle, address(out), size, None, c.byref(error)), error)
        return out

    def read(self, values: Array | bytes, mask: Any = None) -> None:
        """Puts robots where :meth:`write` found them; or all where one state is (:meth:`State.to_bytes`)."""
        one = isinstance(values, bytes | bytearray)
        array = np.frombuffer(values, np.uint8) if one else np.ascontiguousarray(values, np.uint8)
        size = lib.td_state_size(self.model._handle, lib.td_batch_state(self._handle, 0))
        if array.shape not in ((size,), (self.robots, size)):
            raise UsageError(f"the values have the shape {array.shape}, and ({size},) or ({self.robots}, {size}) bytes "
                             "are wanted")  # fmt: skip
        stride, chosen, error = size if array.ndim == 2 else 0, mask_of(mask, self.robots), td.tdError()
        with self._alone:
            td.check(lib.td_batch_read(self._handle, address(array), stride, address(chosen), c.byref(error)), error)
            self._cleared(chosen)


def _span(array: Array) -> td.tdSpan:
    if any(s % 8 for s in array.strides):
        raise UsageError("arrays of doubles have to be aligned to 8 bytes")
    robot, rows, number = (s // 8 for s in array.strides)
    return td.tdSpan(address(array), robot, rows, number)
