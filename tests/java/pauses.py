# SPDX-License-Identifier: Apache-2.0
"""pauses.py LOG STEPS SESSION SUMMARY FOLDED [STEP…]: holds the pauses of a recording (-e safepoint --by thread --full
--keep-stacks) against the JVM's own log of them (-Xlog:safepoint,gc:…:timenanos), LOG, and against what the program
tests/java/Pauses.java did, STEPS. Prints a line for each question, "found: right" or what is wrong, and "# ..." with the
figures. Exit status 3: a longer recording could say more. STEP: of those that must be among the pauses.

The log has each pause's duration, and the time (CLOCK_MONOTONIC) at which the line was written, which may be later than the
pause's end where the machine is busy: from JDK 17 on, when it began is told from the time since the one before, which the
log has, too, and the line that came soonest. JDK 11's own times leave out that concurrent collectors stop first. A thread
may be preempted between the JVM's reading of the clock and the probe's: of FEW_OFF, and one more, the figures may be far
from each other, or one of them is too short to be listed. What was in EDGE_NS of the session's begin may be there or
not: the recorder begins in a process of its own, a little earlier or later."""
import bisect
import collections
import json
import re
import sys

NEAR_MS, NEAR = 0.2, 0.02  # either
FEW_OFF = 0.1
FEW_UNKNOWN = 0.05
EDGE_NS = 1_000_000_000
LISTED, LEAST_MS = 50, 1.0
MANY, WAITED_MS = 12, 30.0
SUM, EACH_NS = 0.02, 60_000
COMPLETE = 0.99

Pause = collections.namedtuple("Pause", "begin end stopping operation")  # ns, ns, ms, text

FROM_17 = re.compile(r'Safepoint "(.*?)", Time since last: (\d+) ns, Reaching safepoint: (\d+) ns,.* Total: (\d+) ns')
ENTERING = re.compile(r"Entering safepoint region: (.*)")
STOPPED = re.compile(r"threads were stopped: ([0-9.]+) seconds, Stopping threads took: ([0-9.]+) seconds")


def read_log(path):
    """Its pauses."""
    rows, operation = [], ""
    for line in open(path, errors="replace"):
        head = re.match(r"\[(\d+)ns\]", line)
        if not head or not line.endswith("\n"):
            continue
        m = FROM_17.search(line)
        if m:
            rows.append((int(head[1]), int(m[2]), int(m[4]), int(m[3]) / 1e6, m[1]))
        m = ENTERING.search(line)
        operation = m[1] if m else operation
        m = STOPPED.search(line)
        if m:
            rows.append((int(head[1]), None, round(float(m[1]) * 1e9), float(m[2]) * 1e3, operation))
    # The end of each as the ends of those before and the durations have it; then the distance to the lines' times.
    ends, end = [], 0
    for at, since, total, _, _ in rows:
        end = at if since is None else end + since + total
        ends.append(end)
    late = [row[0] - end for row, end in zip(rows, ends)]
    pauses = []
    for i, (row, end) in enumerate(zip(rows, ends)):
        at = end + min(late[max(0, i - 50):i + 51])
        pauses.append(Pause(at - row[2], at, row[3], row[4]))
    return pauses


COLLECTED = re.compile(r"\[(\d+)ns\].*GC\(\d+\) Pause .*\) (\d+)([BKMG])->(\d+)([BKMG])\(")
UNITS = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
HEAP_BYTES = 2 << 20  # G1's pools have whole regions, of 1 MiB here; the log cuts what is less than its unit


def read_collections(path):
    """(time, line, bytes before, bytes after) of each collection's end."""
    return [(int(m[1]), m.string, int(m[2]) * UNITS[m[3]], int(m[4]) * UNITS[m[5]])
            for m in map(COLLECTED.match, open(path, errors="replace")) if m]


def check_heaps(pairs, listed, collected):
    """A pause in which the log has the end of a collection has the heap before it, and after the last one."""
    wrong, off, known = [], [0], 0
    for (own, log), entry in zip(pairs, listed):
        ends = [(before, after) for at, _, before, after in collected if log.begin <= at <= log.end]
        if not ends or not entry["cause"]:
            continue
        if "heap_before" not in entry:
            wrong.append(f"{log.operation} without")
            continue
        known += 1
        far = max(abs(entry["heap_before"] - ends[0][0]), abs(entry["heap_after"] - ends[-1][1]))
        off.append(far)
        if far > HEAP_BYTES:
            wrong.append(f"{log.operation} {entry['heap_before']} to {entry['heap_after']}, not {ends[0][0]} to {ends[-1][1]}")
    print(f"# heaps: {known}, off by {max(off) / (1 << 20):.2f} MiB at most")
    say("heaps", wrong if len(wrong) > 1 + FEW_OFF * len(pairs) else [])


