# SPDX-License-Identifier: Apache-2.0
"""traps.py RECORDING SESSION COMPILED TRAPS SUMMARY LOG: holds compilations (folded text of -e compile) and uncommon traps (of -e
deopt) against what the JVM's own recorder (JFR) has of the same time, and how often methods were compiled and their code was made
not entrant (summary of -e cpu,compile,deopt) against what -XX:+PrintCompilation has said, between the lines "round AFTER NOW" of
the program, which may be preempted between a reading of the clock and the line. Prints a line for each question, "traps: right" or what is wrong."""
import collections
import json
import re
import sys
import time

sys.dont_write_bytecode = True
from jfrlog import duration, events, ns

recording, session, compiled, traps, summary, log = sys.argv[1:]
s = json.load(open(session + "/session.json"))
offset = time.time_ns() - time.monotonic_ns()
begin = s["began_us"] * 1000 + offset
end = begin + int(s["duration"] * 1e9)


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
PREEMPTED = 300e6  # ns: that a compiler's thread may wait for a processor, on a busy machine, until its function returns
COMPILERS = 4  # threads of the JVM on two processors, at most
mine, theirs = collections.Counter(), collections.Counter()
for stack, amount in folded(compiled):
    mine[stack[-1].rpartition(" ")[0]] += amount
at_edge = cut = count = 0
unfinished = collections.Counter()  # begun while it was recorded, and not known to have ended then
for e in events(recording, "jdk.Compilation"):
    start, took = ns(e["startTime"]), duration(e["duration"])
    if begin <= start and start + took <= end:
        theirs[name_of(e["method"])] += took
        count += 1
    if min(abs(start - begin), abs(start + took - end)) < EDGE:
        at_edge += took
    if start < begin < start + took or start < end < start + took:
        cut += min(start + took, end) - max(start, begin)
    if begin <= start <= end <= start + took + PREEMPTED:
        unfinished[name_of(e["method"])] += 1
        unfinished["all"] += 1
unfinished["all"] = min(unfinished["all"], COMPILERS)
total, want = sum(mine.values()), sum(theirs.values())
print(f"# compilations: {total / 1e6:.1f} ms, JFR {want / 1e6:.1f} ms, {len(mine)} and {len(theirs)} methods, at the ends {at_edge / 1e6:.1f} ms, cut {cut / 1e6:.0f} ms")
# JFR's time begins after that of the function, and ends before it: some 10 us each (dfg 2 to 4 % more), but up to a time slice
# where a thread that waits for a processor is preempted there, which in 2 of 12 recordings next to three other tests made 20 to 28 %.
BUSY = 0.6
say("compilations", want and -0.05 * want - at_edge <= total - want <= BUSY * want + at_edge + 100e3 * count, f"{total} of {want}")
unknown = [m for m in mine if m not in theirs and mine[m] > EDGE / 10]
say("methods", len(mine) > 5 and len(unknown) <= 0.05 * len(mine) + 2, f"{unknown[:9]}")
wrong = [(m, mine[m], n) for m, n in theirs.most_common(5) if not -0.1 * n - at_edge - 2e6 <= mine[m] - n <= BUSY * n + at_edge + 2e6]
say("largest", not wrong, f"{wrong}")

# ---- traps ----
mine, theirs, edge = collections.Counter(), collections.Counter(), collections.Counter()
for stack, amount in folded(traps):
    inner = [f for f in stack[:-1] if f.startswith("Traps")]
    mine[stack[-1], inner[-1] if inner else ""] += amount
for e in events(recording, "jdk.Deoptimization"):
    key = e["reason"], name_of(e["method"]) if e["method"]["type"]["name"].startswith("Traps") else ""
    at = ns(e["startTime"])
    theirs[key] += begin <= at <= end
    edge[key] += min(abs(at - begin), abs(at - end)) < EDGE
keys = [k for k, n in theirs.items() if k[1] and n > 3]
print("# traps: " + ", ".join(f"{r} in {m}: {mine[r, m]}, JFR {theirs[r, m]}" for r, m in keys))
# A trap in code that the tables do not have yet, as next to other tests, may have no method.
say("traps", ("unstable_if", "Traps$Target.guess") in keys and all(-0.02 * theirs[k] - edge[k] <= mine[k] - theirs[k] <= edge[k] for k in keys),
    f"{[(k, mine[k], theirs[k], edge[k]) for k in keys]}")
reasons, known = {r for r, _ in mine}, {r for r, _ in theirs}
say("reasons", reasons <= known | {"unloaded"}, f"{reasons - known}")

# ---- how often ----
LINE = re.compile(r"\s*\d+ +\d+ ([ %][ s][ !][ b][ n]) +([0-4])? +(\S+)::(\S+) (?:@ -?\d+ )?\((\d+ bytes|native)\)(   made .*)?")


class Said:
    """How often -XX:+PrintCompilation has said it: surely while it was recorded, and perhaps."""

    def __init__(self):
        self.least, self.most = collections.Counter(), collections.Counter()

    def add(self, what, before, after):
        inside = begin - offset <= before and after <= end - offset
        self.least[what] += inside
        self.most[what] += inside or (before <= end - offset and after >= begin - offset)

    def agrees(self, what, n, less=0):
        return self.least[what] - less <= n <= self.most[what] + torn


times, levels, gone = Said(), Said(), Said()
earlier, pending, before = [], [], [0, 0]  # said before the last line "round", and after it; NOW of the two before these
torn = 0  # lines in which another thread has begun one
for line in open(log, errors="replace"):
    tick = re.search(r"round (\d+) (\d+)", line)
    if tick:
        after, now = int(tick[1]), int(tick[2])
        for where, what in earlier:
            where.add(what, before[0], after)
        earlier, pending, before = pending, [], (before[1:] + [now])
        line = line.replace(tick[0], "")
    m = LINE.match(line)
    torn += not m and (not tick or len(line) > 1)
    if m and m[1][4] != "n" and not (m[6] or "").startswith("   made zombie"):
        method = re.sub("[/+]", ".", m[3] + "." + m[4])
        kinds = [(gone, method), (gone, "all")] if m[6] else [(times, method), (times, "all"), (levels, (method, int(m[2] or 0)))]
        pending += kinds
told = json.load(open(summary))["more_events"][0]["verdict"]["compilations"]
print(f"# compiled {told['times']} times, the JVM has said {times.least['all']} to {times.most['all']}; made not entrant {told['not_entrant']}, "
      f"{gone.least['all']} to {gone.most['all']}; {torn} lines are torn, {unfinished['all']} had not ended")
say("times", times.agrees("all", told["times"], unfinished["all"]), f"{told['times']}, {times.least['all']} to {times.most['all']}")
say("not entrant", gone.agrees("all", told["not_entrant"]), f"{told['not_entrant']}, {gone.least['all']} to {gone.most['all']}")


def agrees(m):
    """Whether the JVM has said what dfg tells of the method M. The JVM says it when a compilation begins, dfg counts its end."""
    name = re.sub("[/+]", ".", m["method"])
    less = unfinished[name]
    return (times.agrees(name, m["times"], less) and gone.agrees(name, m["not_entrant"])
            and all(levels.agrees((name, i + 1), n, less) for i, n in enumerate(m["levels"])))


wrong = [m for m in told["most"] if not agrees(m)]
say("methods compiled again", told["most"] and told["most"][0]["method"] == "Traps$Target.guess" and not wrong, f"{wrong} {told['most'][:1]}")
