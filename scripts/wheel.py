#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/wheel.py LIBRARY FOLDER: packs the Python package, the shared library and the shipped robots and scenes into
a wheel in FOLDER, and prints its path. It needs nothing but Python: a wheel is an archive with three files of its own
(PEP 427). The library is linked with Debian's packages, so the wheel is for Debian 12 and what is like it."""
import base64
import hashlib
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SONAME = re.search(r'SONAME = "(.*)"', (ROOT / "python/tendril/_library.py").read_text())[1]
VERSION = re.search(r'__version__ = "(.*)"', (ROOT / "python/tendril/__init__.py").read_text())[1]
PLATFORM = sysconfig.get_platform().replace("-", "_").replace(".", "_")
TAG = f"py3-none-{PLATFORM}"
NAME = f"tendril-{VERSION}"


def content(library):
    """Paths in the wheel and where they come from."""
    package = ROOT / "python/tendril"
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".yaml", ".html", ".typed") and "__pycache__" not in path.parts:
            yield f"tendril/{path.relative_to(package)}", path
    yield f"tendril/{SONAME}", library
    for part in ("robots", "scenes"):
        for path in sorted((ROOT / part).rglob("*")):
            # Fine meshes, and reduced models that somebody made here, are no part of it.
            if path.is_file() and path.suffix not in (".h5", ".geo") and path.stem not in ("fine", "fine_mooney"):
                yield f"tendril/data/{path.relative_to(ROOT)}", path
    yield f"{NAME}.dist-info/LICENSE", ROOT / "LICENSE"
    yield f"{NAME}.dist-info/NOTICE", ROOT / "NOTICE"


def main():
    library, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    metadata = (
        f"Metadata-Version: 2.1\nName: tendril\nVersion: {VERSION}\n"
        "Summary: Real-time simulation of soft robots and deformable bodies\nLicense: Apache-2.0\n"
        "Requires-Python: >=3.11\nRequires-Dist: numpy\n\n" + (ROOT / "docs/python.md").read_text()
    )
    wheel = f"Wheel-Version: 1.0\nGenerator: scripts/wheel.py\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    out = folder / f"{NAME}-{TAG}.whl"
    record = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name, data):
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same bytes each time
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")

        for name, path in content(library):
            data = path.read_bytes()
            if path == library:
                stripped = folder / SONAME
                if subprocess.run(["strip", "-o", stripped, library], check=False).returncode == 0:
                    data = stripped.read_bytes()
                    stripped.unlink()
            add(name, data)
        add(f"{NAME}.dist-info/METADATA", metadata.encode())
        add(f"{NAME}.dist-info/WHEEL", wheel.encode())
        record.append(f"{NAME}.dist-info/RECORD,,")
        archive.writestr(zipfile.ZipInfo(f"{NAME}.dist-info/RECORD", (2020, 1, 1, 0, 0, 0)), "\n".join(record) + "\n")
    print(out)


if __name__ == "__main__":
    main()
