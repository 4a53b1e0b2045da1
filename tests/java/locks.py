# SPDX-License-Identifier: Apache-2.0
"""locks.py LOG SESSION SUMMARY FOLDED: holds the waits for locks of a recording (-e lock --by thread --full) against what the
program tests/java/Locks.java noted in LOG. Prints a line for each question, "waits: right" or what is wrong, and "# ..."
with the figures: dfg's part of the noted time, by lock and waiting method. Exit status 3: some stacks were cut in code that
was compiled just then, as more are on a busy machine; a later recording has fewer.

The program notes when a thread asked for a lock, got it and left it. What a thread waited is at least the time between
its asking and getting in which one of the holders had the lock, and at most all of the time between. On a quiet machine
they are the same, within the 0.1 ms that a thread takes to go on; on a busy one a thread that may go on, or has asked but not
been told to wait, is late. Waits are counted at their end: one that began before the recording, or ended after it, may be
in it."""
import bisect
import collections
import json
import re
import sys
import time

NEAR = 0.02  # of a sum
PIECE = 100_000  # ns of a wait in which the JVM tries again before it lets the thread sleep
SHARE = 0.03  # of the time in which a holder is named
CUT = 0.02  # of the time: the holder's stack is cut, in code that was compiled just then
OTHER = 0.01  # of the time recorded: what an idle thread waits for a lock that another idle one has just then
COMPLETE = 0.995
END = 500_000_000  # ns after which all is noted
HELD = "held by"
OWN = re.compile(r"Locks\.((?:hold|want|wait|idle)\w+?)(?:_\[[j0i]\])?$")
Hold = collections.namedtuple("Hold", "got left method")


def read_log(path, begin, end):
    """[(class, method, asked, got, left)] between these times, ns, of a program that goes on."""
    for _ in range(600):
        ret, told = [], 0
        for line in open(path, errors="replace"):
            words = line.split()
            if words[:1] == ["time"] and line.endswith("\n"):
                told = int(words[1])
            elif len(words) == 5:
                asked, got, left = map(int, words[2:])
                if left >= begin and asked <= end:
                    ret.append((words[0], words[1], asked, got, left))
        if told > end + END:
            return ret
        time.sleep(0.1)
    sys.exit("the program says nothing more")


class Figures:
    """What is noted of one lock and method, ns."""

    def __init__(self):
        self.least = self.most = 0  # of the waits
        self.ended = 0  # of those that ended in the time recorded
        self.count = 0
        self.by = collections.Counter()  # holder: in which it had the lock

    def add(self, asked, got, holds, begin, end):
        by = collections.Counter()
        for h in holds:
            by[h.method] += max(0, min(h.left, got) - max(h.got, asked))
        held = sum(by.values())
        self.most += got - asked
        self.ended += got - asked if begin <= got <= end else 0
        if begin <= asked and got <= end:
            self.least += held
            self.count += held > 0
            self.by += by


def figures_of(lines, begin, end):
    """{(class, method): Figures} of the time recorded."""
    holds = collections.defaultdict(list)
    for lock, method, _, got, left in lines:
        if method.startswith("hold"):
            holds[lock].append(Hold(got, left, method))
    for of in holds.values():
        of.sort()
    ret = collections.defaultdict(Figures)
    for lock, method, asked, got, _ in lines:
        of = holds[lock]
        if asked >= got or got < begin or asked > end:
            continue
        first = max(0, bisect.bisect(of, (asked,)) - 1)
        last = bisect.bisect(of, (got,))
        ret[lock, method].add(asked, got, of[first:last], begin, end)
    return ret


