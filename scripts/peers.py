#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/peers.py OUT.svg: the table "Compared with other systems" of docs/benchmarks.md as a plot of its ratios."""
import html
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEFT, WIDTH, ROW, TOP = 390, 900, 34, 58
LOW, HIGH = 0.005, 45.0  # ends of the axis
FASTER, SLOWER, INK, MUTED = "#2f7fc1", "#d9702b", "#17202a", "#5a6877"


def rows():
    """(what, system, least ratio, largest ratio), several where a cell has several ratios."""
    text = (ROOT / "docs/benchmarks.md").read_text()
    part = text.split("## Compared with other systems", 1)[1]
    what = ""
    for line in part.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 4 or cells[3] in ("ratio", "---"):
            continue
        what = cells[0].replace("the same", what.split(",")[0]) + (" tetrahedra" if cells[0].startswith("the same") else "")
        system = re.match(r"(\w+ [\d.]+)", cells[2])[1]
        for ratio in re.sub(r"\(.*\)", "", cells[3]).split(";"):
            found = re.fullmatch(r"(.*?)\s*([\d.]+)(?:-([\d.]+))?", ratio.strip())
            name = found[1] or what
            if len(name) > 52:  # the last remark has no room
                name = name.rsplit(",", 1)[0]
            yield name, system, float(found[2]), float(found[3] or found[2])


def main():
    data = list(rows())
    height = TOP + ROW * len(data) + 40
    at = lambda x: LEFT + (WIDTH - LEFT - 30) * math.log(x / LOW) / math.log(HIGH / LOW)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="Inter, sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'<text x="20" y="28" font-size="15" font-weight="600" fill="{INK}">Steps per second of Tendril 0.1, divided by those of the other system</text>']
    bottom = TOP + ROW * len(data)
    for tick in (0.01, 0.1, 1, 10):
        heavy = tick == 1
        out.append(f'<line x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{TOP - 8}" y2="{bottom}" stroke="{MUTED if heavy else "#dde4ea"}" stroke-width="{1.4 if heavy else 1}"/>')
        out.append(f'<text x="{at(tick):.1f}" y="{bottom + 18}" text-anchor="middle" fill="{MUTED}">{tick:g}</text>')
    out.append(f'<text x="{at(1) + 6:.1f}" y="{bottom + 34}" fill="{FASTER}">Tendril faster →</text>')
    out.append(f'<text x="{at(1) - 6:.1f}" y="{bottom + 34}" text-anchor="end" fill="{SLOWER}">← Tendril slower</text>')
    for i, (what, system, least, most) in enumerate(data):
        y, colour = TOP + ROW * i + ROW / 2, FASTER if least >= 1 else SLOWER
        near, far = (least, most) if least >= 1 else (most, least)
        x0, x1, x2 = at(1), at(near), at(far)
        out.append(f'<text x="{LEFT - 12}" y="{y - 1:.1f}" text-anchor="end" fill="{INK}">{html.escape(what)}</text>')
        out.append(f'<text x="{LEFT - 12}" y="{y + 13:.1f}" text-anchor="end" fill="{MUTED}" font-size="11">{html.escape(system)}</text>')
        out.append(f'<rect x="{min(x0, x1):.1f}" y="{y - 8:.1f}" width="{abs(x1 - x0):.1f}" height="16" fill="{colour}"/>')
        if far != near:
            out.append(f'<rect x="{min(x1, x2):.1f}" y="{y - 8:.1f}" width="{abs(x2 - x1):.1f}" height="16" fill="{colour}" opacity="0.45"/>')
        label = f"{least:g}" if least == most else f"{least:g} to {most:g}"
        side = 6 if least >= 1 else -6
        out.append(f'<text x="{x2 + side:.1f}" y="{y + 4.5:.1f}" text-anchor="{"start" if side > 0 else "end"}" fill="{INK}">{label}</text>')
    out.append("</svg>\n")
    pathlib.Path(sys.argv[1]).write_text("\n".join(out))


main()
