# SPDX-License-Identifier: Apache-2.0
"""Structures of the package against those of the header, as a C compiler lays them out."""
import ctypes
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from common import ROOT

from tendril import _library as td


class Layout(unittest.TestCase):
    def test_structures(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        lines = []
        for structure in td.STRUCTURES:
            lines.append(f'printf("{structure.__name__} %zu\\n", sizeof({structure.__name__}));')
            for name, *_ in structure._fields_:
                where = f"{structure.__name__}, {name}"
                size = f"sizeof((({structure.__name__} *)0)->{name})"
                lines.append(f'printf("{structure.__name__}.{name} %zu %zu\\n", offsetof({where}), {size});')
        source = "#include <stddef.h>\n#include <stdio.h>\n#include <tendril/study.h>\nint main(void) {\n%s\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "layout.c").write_text(source % "\n".join(lines))
            subprocess.run([compiler, f"-I{ROOT / 'include'}", "layout.c", "-o", "layout"], cwd=path, check=True)
            said = subprocess.run([path / "layout"], check=True, capture_output=True, text=True).stdout
        by_c = dict(line.split(" ", 1) for line in said.splitlines())
        for structure in td.STRUCTURES:
            self.assertEqual(by_c[structure.__name__], str(ctypes.sizeof(structure)), structure.__name__)
            for name, *_ in structure._fields_:
                field = getattr(structure, name)
                self.assertEqual(by_c[f"{structure.__name__}.{name}"], f"{field.offset} {field.size}", f"{structure.__name__}.{name}")

    def test_enumerations(self):
        text = (ROOT / "include" / "tendril" / "tendril.h").read_text()
        names = [line.strip().split(",")[0].split(" ")[0] for line in text.splitlines() if "TD_PARAMETER_" in line and "///" in line or line.strip() in ("TD_PARAMETER_GRAVITY_Y,", "TD_PARAMETER_GRAVITY_Z,")]
        self.assertEqual([n.removeprefix("TD_PARAMETER_").lower() for n in names], list(td.PARAMETERS))
        stages = text[text.index("TD_STAGE_LATCH") : text.index("TD_STAGES")].count("TD_STAGE_")
        self.assertEqual(stages, td.TD_STAGES)

    def test_every_function_is_public(self):
        text = "".join((ROOT / "include" / "tendril" / name).read_text() for name in ("tendril.h", "study.h"))
        for name in td._FUNCTIONS:
            self.assertIn(f"{name}(", text)

    def test_version(self):
        import tendril

        self.assertEqual(td.lib.td_version().decode(), tendril.__version__)
        self.assertTrue(td.SONAME.endswith(".".join(tendril.__version__.split(".")[:2])))


if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    unittest.main()