class Recorded:
    def __init__(self, folded):
        self.waits = collections.Counter()  # (class, method): ns
        self.by = collections.defaultdict(collections.Counter)  # the same: holder's method: ns
        self.classes, self.strange, self.idle = set(), [], collections.Counter()
        self.cut = self.all = 0
        for line in open(folded):
            stack, _, count = line.rstrip("\n").rpartition(" ")
            if stack.startswith("locks-"):
                self.add(stack, int(count))

    def add(self, stack, ns):
        frames = stack.split(";")
        at = frames.index(HELD) if HELD in frames else len(frames)
        waiter = [m[1] for m in map(OWN.match, frames[:at]) if m]
        holder = [m[1] for m in map(OWN.match, frames[at:]) if m]
        lock = frames[at - 1]
        self.all += ns
        if HELD in frames and not holder:
            self.cut += ns
        if not waiter:
            return  # it is cut: "stacks"
        if len(waiter) > 1 or len(holder) > 1:
            self.strange.append(stack)
        elif waiter[0].startswith("idle"):
            self.idle[waiter[0]] += ns
            self.classes.add(lock)
        else:
            self.waits[lock, waiter[0]] += ns
            self.by[lock, waiter[0]][holder[0] if holder else "cut" if HELD in frames else "nobody"] += ns
            self.classes.add(lock)
        # The method of a synchronized block is right below "held by", or Object.wait, which leaves, too, is.
        left_by = [f for f in frames[at + 1:] if not f.startswith("java.lang.Object.wait")]
        if holder and "java.util" not in lock and not OWN.match(left_by[0]):
            self.strange.append(stack)


def say(what, wrong):
    print(f"{what}: {wrong or 'right'}")


def check_waits(noted, got):
    for (lock, method), f in sorted(noted.items()):
        ns = got.waits[lock, method]
        allowed = PIECE * f.count
        # A wait's time that is over may be noticed late: as late as a thread that is told to go on goes on; later next to others.
        if method == "waitMonitorC":
            allowed += 2 * (f.most - f.least) + 0.05 * f.most
        print(f"# {lock.rpartition('.')[2]} {method}: {100 * ns / max(f.ended, 1):.2f} % of {f.ended / 1e9:.3f} s"
              f" ({f.count} waits, {100 * f.least / max(f.ended, 1):.2f} % held, to {100 * f.most / max(f.ended, 1):.2f});",
              ", ".join(f"{h} {100 * n / max(ns, 1):.2f} ({100 * f.by[h] / max(sum(f.by.values()), 1):.2f}) %"
                        for h, n in got.by[lock, method].most_common()))
        if not f.least * (1 - NEAR) - allowed <= ns <= f.most * (1 + NEAR) + allowed:
            yield f"{lock} {method}: {ns}, not {f.least} to {f.most}"


def check_holders(noted, got):
    for (lock, method), by in got.by.items():
        methods = {m for n, m in noted if n == lock}
        for holder in by:
            if holder not in methods | {"nobody", "cut"}:
                yield f"{lock} {method} by {holder}"
    yield from got.strange[:1]
    if got.cut > CUT * got.all:
        yield f"{got.cut} of {got.all} cut"


def check_shares(noted, got):
    """Of the holders that have a lock for some ms, each has its part; of several, a wait's sample names one. Whose stack is
    cut may have been any."""
    for (lock, method), f in noted.items():
        held, named = sum(f.by.values()), got.by[lock, method]
        late = (f.most - f.least) / max(f.most, 1)
        if method.startswith("hold"):
            continue  # only for what is still there, µs
        for holder, ns in f.by.items():
            is_of, share = named[holder] / max(got.waits[lock, method], 1), ns / held
            cut = named["cut"] / max(got.waits[lock, method], 1)
            if not share * (1 - late) - SHARE - late - cut <= is_of <= share + SHARE + late:
                yield f"{lock} {method} by {holder}: {is_of:.4f}, not {share:.4f}"


def main(log, directory, summary, folded):
    session = json.load(open(directory + "/session.json"))
    begin = session["began_us"] * 1000
    end = begin + int(session["duration"] * 1e9)
    lines = read_log(log, begin, end)
    noted, got = figures_of(lines, begin, end), Recorded(folded)
    say("waits", "; ".join(check_waits(noted, got)))
    known = {lock for lock, _ in noted}
    say("classes", ", ".join(sorted(got.classes - known)) or "; ".join(" ".join(w) for w in got.waits if w not in noted))
    say("holders", "; ".join(check_holders(noted, got)))
    say("shares", "; ".join(check_shares(noted, got)))
    say("others", ", ".join(f"{m} {n}" for m, n in got.idle.items() if n > OTHER * (end - begin)))
    s = json.load(open(summary))
    event = s if s["event"] == "lock" else s["more_events"][-1]
    say("stacks", "" if event["complete"] >= COMPLETE else f"complete {event['complete']}")
    say("lost", "" if event["lost"] == 0 else f"{event['lost']}")
    if event["complete"] < COMPLETE or got.cut > CUT * got.all:
        sys.exit(3)


main(*sys.argv[1:])
