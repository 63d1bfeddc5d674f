# SPDX-License-Identifier: Apache-2.0
"""Pictures: of a state as an array, of a motion as a page, in the viewer; and traces, where matplotlib is there."""
from __future__ import annotations

import base64
import ctypes as c
import json
import math
import os
import shutil
import struct
import subprocess
import webbrowser
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _library as td
from ._library import FileError, UsageError, lib
from .views import Array, address

if TYPE_CHECKING:
    from .model import Model
    from .state import State


def render(state: State, width: int = 800, height: int = 600, *, azimuth: float | None = None,
           elevation: float | None = None, zoom: float = 1.0, up: str = "z", parallel: bool = False,
           opacity: float | None = None, background: str = "light", title: str | None = None, marks: bool = True,
           probes: bool = False, supports: bool = False, edges: bool = False, shadow: bool = True, axes: bool = True,
           key: bool = True, supersample: int = 2) -> Array:  # fmt: skip
    """A picture of a state as an array, (height, width, 3) uint8, made without a display.

    azimuth, elevation: of the viewer [deg]. marks: cables, cavities, effectors, targets, forces of contact.
    """
    what = lib.td_default_picture()
    if up not in ("x", "y", "z"):
        raise UsageError(f"the axis that points up is x, y or z, not '{up}'")
    what.width, what.height, what.supersample, what.zoom, what.up = int(width), int(height), supersample, zoom, "xyz".index(up)
    what.azimuth = what.azimuth if azimuth is None else azimuth
    what.elevation = what.elevation if elevation is None else elevation
    what.parallel, what.opacity = parallel, math.nan if opacity is None else opacity
    what.background, what.title = background.encode(), title.encode() if title else None
    what.marks, what.probes, what.supports, what.edges = marks, probes, supports, edges
    what.shadow, what.axes, what.key = shadow, axes, key
    if not (0 < what.width <= 8192 and 0 < what.height <= 8192):
        raise UsageError(f"a picture of {width} x {height} pixels; sides are 16 to 8192")
    out, error = np.empty((what.height, what.width, 3), np.uint8), td.tdError()
    with state._alone:
        td.check(lib.td_state_render(state._model, state._handle, c.byref(what), address(out), c.byref(error)), error)
    return out


def write_png(path: str | os.PathLike[str], picture: Any) -> None:
    """Writes a picture, (height, width, 3) uint8, as a PNG file."""
    picture = np.asarray(picture)
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or 0 in picture.shape:
        raise UsageError(f"a picture is an array (height, width, 3) of uint8, not {picture.shape} of {picture.dtype}")
    height, width, _ = picture.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter, 0: none
    rows[:, 1:] = picture.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b"")
    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + data)


# ---------------------------------------------------------------- recordings


def _packed(array: Array, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, kind).tobytes()).decode()


class Recording:
    """A motion as a page that plays by itself, in a browser or in the cell of a notebook.

    >>> recording = tendril.Recording(state)
    >>> for _ in range(100):
    ...     state.step()
    ...     recording.add()
    >>> recording.save("motion.html")       # or, as the last line of a cell: recording

    The page holds all that it needs and can be turned with the mouse. Positions are kept to 1/65535 of the size of
    the whole.
    """

    def __init__(self, state: State, title: str = "") -> None:
        self.state, self.title = state, title
        self.times: list[float] = []
        self._frames: list[Array] = []
        parts, first = [], 0
        for b, body in enumerate(state.model.bodies):
            parts.append(np.asarray(state.model.triangles(b)) + first)
            first += body.nodes
        self._triangles = np.concatenate(parts) if parts else np.zeros((0, 3), np.int32)
        # Of nodes inside of bodies nothing is seen.
        self._nodes, places = np.unique(self._triangles, return_inverse=True)
        self._triangles = places.reshape(-1, 3)
        if len(self._nodes) == 0:
            raise UsageError("the scene has no surfaces to show")
        self.add()

    def add(self) -> None:
        """Takes the present shape as the next frame."""
        bodies = range(len(self.state.model.bodies))
        now = np.concatenate([np.asarray(self.state.positions(b), np.float64) for b in bodies])[self._nodes]
        self.times.append(self.state.time)
        self._frames.append(now)

    def __len__(self) -> int:
        return len(self._frames)

    def html(self, height: int = 420) -> str:
        """The page."""
        frames = np.stack(self._frames)
        low, high = frames.min(axis=(0, 1)), frames.max(axis=(0, 1))
        scale = float((high - low).max()) or 1.0
        data = {
            "title": self.title, "times": [round(t, 6) for t in self.times], "low": low.tolist(), "scale": scale,
            "size": ((high - low) / scale).tolist(), "nodes": len(self._nodes),
            "frames": _packed(np.round((frames - low) / scale * 65535), "<u2"),
            "triangles": _packed(self._triangles, "<u4"),
        }  # fmt: skip
        page = Path(__file__).with_name("recording.html").read_text()
        return page.replace("{{HEIGHT}}", str(int(height))).replace("{{DATA}}", json.dumps(data).replace("</", "<\\/"))

    def save(self, path: str | os.PathLike[str], height: int = 420) -> None:
        """Writes the page as an HTML file."""
        Path(path).write_text(self.html(height))

    def _repr_html_(self) -> str:
        page = self.html().replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{page}" style="width:100%;height:440px;border:0"></iframe>'


