# SPDX-License-Identifier: Apache-2.0
"""Scenes that are put together in code."""
from __future__ import annotations

import ctypes as c
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _library as td
from ._library import UsageError, lib

if TYPE_CHECKING:
    from .model import Model


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a scene cannot hold {type(value).__name__}")


def _not_finite(value: Any, path: str) -> tuple[str, float] | None:
    """The first number that is not finite, with its path."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.dtype.kind == "f" and not np.isfinite(value).all() else ()
    if isinstance(value, float | np.floating):
        return None if math.isfinite(value) else (path, float(value))
    inner: list[tuple[str, Any]] = []
    if isinstance(value, Mapping):
        inner = [(f"{path}.{key}" if path else str(key), v) for key, v in value.items()]
    elif isinstance(value, list | tuple):
        inner = [(f"{path}[{k}]", v) for k, v in enumerate(value)]
    return next((found for p, v in inner if (found := _not_finite(v, p)) is not None), None)


class Scene(td.Held):
    """A scene that is put together in code: the keys of scene files (docs/scene.md), at paths.

    >>> scene = tendril.Scene(time_step="10 ms", gravity=[0, 0, -9.81])
    >>> scene.add("bodies", name="arm", mesh={"box": [[0, 0, 0], [0.1, 0.02, 0.02]], "cells": [10, 2, 2]},
    ...           material={"law": "corotational", "young": "100 kPa", "poisson": 0.4, "density": 1000},
    ...           fixed=[{"group": "xmin"}])
    'bodies[0]'
    >>> scene["bodies[0].material.young"] = "150 kPa"
    >>> model = scene.model()

    start: a dictionary, the path of a scene file, or nothing.
    folder: where relative paths of meshes begin; of a file its own, else the current one.
    name: stands for the file in messages.

    It is checked when it is used, by the parser of scene files: mistakes raise :class:`InputError` whose ``field`` is
    the path.
    """

    def __init__(self, start: Mapping[str, Any] | str | os.PathLike[str] | None = None, *, folder: str | os.PathLike[str] | None = None,
                 name: str | None = None, **keys: Any) -> None:  # fmt: skip
        self._handle = 0
        file = None if start is None or isinstance(start, Mapping) else Path(start)
        if file is not None and folder is None:
            folder = file.parent
        self.name = name or (file.name if file else "dictionary" if isinstance(start, Mapping) else "scene")
        self.folder = Path(folder) if folder is not None else Path()
        handle, error = c.c_void_p(), td.tdError()
        td.check(lib.td_build_create(self.name.encode(), os.fsencode(self.folder), c.byref(handle), c.byref(error)), error)
        self._handle = handle.value or 0
        if file is not None:
            self._yaml("", file.read_bytes())
        elif start is not None:
            self[""] = start
        else:
            self["tendril"] = 1
        for key, value in keys.items():
            self[key] = value

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            lib.td_build_free(self._handle)
            self._handle = 0

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _again, (self.text, self.folder, self.name)

    def __repr__(self) -> str:
        return f"<tendril.Scene {self.name}: {self.count('')} keys>"

    def _yaml(self, path: str, text: bytes) -> None:
        error = td.tdError()
        if b"\0" in text:
            raise UsageError("the text holds a zero character")
        td.check(lib.td_build_yaml(self._handle, path.encode(), text, c.byref(error)), error)

    def __setitem__(self, path: str, value: Any) -> None:
        """Puts a value at a path, "gravity" or "bodies[0].material.young": a text, with a unit where it has one, a number
        or an array in the scene's units, a list, a dictionary. What is on the way is made; what stands there is replaced.
        """
        error = td.tdError()
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "fiu":
            array = np.ascontiguousarray(value, np.float64)
            td.check(lib.td_build_numbers(self._handle, path.encode(), len(array), array.ctypes.data, c.byref(error)), error)
            return
        try:
            odd = _not_finite(value, path)
            if odd is not None:
                raise UsageError(f"{odd[1]} is no number that a scene can hold; give a finite one", field=odd[0])
            text = json.dumps(value, default=_plain, allow_nan=False, ensure_ascii=False, indent=1)
        except UsageError:
            raise
        except (TypeError, ValueError, RecursionError) as wrong:
            raise UsageError(f"the scene is no dictionary of plain values: {wrong}", field=path) from None
        self._yaml(path, text.encode())

    def __delitem__(self, path: str) -> None:
        error = td.tdError()
        td.check(lib.td_build_remove(self._handle, path.encode(), c.byref(error)), error)

    def count(self, path: str) -> int:
        """Elements of the list, or keys of the map, at a path; -1: there is nothing."""
        return lib.td_build_count(self._handle, path.encode())

    def __contains__(self, path: str) -> bool:
        return self.count(path) >= 0

    def add(self, path: str, value: Any = None, /, **keys: Any) -> str:
        """Adds an element to the list at a path, which is made where it is not there; returns the element's path."""
        place = f"{path}[{max(0, self.count(path))}]"
        self[place] = keys if value is None else value
        return place

    @property
    def text(self) -> str:
        """The scene as the text of a scene file."""
        out, error = c.c_char_p(), td.tdError()
        td.check(lib.td_build_scene(self._handle, c.byref(out), c.byref(error)), error)
        return (out.value or b"").decode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as a scene file."""
        Path(path).write_text(self.text)

    def model(self, **more: Any) -> Model:
        """The compiled scene; arguments as of :class:`Model`."""
        from .model import Model

        return Model(self, **more)


def _again(text: str, folder: Path, name: str) -> Scene:
    """A scene that was pickled or copied."""
    scene = Scene(folder=folder, name=name)
    scene._yaml("", text.encode())
    return scene


def source(scene: Any, settings: td.tdSettings, folder: str | os.PathLike[str] | None = None) -> bytes:
    """Path of a scene for the library. One in code goes into the settings, and its path names it."""
    if isinstance(scene, Mapping):
        scene = Scene(scene, folder=folder)
    if not isinstance(scene, Scene):
        return os.fsencode(scene)
    settings.text = scene.text.encode()
    return os.fsencode(scene.folder / scene.name)
