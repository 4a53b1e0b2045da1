#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Checks which folder may include which: the table below is the architecture, from the base upwards.

A folder may include the folders named in its row and itself. A row names only folders that stand
above it in the table, so the edges cannot form a cycle."""
import re
import subprocess

from tap import check, run

ALLOWED = """
dfg:
common:      dfg
oci:         dfg common
hotspot:     dfg
injector:    dfg common
agent-jni:   dfg hotspot
hook:        dfg common oci
session:     common
calltree:    common
perf:        dfg common
elf:         dfg common
jit:         dfg common elf calltree
unwind:      dfg common elf jit
symbols:     common session elf jit unwind perf
profile:     common session elf calltree unwind perf symbols
format:      dfg common session elf calltree
jfr:         dfg common elf calltree
report:      common session jit calltree profile format jfr
discover:    dfg common hotspot elf session
probe:       common elf
kernel:      probe
bpf:         dfg common elf jit unwind perf discover probe kernel
record:      dfg common injector hotspot session elf perf discover bpf
top:         common calltree format report record
setup:       common oci
doctor:      dfg common injector hotspot discover probe bpf record setup
cmd:         dfg common oci discover record report top setup doctor
"""


def rows():
    for line in ALLOWED.strip().split("\n"):
        folder, _, allowed = line.partition(":")
        yield folder, allowed.split()


def folder_of(path):
    parts = path.split("/")
    return "dfg" if parts[0] == "include" else parts[1] if parts[0] == "host" else parts[0]


def main():
    files = subprocess.run(
        ["find", "agent-jni", "common", "hook", "hotspot", "host", "include", "injector", "oci", "-name", "*.[ch]"],
        check=True, capture_output=True, text=True).stdout.split()
    table = dict(rows())
    above = []
    for folder, allowed in rows():
        late = [f for f in allowed if f not in above]
        check(f"{folder} may include only folders above it in the table", late)
        above.append(folder)
        wrong, used = [], {folder}
        for path in files:
            if folder_of(path) != folder:
                continue
            for name in re.findall(r'^#\s*include "([^"]+)"', open(path).read(), re.M):
                first = name.split("/")[0] if "/" in name else "(no folder)"
                used.add(first)
                if first != folder and first not in allowed:
                    wrong.append(f"{path}: {name}")
        check(f"{folder} includes what its row allows", wrong)
        unused = [f for f in allowed if f not in used]
        check(f"each folder in the row of {folder} is included by it", unused)
    check("every folder has a row", [f for f in files if folder_of(f) not in table])


run(main)
