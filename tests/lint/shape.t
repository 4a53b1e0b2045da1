#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Checks the shape of the production code: sizes of files, functions, folders and lines, interfaces with at
least two users, one struct per tag. A budget may be raised in the commit that needs it, with the reason."""
import collections
import os
import re
import subprocess

from tap import check, run

# Most lines of C in a folder, tests not counted.
BUDGET = """
agent-jni 1890
common 3725
hook 2605
host/bpf 6040
host/calltree 4180
host/cmd 2790
host/discover 3185
host/doctor 1585
host/elf 730
host/format 5470
host/jfr 1600
host/jit 1995
host/kernel 4910
host/perf 2110
host/probe 915
host/profile 1880
host/record 6990
host/report 4740
host/session 1020
host/setup 1985
host/symbols 1380
host/top 1910
host/unwind 2695
hotspot 6470
include/dfg 565
injector 1395
oci 1360
"""
# The goal is 42 000 lines; the rest is messages, checks of hostile input and contracts, which clarity keeps.
ALL_LINES, ALL_FILES = 75870, 441
FILE_LINES, FUNCTION_LINES, COLUMNS, FOLDER_FILES, HOST_FILES = 500, 70, 100, 36, 8


def find(*folders):
    found = subprocess.run(["find", *folders, "-name", "*.[ch]"], check=True, capture_output=True, text=True)
    return sorted(found.stdout.split())


def functions(text):
    """Name and length of each function: from a line that begins with "{" to the next that begins with "}"."""
    lines = text.split("\n")
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            head = " ".join(lines[max(0, start - 4):start])
            name = re.findall(r"(\w+)\(", head)
            yield name[0] if name else "?", number - start + 1
            start = None


def main():
    paths = find("agent-jni", "common", "hook", "hotspot", "host", "include", "injector", "oci")
    text = {p: open(p).read() for p in paths}
    tests = {p: open(p).read() for p in find("tests")}
    lines = {p: t.count("\n") for p, t in text.items()}

    check(f"production C has at most {ALL_LINES} lines",
              [sum(lines.values())] if sum(lines.values()) > ALL_LINES else [])
    check(f"production C has at most {ALL_FILES} files", [len(paths)] if len(paths) > ALL_FILES else [])
    sizes, members = collections.Counter(), collections.Counter()
    for path in paths:
        sizes[os.path.dirname(path)] += lines[path]
        members[os.path.dirname(path)] += 1
    budget = dict(line.split() for line in BUDGET.strip().split("\n")) if BUDGET.strip() else {}
    check("every folder keeps its budget of lines", [
        f"{d}: {n} lines, {budget.get(d, 'no budget')}" for d, n in sizes.items() if n > int(budget.get(d, 0))])
    check(f"a folder has at most {FOLDER_FILES} files",
              [f"{d}: {n}" for d, n in members.items() if n > FOLDER_FILES])
    top = [f for f in os.listdir("host") if os.path.isfile("host/" + f)]
    check(f"host/ has at most {HOST_FILES} files of its own", top if len(top) > HOST_FILES else [])
    check(f"a file has at most {FILE_LINES} lines",
              [f"{p}: {n}" for p, n in lines.items() if n > FILE_LINES])
    check(f"a function has at most {FUNCTION_LINES} lines", [
        f"{p}: {f} has {n}" for p, t in text.items() for f, n in functions(t) if n > FUNCTION_LINES])
    check(f"a line has at most {COLUMNS} columns", [
        f"{p}:{i}: {len(line.expandtabs(8))}" for p, t in {**text, **tests}.items()
        for i, line in enumerate(t.split("\n"), 1) if len(line.expandtabs(8)) > COLUMNS])

    users = collections.defaultdict(set)
    for path, source in {**text, **tests}.items():
        for name in re.findall(r'#include "([^"]+)"', source):
            users[name].add(path)
    alone = []
    for path in paths:
        if path.endswith(".h") and not re.search(r"(_(x86|arm64)|\.bpf)\.h$", path):
            name = re.sub(r"^(host|include)/", "", path)
            own = path[:-2] + ".c"
            if len(users[name] - {own}) < 2:
                alone.append(f"{path}: {', '.join(users[name] - {own}) or 'nobody'}")
    check("a header has at least two users", alone)

    tags = collections.defaultdict(set)
    for path, source in text.items():
        for kind, tag in re.findall(r"^\s*(?:static |typedef |const )*(struct|enum|union) (\w+) (?:\w+ )?\{",
                                    source, re.M):
            tags[f"{kind} {tag}"].add(path)
    check("a struct's tag means one struct", [f"{t}: {', '.join(sorted(w))}" for t, w in tags.items()
                                                  if len(w) > 1])


run(main)