# ---------------------------------------------------------------- the viewer


class Viewer:
    """The viewer in a process of its own; ``address`` is what a browser opens. It ends with :meth:`close`."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self._process, self.address = process, address

    def close(self) -> None:
        """Ends it."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None:
            self.close()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.address}" style="width:100%;height:600px;border:0"></iframe>'


def program() -> str:
    """The command-line program: TENDRIL_PROGRAM, or ``tendril`` on the path."""
    named = os.environ.get("TENDRIL_PROGRAM") or shutil.which("tendril")
    if not named or not os.access(named, os.X_OK):
        raise FileError("the program 'tendril' is not on the path ('make install' puts it there); or set TENDRIL_PROGRAM")
    return named


def view(scene: str | os.PathLike[str], *, rom: str | os.PathLike[str] | None = None, port: int = 0, paused: bool = False,
         browser: bool = True) -> Viewer:  # fmt: skip
    """Opens a scene in the viewer, which simulates it in real time: `tendril view`, in a process of its own.

    browser: open the address in a browser too.
    """
    command = [program(), "view", os.fspath(scene), "--port", str(port), "--json", "--quiet"]
    command += ["--rom", os.fspath(rom)] if rom is not None else []
    command += ["--paused"] if paused else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    text = ""
    for line in process.stdout or ():  # the one object that it prints, then it serves
        text += line
        try:
            said = json.loads(text)
        except json.JSONDecodeError:
            continue
        break
    else:
        Viewer(process, "").close()
        raise FileError(f"the viewer did not start: {text.strip() or 'it said nothing'}")
    if "address" not in said:
        Viewer(process, "").close()
        raise UsageError(said.get("error", {}).get("message", "the viewer did not start"))
    out = Viewer(process, said["address"])
    if browser:
        webbrowser.open(out.address)
    return out


# ---------------------------------------------------------------- traces


def plot(times: Any, rows: Any, names: Sequence[str] = (), *, unit: str = "", title: str = "", ax: Any = None) -> Any:
    """Traces over time with matplotlib, which has to be installed: rows (times,) or (times, n). Returns the axes."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise FileError("matplotlib is not installed, and traces are drawn with it (Debian: python3-matplotlib)") from None
    times, rows = np.asarray(times, float), np.asarray(rows, float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if times.ndim != 1 or rows.ndim != 2 or len(times) != len(rows):
        raise UsageError(f"times have the shape {times.shape} and rows {rows.shape}; (n,) and (n, traces) are wanted")
    if names and len(names) != rows.shape[1]:
        raise UsageError(f"there are {len(names)} names for {rows.shape[1]} traces")
    ax = ax if ax is not None else pyplot.subplots()[1]
    for k in range(rows.shape[1]):
        ax.plot(times, rows[:, k], label=names[k] if names else None)
    ax.set_xlabel("time [s]")
    ax.set_ylabel(f"[{unit}]" if unit else "")
    ax.set_title(title)
    if names:
        ax.legend()
    return ax
