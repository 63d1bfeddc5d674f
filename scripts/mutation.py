# SPDX-License-Identifier: Apache-2.0
"""Small semantic changes of C sources, for scripts/mutants.

A site is a place in a file and what stands there instead. Sites are found on the text without comments and strings, by
patterns: the sources are laid out by clang-format, so a statement, a condition and a row of a table have one look.

Not mutated, because no test should notice:
  comments, preprocessor lines, asserts; calls that only make a message (td_fail*, printf and the like, log);
  timing (td_seconds, charge, stage_seconds, clock), pictures of letters (font.c);
  reserves and thresholds that decide how fast and not what: lines named in scripts/mutants.skip, each with its reason.
"""

import re
from collections import namedtuple

Site = namedtuple("Site", "file line column operator before after")

MESSAGE = re.compile(
    r"\b(td_fail\w*|td_warn\w*|td_log\w*|snprintf|fprintf|printf|vsnprintf|td_text_\w+|fputs|puts|perror|fail_\w+|warn\w*)\s*\("
)
TIMING = re.compile(r"\b(td_seconds|charge|stage_seconds|clock_gettime|clock|nanosleep|seconds|inverse_seconds)\b")
ASSERT = re.compile(r"\b(assert|static_assert|_Static_assert)\s*\(")
DECLARATION = re.compile(
    r"^\s*(const|static|extern|typedef|struct|enum|union|double|float|int|bool|char|void|size_t|ssize_t|u?int\d+_t|td[A-Z]\w*|FILE|hid_t)\b"
)

STATEMENT = re.compile(r"^\s*(?!return\b|break\b|continue\b|goto\b|else\b|do\b|case\b|default\b)[A-Za-z_*(][^;{}]*(=|\()[^;{}]*;\s*$")
ROW = re.compile(r"^\s*\{\s*\"[^\"]*\",.*\},?\s*$")


def blank(text):
    """The text with comments, strings and characters replaced by blanks, of the same length."""
    out = list(text)
    i, n = 0, len(text)
    while i < n:
        two = text[i : i + 2]
        if two == "//" or two == "/*":
            end = text.find("\n", i) if two == "//" else text.find("*/", i)
            end = n if end < 0 else end + (0 if two == "//" else 2)
        elif text[i] in "\"'":
            end = i + 1
            while end < n and text[end] != text[i]:
                end += 2 if text[end] == "\\" else 1
            end = min(end + 1, n)
        else:
            i += 1
            continue
        for k in range(i, end):
            if out[k] != "\n":
                out[k] = " "
        i = end
    return "".join(out)


def statement_lines(lines):
    """By line: whether it is the whole of a statement (the line before ended one)."""
    whole, ended = [], True
    for line in lines:
        text = line.strip()
        whole.append(ended)
        if text:
            ended = text.endswith((";", "{", "}", ":", ")")) and text.count("(") == text.count(")")
    return whole


def skipped_lines(lines):
    """By line: whether it belongs to a call that only makes a message, an assert, timing or the preprocessor."""
    skip, depth, inside, directive = [], 0, False, False
    for line in lines:
        if not inside and (MESSAGE.search(line) or ASSERT.search(line)):
            inside, depth = True, 0
        directive = directive or line.lstrip().startswith("#")
        skip.append(inside or directive or bool(TIMING.search(line)))
        if inside:
            depth += line.count("(") - line.count(")")
            if depth <= 0 and (line.rstrip().endswith((";", "{")) or depth < 0 or line.rstrip().endswith(")")):
                inside = False
        directive = directive and line.rstrip().endswith("\\")
    return skip


BINARY = [  # operator, pattern of what is replaced (group 1), and by what
    ("arithmetic", re.compile(r"(?<=[\w)\]]) (\+|-) (?=[\w(*&-])"), {"+": "-", "-": "+"}),
    ("arithmetic", re.compile(r"(?<=[\w)\]]) (\*|/) (?=[\w(])"), {"*": "/", "/": "*"}),
    ("arithmetic", re.compile(r" (\+=|-=) "), {"+=": "-=", "-=": "+="}),
    ("comparison", re.compile(r" (<=|>=|<|>) "), {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}),
    ("comparison", re.compile(r" (==|!=) "), {"==": "!=", "!=": "=="}),
    ("logic", re.compile(r" (&&|\|\|)(?=\s|$)"), {"&&": "||", "||": "&&"}),
    ("extremum", re.compile(r"\b(fmin|fmax)\("), {"fmin": "fmax", "fmax": "fmin"}),
]
NUMBER = re.compile(r"(?<![\w.\[])(\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d+)(?![\w.\]])")
CONDITION = re.compile(r"^(\s*(?:else )?if )\((.*)\)\s*$")
FUNCTION = re.compile(r"^(static )?(inline )?void \w+\(.*\)\s*$")


def number_sites(path, k, line, raw):
    """A constant three times as large; a whole number one more. Indices and sizes of arrays are left out."""
    for m in NUMBER.finditer(line):
        text = m.group(1)
        whole = text.isdigit()
        if whole and (DECLARATION.match(line) and "=" not in line[: m.start()] or line.lstrip().startswith("case")):
            continue
        if whole and re.search(r"\[[^\]]*$", line[: m.start()]):
            continue
        after = str(int(text) + 1) if whole else "(3 * %s)" % text
        yield Site(path, k, m.start(1), "constant", text, after)


def find_sites(path, text):
    """All sites of a file."""
    raw = text.split("\n")
    lines = blank(text).split("\n")
    whole, skip = statement_lines(lines), skipped_lines(lines)
    function_void = False
    for k, line in enumerate(lines):
        if re.match(r"^\w", line):
            function_void = bool(FUNCTION.match(line))
        if ROW.match(raw[k]) and not skip[k]:
            yield Site(path, k, 0, "row", raw[k], "")
        if skip[k] or not line.strip():
            continue
        for operator, pattern, other in BINARY:
            for m in pattern.finditer(line):
                yield Site(path, k, m.start(1), operator, m.group(1), other[m.group(1)])
        yield from number_sites(path, k, line, raw[k])
        m = CONDITION.match(line)
        if m and line.count("(") == line.count(")"):
            inner = raw[k][len(m.group(1)) + 1 : raw[k].rindex(")")]
            yield Site(path, k, len(m.group(1)), "negation", "(" + inner + ")", "(!(" + inner + "))")
        if whole[k] and STATEMENT.match(line) and not DECLARATION.match(line):
            yield Site(path, k, 0, "drop", raw[k], re.match(r"\s*", raw[k]).group(0) + ";")
            if function_void and re.match(r"^    \S", line):
                yield Site(path, k, 4, "early return", "", "return; ")


def apply(text, site):
    lines = text.split("\n")
    line = lines[site.line]
    assert line[site.column : site.column + len(site.before)] == site.before, site
    lines[site.line] = line[: site.column] + site.after + line[site.column + len(site.before) :]
    return "\n".join(lines)