def check_causes(pairs, listed, collected):
    """A pause in which the log has the end of one collection has its cause, others have none."""
    wrong, alien, known = [], [], collections.Counter()
    for (own, log), entry in zip(pairs, listed):
        lines = [line for at, line, *_ in collected if log.begin <= at <= log.end]
        cause = entry["cause"]
        if len(lines) == 1 and f"({cause})" not in lines[0]:
            wrong.append(f"{log.operation} for {cause or 'no cause'}: {lines[:1]}")
        if not lines and cause:
            alien.append(f"{log.operation} for {cause}")
        known[cause] += 1
    print("# causes:", ", ".join(f"{cause or 'none'} {n}" for cause, n in known.most_common()))
    say("causes", (wrong if len(wrong) > 1 + FEW_OFF * len(pairs) else []) + (alien if len(alien) > 1 else []))


def read_steps(path):
    """(name, begin, end)"""
    steps = []
    for line in open(path, errors="replace"):
        words = line.split()
        if len(words) == 3 and line.endswith("\n") and words[1].isdigit():
            steps.append((words[0], int(words[1]), int(words[2])))
    return steps


def say(what, wrong):
    print(f"{what}: {'; '.join(wrong[:3]) or 'right'}")


def near(a, b):
    return abs(a - b) <= max(NEAR_MS, NEAR * max(a, b))


def match(own, log):
    """The pause of the log that has most of this one."""
    at = bisect.bisect([p.begin for p in log], own.end)
    best = max(log[max(0, at - 20):at + 1], key=lambda p: min(p.end, own.end) - max(p.begin, own.begin), default=None)
    return best if best and min(best.end, own.end) > max(best.begin, own.begin) else None


def steps_of(steps, log):
    """The steps in which a pause began, but for the count, and whether there was a count then."""
    there = [s[0] for s in steps if s[1] <= log.begin <= s[2]]
    return [s for s in there if s != "count"], "count" in there


# The JVM's operations that a step asks for, by a part of their names. Others (of concurrent collectors, "Cleanup") are
# asked for by threads of the JVM.
ASKED = {"collect": "CollectFull|ParallelGCSystemGC|ParallelGCCollect|SerialGCCollect|GenCollectFull", "stacks": "ThreadDump",
         "dump": "HeapDumper", "allocate": "CollectForAllocation|FailedAllocation", "revoke": "RevokeBias"}


def check_times(pairs):
    off, far = [], []
    for own, log in pairs:
        ms = (own.end - own.begin) / 1e6, (log.end - log.begin) / 1e6
        if not near(*ms):
            off.append(f"{log.operation} {ms[0]:.3f} ms, not {ms[1]:.3f}")
        elif abs(own.begin - log.begin) / 1e6 > max(NEAR_MS, NEAR * ms[1]):
            off.append(f"{log.operation} began at {own.begin}, not {log.begin}")
        elif not near(own.stopping, log.stopping):
            off.append(f"{log.operation} stopping {own.stopping:.3f} ms, not {log.stopping:.3f}")
        far.append(abs(ms[0] - ms[1]))
    print("# off:", "; ".join(off) or "none")
    say("times", off if len(off) > 1 + FEW_OFF * len(pairs) else [])
    return sorted(far)


def check_names(pairs, listed, steps, seen):
    wrong, asked, unknown, waited = [], [], [], []
    for (own, log), entry in zip(pairs, listed):
        if own.operation != log.operation:
            wrong.append(f"{own.operation}, not {log.operation}")
        names, counting = steps_of(steps, log)
        want = [s for s in names if re.search(ASKED.get(s, "^$"), log.operation)]
        if len(want) == 1:
            seen[want[0]] += 1
            if entry["asked_by"] != "Pauses." + want[0]:
                of = asked if entry["asked_by"] else unknown
                of.append(f"{log.operation} by {entry['asked_by'] or 'nobody'}, not {want[0]}")
        if counting and log.stopping > WAITED_MS:
            seen["counted"] += 1
            if entry["waiting_for"] != "Pauses.counted":
                waited.append(f"{log.operation} {log.stopping:.0f} ms for {entry['waiting_for'] or 'nobody'}")
        elif entry["waiting_for"] and log.stopping < NEAR_MS:
            waited.append(f"{log.operation} {log.stopping:.3f} ms for {entry['waiting_for']}")
    say("operations", wrong)
    print("# asked for by nobody:", "; ".join(unknown) or "none")
    # The stack of a thread in code that was compiled just then may be cut.
    say("askers", asked + (unknown if len(unknown) > 1 + FEW_UNKNOWN * len(pairs) else []))
    return waited


