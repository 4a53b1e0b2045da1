# SPDX-License-Identifier: Apache-2.0
"""alloc.py COLLECTOR LOG SESSION SUMMARY FOLDED: holds the allocations of a recording (-e alloc --by thread --full --keep-stacks)
against what the program tests/java/Alloc.java said of them in LOG. Prints a line for each question, "sum: right" or what
is wrong, and "# ..." with the figures. Exit status 3: a longer recording could say more. COLLECTOR: g1 gives large
objects regions of their own; the largest buffers of others have room for one.

The program speaks each 5 ms, later where the machine is busy, and says between which times it counted: what it allocated
in the time recorded is between two figures, from which dfg's may differ by SUM.

alloc.py --more TIME LOG SESSION FOLDED: one program ended, and another one began, which was looked at from TIME on at
the latest (CLOCK_MONOTONIC, ns)."""
import collections
import json
import re
import subprocess
import sys

SUM, SHARE, COMPLETE = 0.01, 0.03, 0.995
NEAR = 0.02  # of the bytes: the two figures
MANY = 5000  # equal samples: the deviation of a share is 0.7 % then
METHODS = {"byte[]": "Alloc.bytes", "long[]": "Alloc.longs", "Alloc$Node": "Alloc.nodes"}


def read_log(path):
    """The programs, one after the other: sizes by class, and the lines of figures."""
    programs = []
    for line in open(path, errors="replace"):
        words = line.split()
        if words[:2] == ["size", "byte[]"]:
            programs.append(({}, []))
        if words[:1] == ["size"]:
            programs[-1][0][words[1]] = int(words[2])
        elif len(words) == 6 and line.endswith("\n"):
            programs[-1][1].append([int(w) for w in words])
    return programs


def between(lines, begin, end):
    """Of each figure, at least and at most so much."""
    inner = [p for p in lines if begin <= p[0] and p[1] <= end]
    before = [p for p in lines if p[1] <= begin][-1:] or inner[:1]
    after = [p for p in lines if p[0] >= end][:1] or inner[-1:]
    if len(inner) < 2:
        return None
    return [(b - a, d - c) for a, b, c, d in zip(inner[0][2:], inner[-1][2:], before[0][2:], after[0][2:])]


def read_folded(path):
    """(frames, bytes) of the program's threads."""
    for line in open(path):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        if stack.startswith("worker-"):
            yield stack.split(";"), int(count)


def session_of(directory):
    s = json.load(open(directory + "/session.json"))
    begin = s["began_us"] * 1000
    return begin, begin + int(s["duration"] * 1e9)


def equal_samples(directory):
    """How many samples of the same size say as much as those that were taken (Kish)."""
    out = subprocess.run(["perf", "script", "-f", "-F", "event,period", "-i", directory + "/perf.data"],
                         capture_output=True, text=True).stdout
    periods = [int(w) for w in re.findall(r"^ *(\d+) ", out, re.M) if int(w) >= 1 << 16]
    return sum(periods) ** 2 / sum(p * p for p in periods) if periods else 0


def say(what, wrong):
    print(f"{what}: {wrong or 'right'}")


def check(collector, log, directory, summary, folded):
    (sizes, lines), (begin, end) = read_log(log)[-1], session_of(directory)
    figures = between(lines, begin, end)
    samples = equal_samples(directory)
    if not figures:
        sys.exit(3)
    (low, high), counts = figures[0], figures[1:]
    total, shares, long, places = 0, collections.Counter(), collections.Counter(), []
    for frames, n in read_folded(folded):
        last, _, kind = frames[-1].partition(" ")
        total += n
        shares[last] += n
        if last == "long[]":
            long[kind] += n
        # What is not complete may end in the JVM; how much that is, is asked below.
        java = [f for f in frames[:-1] if re.search(r"_\[[j0i]\]$", f)]
        if last in METHODS and java and frames[-2][:-4] != METHODS[last]:
            places.append(";".join(frames))
    objects = [(a + b) / 2 * sizes[name] for (a, b), name in zip(counts, METHODS)]
    true = {name: n / sum(objects) for name, n in zip(METHODS, objects)}
    print(f"# {low / (end - begin):.2f} to {high / (end - begin):.2f} GB/s, dfg {total / (low + high) * 200 - 100:+.2f} %,"
          f" {samples:.0f} equal samples;",
          ", ".join(f"{name} {100 * shares[name] / max(total, 1):.2f} ({100 * share:.2f}) %" for name, share in true.items()))
    say("sum", "" if low * (1 - SUM) <= total <= high * (1 + SUM) else f"{total}, not {low} to {high}")
    say("shares", ", ".join(f"{name} {shares[name] / total:.4f}, not {share:.4f}" for name, share in true.items()
                            if abs(shares[name] / total - share) > SHARE))
    say("methods", "".join(places[:1]))
    for kind in sorted(long):
        print(f"long[] {kind or 'in TLAB'}: {100 * long[kind] / shares['long[]']:.1f} %")
    say("large", "" if long[""] < 0.05 * shares["long[]"] and (long["(humongous)"] > long["(outside TLAB)"]) == (collector == "g1") else "others")
    s = json.load(open(summary))
    event = s if s["event"] == "alloc" else s["more_events"][0]
    say("stacks", "" if event["complete"] >= COMPLETE else f"complete {event['complete']}")
    say("lost", "" if event["lost"] == 0 else f"{event['lost']}")
    if high - low > NEAR * low or samples < MANY:
        sys.exit(3)


def check_more(time, log, directory, folded):
    (_, first), (_, second) = read_log(log)
    begin, end = session_of(directory)
    one, two = between(first, begin, end)[0], between(second, begin, end)[0]
    least, most = one[0] + between(second, int(time), end)[0][0], one[1] + two[1]
    total = sum(n for _, n in read_folded(folded))
    print(f"# first {one[1]}, both {least} to {most}, dfg {total}")
    say("both", "" if least * (1 - SUM) <= total <= most * (1 + SUM) and one[1] * 1.1 < least else "not so many")


if sys.argv[1] == "--more":
    check_more(*sys.argv[2:])
else:
    check(*sys.argv[1:])
