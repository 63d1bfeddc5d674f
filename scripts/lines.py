# SPDX-License-Identifier: Apache-2.0
"""Which test runs which line, for scripts/mutants.

The sources are built with clang, which notes in a byte for each piece of code without a branch whether it was run: that
costs next to nothing, so all tests are run with it. scripts/lines.c writes the bytes down at the end of a program. The
lines of a piece are those that the debug information gives from its beginning to that of the next one."""

import bisect
import json
import os
import re
import shutil
import subprocess

COMPILER = "clang-14"
# Optimized a little: without, the tests take many times as long; with more, lines flow into each other.
FLAGS = "-O1 -g -fsanitize-coverage=edge,no-prune,inline-bool-flag,pc-table -fno-sanitize-link-runtime"


def make_recorder(source, library):
    """The library that every program is linked with; what is wrong, or nothing."""
    os.makedirs(os.path.dirname(library), exist_ok=True)
    done = subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode != 0 else ""


def options(library):
    """Of cmake."""
    return ["-DCMAKE_C_COMPILER=" + COMPILER, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=" + FLAGS,
            "-DCMAKE_C_STANDARD_LIBRARIES=" + library]


def read_records(folder):
    """From what programs left in a folder: by library, where its pieces begin and which of them were run (bytes)."""
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            while path := file.readline():
                path, n = os.fsdecode(path[:-1]), int(file.readline() or 0)
                begins, ran = file.read(8 * n), file.read(n)
                if len(ran) < n:  # ended while it wrote
                    break
                before = found.get(path)
                if before is not None:
                    ran = (int.from_bytes(ran, "little") | int.from_bytes(before[1], "little")).to_bytes(n, "little")
                found[path] = (begins, ran)
    return found


class Table:
    """The lines of a library's pieces."""

    def __init__(self, path, begins, root, build):
        self.lines = {}  # by where a piece begins: (file, line)
        starts = sorted(set(memoryview(begins).cast("Q")))
        at = 0
        for address, file, line in sorted(self.rows(path, root, build)):
            while at + 1 < len(starts) and starts[at + 1] <= address:
                at += 1
            if starts and starts[at] <= address:
                self.lines.setdefault(starts[at], set()).add((file, line))

    @staticmethod
    def rows(path, root, build):
        """Address, file and line of what the debug information tells about sources of ours. Their paths are relative to the build,
        whichever was written down: a cache of objects may have them from another one."""
        told = subprocess.Popen(["llvm-dwarfdump-14", "--debug-line", path], stdout=subprocess.PIPE, text=True, errors="replace")
        folders, files, entry = {}, {}, None
        row = re.compile(r"0x([0-9a-f]+)\s+(\d+)\s+\d+\s+(\d+)\s")
        for text in told.stdout:
            if text.startswith("0x"):
                address, line, file = row.match(text).groups()
                if files.get(int(file)) and line != "0" and "end_sequence" not in text:
                    yield int(address, 16), files[int(file)], int(line)
            elif text.startswith("debug_line["):
                folders, files = {}, {}
            elif text.startswith("include_directories["):
                folders[int(text[20:].split("]")[0])] = text.split('"')[1]
            elif text.startswith("file_names["):
                entry = int(text[11:].split("]")[0])
            elif text.strip().startswith("name:"):
                name = text.split('"')[1]
            elif text.strip().startswith("dir_index:"):
                folder = folders.get(int(text.split()[1]), "") if text.split()[1] != "0" else ""
                file = os.path.relpath(os.path.join(build, folder, name), root)
                files[entry] = file if file.startswith(("src/", "apps/")) else None
        told.wait()


class Map:
    """Collects the lines of tests. What is found is kept in a folder at once, so that a map that was stopped goes on there."""

    def __init__(self, root, build, keep):
        self.root = root
        self.build = build
        self.keep = keep
        self.tables = {}  # by library
        self.tests = {}  # by test: "processor" and "seconds" that it took, "limit" where it was stopped by one, "covers": by file, its lines
        self.known = {}  # by file: lines that have code
        os.makedirs(keep, exist_ok=True)
        for name in os.listdir(keep):
            with open(os.path.join(keep, name)) as file:
                if name == "known.json":
                    self.known = {source: set(numbers) for source, numbers in json.load(file).items()}
                elif name.endswith(".test.json"):
                    self.tests[name[: -len(".test.json")]] = json.load(file)

    def write(self, name, what):
        path = os.path.join(self.keep, name)
        with open(path + ".tmp", "w") as file:
            json.dump(what, file)
        os.replace(path + ".tmp", path)

    def has(self, test, limit):
        """Whether a test need not be run again: it came to its end, or its limit was no lower."""
        found = self.tests.get(test)
        return found is not None and (found["limit"] is None or found["limit"] >= limit)

    def add(self, test, folder, processor, seconds, limit):
        """What the programs of a test have left in a folder, which is removed. With the limit that stopped it, or None."""
        found = set()
        for path, (begins, ran) in read_records(folder).items():
            if path not in self.tables:
                self.tables[path] = Table(path, begins, self.root, self.build)
                for piece in self.tables[path].lines.values():
                    for file, line in piece:
                        self.known.setdefault(file, set()).add(line)
                self.write("known.json", {file: sorted(numbers) for file, numbers in self.known.items()})
            table = self.tables[path]
            for begin, flag in zip(memoryview(begins).cast("Q"), ran):
                if flag:
                    found |= table.lines.get(begin, set())
        covers = {}
        for file, line in sorted(found):
            covers.setdefault(file, []).append(line)
        self.tests[test] = {"processor": processor, "seconds": seconds, "limit": limit, "covers": covers}
        self.write(test + ".test.json", self.tests[test])
        shutil.rmtree(folder)

    def found(self):
        """By file and test, the lines that it runs; by test, how long it takes; by file, the lines that have code. Tests that were
        stopped by their limit have no part in it."""
        covers, ended = {}, {name: test for name, test in self.tests.items() if test["limit"] is None}
        for name, test in ended.items():
            for file, numbers in test["covers"].items():
                covers.setdefault(file, {})[name] = numbers
        return {"covers": covers, "known": {file: sorted(numbers) for file, numbers in self.known.items()},
                "seconds": {name: test["seconds"] for name, test in ended.items()},
                "processor": {name: test["processor"] for name, test in ended.items()}}


def has_code(found, file, line):
    return line in found["known"].get(file, [])


def tests_of(found, file, line):
    """The tests that run a line. One without code of its own, which the compiler has drawn into another, is run with its neighbours."""
    known = found["known"].get(file, [])
    at = bisect.bisect_left(known, line)
    near = {line} if has_code(found, file, line) else set(known[max(0, at - 1) : at + 1])
    return [test for test, numbers in found["covers"].get(file, {}).items() if near & set(numbers)]
