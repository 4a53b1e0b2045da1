# SPDX-License-Identifier: Apache-2.0
"""faults.py LOG SESSION FOLDED: holds a recording of page faults against what Faults.java said of its process. Prints "sum:
right" and "method: right", or what is wrong. Exit status 3: a longer recording could say more."""
import json
import sys

log, session, folded = sys.argv[1:]
lines = [[int(w) for w in line.split()] for line in open(log) if len(line.split()) == 3 and line.endswith("\n")]
s = json.load(open(session + "/session.json"))
begin = s["began_us"] * 1000
end = begin + int(s["duration"] * 1e9)
# A line has the time before and after its figure.
inner = [p for p in lines if begin <= p[0] and p[1] <= end]
before, after = [p for p in lines if p[1] <= begin], [p for p in lines if p[0] >= end]
if len(inner) < 10 or not before or not after:
    print(f"# {len(inner)} lines in the recording, {len(before)} before, {len(after)} after it")
    sys.exit(3)
least, most = inner[-1][2] - inner[0][2], after[0][2] - before[-1][2]
stacks = [(line.rpartition(" ")[0], int(line.rpartition(" ")[2])) for line in open(folded)]
total = sum(n for _, n in stacks)
touched = sum(n for stack, n in stacks if "Faults.pages" in stack)
# Up to an interval of each processor is missing, or too much (host/kernel/events.bpf.h).
print(f"# {total} page faults, {least} to {most} by /proc; {touched} in Faults.pages")
print("sum: right" if 0.96 * least <= total <= 1.04 * most else f"sum: {total}")
# The rest of the program: buffers' heads, the collector, its own files.
print("method: right" if touched > 0.5 * total else f"method: {touched} of {total}")