def check_sums(folded, log, begin, end, off):
    """The folded stacks have as much of each operation as the log, but for what single pauses are off by (ns)."""
    sums, wrong = collections.Counter(), []
    for line in open(folded):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        frames = stack.split(";")
        if "waiting for" in frames:
            frames = frames[:frames.index("waiting for")]
        sums[frames[-1].partition(" (")[0]] += int(count)  # without a collection's cause
    for operation in sorted({p.operation for p in log} | set(sums)):
        own = [p for p in log if p.operation == operation and p.end > begin - EDGE_NS and p.begin < end]
        low = sum(p.end - p.begin for p in own if begin + EDGE_NS <= p.begin and p.end <= end)
        high = sum(p.end - p.begin for p in own)
        room = EACH_NS * len(own) + off[operation]
        if not low * (1 - SUM) - room <= sums[operation] <= high * (1 + SUM) + room:
            wrong.append(f"{operation} {sums[operation]}, not {low} to {high}")
    return wrong, sums


def main():
    path, steps, session, summary, folded, *wanted = sys.argv[1:]
    s = json.load(open(session + "/session.json"))
    begin = s["began_us"] * 1000
    end = begin + int(s["duration"] * 1e9)
    log, steps, s = read_log(path), read_steps(steps), json.load(open(summary))
    event = s if s["event"] == "safepoint" else s["more_events"][0]
    own = [Pause(begin + int(p["begin"] * 1e9), begin + int(p["begin"] * 1e9 + p["ms"] * 1e6), p["stopping_ms"], p["operation"])
           for p in event["verdict"]["pauses"]]
    listed = event["verdict"]["pauses"]
    seen = collections.Counter()
    matches = [match(p, log) for p in own]
    say("more", [f"{p.operation} at {p.begin}, {(p.end - p.begin) / 1e6} ms" for p, m in zip(own, matches)
                 if not m and p.begin > begin])
    least = max(LEAST_MS, listed[-1]["ms"] if len(listed) == LISTED else 0)
    least = least * (1 + NEAR) + NEAR_MS
    missed = [p for p in log if p.begin >= begin + EDGE_NS and p.end <= end and (p.end - p.begin) / 1e6 > least and p not in matches]
    whole = [i for i, m in enumerate(matches) if m and m.begin >= begin + EDGE_NS]
    pairs = [(own[i], matches[i]) for i in whole]
    found, rare = {log.operation for _, log in pairs}, collections.Counter(p.operation for p in missed)
    say("found", [f"{p.operation} at {p.begin}, {(p.end - p.begin) / 1e6} ms" for p in missed
                  if len(missed) > 1 + FEW_OFF * len(pairs) or p.operation not in found and rare[p.operation] > 1])
    far = check_times(pairs)
    collected = read_collections(path)
    check_causes(pairs, [listed[i] for i in whole], collected)
    check_heaps(pairs, [listed[i] for i in whole], collected)
    waited = check_names(pairs, [listed[i] for i in whole], steps, seen)
    say("waited", waited if len(waited) > FEW_OFF * seen["counted"] + 1 or len(waited) == seen["counted"] else [])
    off = collections.Counter()
    for operation, ns in [(p.operation, p.end - p.begin) for p in missed] + [
            (log.operation, abs(own.end - own.begin - log.end + log.begin)) for own, log in pairs] + [
            (m.operation, max(0, p.end - p.begin - m.end + m.begin)) for p, m in zip(own, matches) if m and m.begin < begin + EDGE_NS]:
        off[operation] += ns
    sums, totals = check_sums(folded, log, begin, end, off)
    say("sums", sums)
    say("order", [] if [p["ms"] for p in listed] == sorted((p["ms"] for p in listed), reverse=True) else ["not the longest first"])
    say("stacks", [] if event["complete"] >= COMPLETE else [f"complete {event['complete']}"])
    say("lost", [] if event["lost"] == 0 else [str(event["lost"])])
    inside = [p for p in log if p.begin >= begin and p.end <= end]
    print(f"# {len(inside)} pauses, {sum(p.end - p.begin for p in inside) / 1e6:.1f} ms; dfg {sum(totals.values()) / 1e6:.1f} ms,",
          f"{len(listed)} listed, off by {far[len(far) // 2] if far else 0:.4f} ms (median), {far[-1] if far else 0:.4f} ms (most);",
          ", ".join(f"{n} {seen[n]}" for n in sorted(seen)), "; not waited for the right one:", "; ".join(waited) or "none")
    missing = [w for w in wanted if not seen[w]]
    if missing or len(pairs) < MANY:
        print("# missing:", *missing)
        sys.exit(3)


main()
