#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""merge-maps.py MAP...: one map of compiled code without overlaps, for perf, which has no rule for
them. Where ranges overlap, the later line and the later file win, as in dfg."""
import bisect
import sys

lines = []
for path in sys.argv[1:]:
    with open(path, "rb") as f:
        text = f.read().split(b"\0")[0].decode(errors="replace")
    for line in text.split("\n"):
        if line.startswith("#dfg1 end") or line.count(" ") < 2:
            continue
        start, size, name = line.split(" ", 2)
        lines.append((int(start, 16), int(start, 16) + int(size, 16), name))

starts, ends = [], []  # what is taken, sorted
for start, end, name in reversed(lines):
    at = bisect.bisect_right(ends, start)
    pos = start
    while pos < end:
        if at < len(starts) and starts[at] <= pos:
            pos = ends[at]
            at += 1
            continue
        stop = min(end, starts[at]) if at < len(starts) else end
        print(f"{pos:x} {stop - pos:x} {name}")
        starts.insert(at, pos)
        ends.insert(at, stop)
        at += 1
        pos = stop
