# SPDX-License-Identifier: Apache-2.0
"""Where shipped scenes are, and reduced models that are made when they are first wanted."""
from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from ._library import InputError, lib
from .scene import Scene


def folder() -> Path:
    """The folder with ``robots`` and ``scenes``: TENDRIL_DATA, the package's own, or that of the installation."""
    here = Path(__file__).parent
    tried = [Path(os.environ["TENDRIL_DATA"])] if "TENDRIL_DATA" in os.environ else []
    tried += [here / "data", here.parent.parent, Path("/usr/local/share/tendril"), Path("/usr/share/tendril")]
    for path in tried:
        if (path / "robots").is_dir():
            return path
    raise InputError("the shipped scenes are not found; set TENDRIL_DATA to the folder that holds 'robots' and 'scenes'")


def robot(name: str, scene: str = "coarse") -> Path:
    """Scene of a shipped robot: "trunk", "parallel", "finger", "gripper", "multigait"."""
    path = folder() / "robots" / name / f"{scene}.yaml"
    if not path.exists():
        there = sorted(p.name for p in (folder() / "robots").iterdir() if p.is_dir())
        raise InputError(f"there is no robot '{name}' with a scene '{scene}'; robots: {', '.join(there)}")
    return path


def cache() -> Path:
    """Where reduced models are kept: TENDRIL_CACHE, or below the user's cache folder."""
    base = os.environ.get("TENDRIL_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tendril"
    )
    path = Path(base)
    path.mkdir(parents=True, exist_ok=True)
    return path


def reduced(scene: str | os.PathLike[str] | Scene, *, body: str | None = None, **more: Any) -> Path:
    """The reduced model of a scene, made when it is first wanted (minutes) and kept for the next time.

    body: which is reduced, of a scene with several.
    """
    from .control import reduce

    file = Path(scene.folder / scene.name if isinstance(scene, Scene) else scene)
    key = hashlib.sha256(lib.td_version())
    key.update(scene.text.encode() if isinstance(scene, Scene) else file.read_bytes())
    for path in sorted(file.parent.glob(f"{file.stem}.msh")):
        key.update(path.read_bytes())
    key.update(repr((body, sorted((k, v) for k, v in more.items() if k not in ("progress", "threads")))).encode())
    part = f"-{body}" if body else ""
    rom = cache() / f"{file.parent.name or 'scene'}-{file.stem}{part}-{key.hexdigest()[:12]}.h5"
    if not rom.exists():
        reduce(scene, rom, body=body, **more)
    return rom
