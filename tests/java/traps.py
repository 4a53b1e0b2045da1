# SPDX-License-Identifier: Apache-2.0
"""traps.py RECORDING SESSION COMPILED TRAPS: holds compilations (folded text of -e compile) and uncommon traps (of -e deopt) against
what the JVM's own recorder (JFR) has of the same time. Prints a line for each question, "traps: right" or what is wrong."""
import collections
import datetime
import json
import re
import subprocess
import sys
import time

recording, session, compiled, traps = sys.argv[1:]
s = json.load(open(session + "/session.json"))
offset = time.time_ns() - time.monotonic_ns()
begin = s["began_us"] * 1000 + offset
end = begin + int(s["duration"] * 1e9)


def ns(text):
    """2026-11-26T21:51:13.123456789Z, or with another zone."""
    m = re.match(r"(.*T[\d:]+)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)$", text)
    at = datetime.datetime.fromisoformat(m[1] + (m[3] if m[3] != "Z" else "+00:00"))
    return int(at.timestamp()) * 10**9 + int((m[2] or "0").ljust(9, "0")[:9])


def events(name):
    out = subprocess.run(["jfr", "print", "--json", "--events", name, recording], capture_output=True, text=True, check=True).stdout
    return [e["values"] for e in json.loads(out)["recording"]["events"]]


def duration(text):
    """PT0.001234S"""
    m = re.match(r"PT(?:(\d+)M)?([\d.]+)S$", text)
    return int((int(m[1] or 0) * 60 + float(m[2])) * 1e9)


def name_of(method):
    return method["type"]["name"].replace("/", ".") + "." + method["name"]


def folded(path):
    for line in open(path):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        yield re.sub(r"_\[[jik0]\]", "", stack).split(";"), int(count)


def say(what, right, wrong):
    print(f"{what}: {'right' if right else wrong}")


# ---- compilations ----
EDGE = 20e6  # ns: one that begins or ends at an end of the recording is of either time; those that began before it are not
mine, theirs = collections.Counter(), collections.Counter()
for stack, amount in folded(compiled):
    mine[stack[-1].rpartition(" ")[0]] += amount
at_edge = count = 0
for e in events("jdk.Compilation"):
    start, took = ns(e["startTime"]), duration(e["duration"])
    if begin <= start and start + took <= end:
        theirs[name_of(e["method"])] += took
        count += 1
    if min(abs(start - begin), abs(start + took - end)) < EDGE:
        at_edge += took
total, want = sum(mine.values()), sum(theirs.values())
print(f"# compilations: {total / 1e6:.1f} ms, JFR {want / 1e6:.1f} ms, {len(mine)} and {len(theirs)} methods, at the ends {at_edge / 1e6:.1f} ms")
# JFR's time begins after that of the function, and ends before it: some 10 us each, on a busy machine up to a time slice.
say("compilations", want and -0.05 * want - at_edge <= total - want <= 0.1 * want + at_edge + 100e3 * count, f"{total} of {want}")
unknown = [m for m in mine if m not in theirs and mine[m] > EDGE / 10]
say("methods", len(mine) > 5 and len(unknown) <= 0.05 * len(mine) + 2, f"{unknown[:9]}")
wrong = [(m, mine[m], n) for m, n in theirs.most_common(5) if abs(mine[m] - n) > 0.1 * n + at_edge + 2e6]
say("largest", not wrong, f"{wrong}")

# ---- traps ----
mine, theirs, edge = collections.Counter(), collections.Counter(), collections.Counter()
for stack, amount in folded(traps):
    inner = [f for f in stack[:-1] if f.startswith("Traps")]
    mine[stack[-1], inner[-1] if inner else ""] += amount
for e in events("jdk.Deoptimization"):
    key = e["reason"], name_of(e["method"]) if e["method"]["type"]["name"].startswith("Traps") else ""
    at = ns(e["startTime"])
    theirs[key] += begin <= at <= end
    edge[key] += min(abs(at - begin), abs(at - end)) < EDGE
keys = [k for k, n in theirs.items() if k[1] and n > 3]
print("# traps: " + ", ".join(f"{r} in {m}: {mine[r, m]}, JFR {theirs[r, m]}" for r, m in keys))
say("traps", ("unstable_if", "Traps$Target.guess") in keys and all(abs(mine[k] - theirs[k]) <= edge[k] for k in keys), f"{[(k, mine[k], theirs[k], edge[k]) for k in keys]}")
reasons, known = {r for r, _ in mine}, {r for r, _ in theirs}
say("reasons", reasons <= known | {"unloaded"}, f"{reasons - known}")
