#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changed-text.py PID NAME: the bytes of a mapped library's code that are not those of its file, a line "OFFSET VALUE"
each, in hex. Exit status 1 if there is no such mapping."""
import sys

pid, name = sys.argv[1:]
found = False
for line in open(f"/proc/{pid}/maps"):
    words = line.split(None, 5)
    if len(words) < 6 or not words[5].rstrip("\n").endswith("/" + name) or "x" not in words[1]:
        continue
    start, end = (int(w, 16) for w in words[0].split("-"))
    offset = int(words[2], 16)
    with open(f"/proc/{pid}/mem", "rb", 0) as mem, open(f"/proc/{pid}/map_files/{start:x}-{end:x}", "rb") as file:
        mem.seek(start)
        file.seek(offset)
        found = True
        while start < end:
            want = file.read(min(1 << 20, end - start))
            got = mem.read(len(want))
            if not want or len(got) != len(want):
                break
            if got != want:
                for i, (a, b) in enumerate(zip(got, want)):
                    if a != b:
                        print(f"{offset + i:x} {a:x}")
            start += len(want)
            offset += len(want)
sys.exit(not found)
