# SPDX-License-Identifier: Apache-2.0
"""wall.py LEDGER SESSION SUMMARY FOLDED [virtual]: holds the time of threads by cause (-e wall --by thread) against what tests/java/Wall.java says of its
waits. Prints a line for each question, "sums: right" or what is wrong, and "# ..." with the figures.

The program's time of a wait has the time in it until the thread has a processor again, and some time that it runs: dfg tells them
apart. So its time is at least dfg's, and at most that with all that the thread was runnable, ran, or stood still for the JVM, or waited
with a stack that could not be proved (other): of that there is little, more on a busy machine.

virtual: the program's threads are virtual ones (JDK 21). The time that they run is by samples; who wakes them is not known, nor what they wait
for a processor when they have a carrier."""
import collections
import json
import sys

ledger, session, summary, folded = sys.argv[1:5]
virtual = sys.argv[5:] == ["virtual"]
s = json.load(open(session + "/session.json"))
begin = s["began_us"] * 1000
end = begin + int(s["duration"] * 1e9)
told = json.load(open(summary))
wall = (told if told["event"] == "wall" else told["more_events"][0])["wall"]
threads = {t["name"]: t for t in wall["threads"]}
WAKERS = {("wanter", "monitor"): "holder", ("queuer", "park"): "locker", ("asker", "socket"): "answerer"}


def say(what, wrong):
    print(f"{what}: {'; '.join(wrong[:4]) or 'right'}")


own, last, cpu = collections.Counter(), collections.Counter(), []
for line in open(ledger, errors="replace"):
    words = line.split()
    if len(words) != 4 or not line.endswith("\n"):
        continue
    name, cause, a, b = words[0], words[1], int(words[2]), int(words[3])
    if cause == "cpu":
        cpu.append((b, a))
        continue
    last[name] = max(last[name], b)
    inside = min(b, end) - max(a, begin)
    if inside > 0:
        own[name, cause] += inside / 1e6

planned = {name for name, _ in own}  # threads that wait by the plan

# Time in which a virtual thread has a carrier, but no processor, may be its carrier's, or another one's of that.
carriers = sum(t["causes"][c] for n, t in threads.items() for c in ("running", "runnable", "throttled") if n.startswith("ForkJoinPool-1-worker"))
slack = carriers if virtual else 0

# ---- all the time has a cause ----
ms = (end - begin) / 1e6
wrong = [f"{n} {t['wall_ms']:.1f} of {ms:.1f}" for n, t in threads.items()
         if abs(t["wall_ms"] - ms) > (0.1 if virtual else 0.01) * ms + slack and n in planned | {"burner", "idler"}]
say("sums", wrong)
say("parts", [n for n, t in threads.items() if abs(sum(t["causes"].values()) - t["wall_ms"]) > 0.001 * ms])

# ---- each cause ----
wrong, figures = [], []
for (name, cause), want in sorted(own.items()):
    c = threads.get(name, {"causes": collections.Counter()})["causes"]
    got = c[cause]
    rest = sum(c[k] for k in ("runnable", "throttled", "running", "other")) + c["safepoint"] * (cause != "safepoint") + slack
    if want < 200:
        continue
    figures.append(f"{name} {cause} {got:.0f} ({want:.0f}, {rest:.0f})")
    unsaid = max(0, end - last[name]) / 1e6  # on a busy machine the ledger's last lines may be late
    if not got - 0.02 * want <= want + 40 + unsaid or not want <= got + rest + 0.02 * want + 40:
        wrong.append(f"{name} {cause} {got:.1f} ms, by its own clock {want:.1f}, and otherwise {rest:.1f}")
print("# cause dfg (own, rest):", ", ".join(figures))
say("causes", wrong)
theirs = [t["causes"] for n, t in threads.items() if n in planned]
other = sum(c["other"] for c in theirs) / sum(sum(c.values()) for c in theirs)
print(f"# not proved: {100 * other:.2f} %")
say("proved", [] if other < 0.1 else ["see above"])
if virtual:
    print("# sums:", ", ".join(f"{n} {100 * threads[n]['wall_ms'] / ms:.1f} %" for n in sorted(planned)))
    mine = [line for line in open(folded) if line.split(";")[0] in planned]
    whole = [int(line.rpartition(" ")[2]) for line in mine if ";Wall.lambda$start$" in line]
    all_ns = [int(line.rpartition(" ")[2]) for line in mine]
    print(f"# whole stacks: {100 * sum(whole) / sum(all_ns):.2f} %")
    say("whole", [] if sum(whole) > 0.9 * sum(all_ns) else ["see above"])
    locks = [line for line in mine if line.startswith("queuer;park;")]
    known = [int(line.rpartition(" ")[2]) for line in locks if line.rpartition(" ")[0].endswith("ReentrantLock$NonfairSync")]
    say("subjects", [] if sum(known) > 0.9 * own["queuer", "park"] * 1e6 else [f"{sum(known)} ns known"])
    say("lost", [] if told["lost"] == 0 else [str(told["lost"])])
    sys.exit()
say("idle", [] if threads["idler"]["causes"]["sleep"] > 0.99 * ms else [str(threads["idler"]["causes"])])

# ---- the processor ----
# At its points of time the counter is exact; from the beginning to the first, and from the last to the end, it may have stood still or run.
inside = [(t, n) for t, n in cpu if begin <= t <= end]
least = (inside[-1][1] - inside[0][1]) / 1e6
most = least + (inside[0][0] - begin + end - inside[-1][0]) / 1e6
got = threads["burner"]["causes"]["running"]
print(f"# running: {got:.1f} ms, by the program's own counter {least:.1f} to {most:.1f}")
say("running", [] if 0.98 * least - 10 <= got <= 1.02 * most + 10 else [f"{got} of {least} to {most}"])

# Threads waited for processors.
busy = sum(c["runnable"] for c in theirs) > 0.05 * sum(sum(c.values()) for c in theirs)

# ---- who woke whom ----
woken, all_of = collections.Counter(), collections.Counter()
for line in open(folded):
    stack, _, ns = line.rstrip("\n").rpartition(" ")
    frames = stack.split(";")
    all_of[frames[0], frames[1]] += int(ns)
    if "woken by" in frames:
        woken[frames[0], frames[1], frames[-1]] += int(ns)
shares = {k: woken[k + (waker,)] / max(all_of[k], 1) for k, waker in WAKERS.items()}
print("# woken by the right one:", ", ".join(f"{k[0]} {100 * n:.1f} %" for k, n in shares.items()))
# Up to JDK 24 a thread that waits for a monitor looks again after some ms by itself (runtime/objectMonitor.cpp, _Responsible); of waits below
# 1 ms the waker is not looked at.
say("wakers", [f"{k} {n:.3f}" for k, n in shares.items() if n < 0.5])
say("others", [str(k) for k, n in woken.items() if k[:2] in WAKERS and k[2] != WAKERS[k[:2]] and n > 0.01 * all_of[k[:2]]])
# One whose sleep ends in a safepoint goes on when the VM thread lets it: on a busy machine that may be some time later.
LEAST = {"VM_Thread": 0.05} if busy else {}
say("sleepers", [str(k) for k, n in woken.items() if k[1] == "sleep" and k[:2] in own and n > LEAST.get(k[2], 0.01) * all_of[k[:2]]])
waits = wall["waits"]
say("waits", [] if len(waits) == 50 and waits == sorted(waits, key=lambda w: -w["ms"]) and all(w["ms"] >= 1 for w in waits) and
    all(w["waker"] == WAKERS[w["thread"], w["cause"]] for w in waits if (w["thread"], w["cause"]) in WAKERS and w["waker"]) else [str(waits[:2])])
# ---- what was waited for ----
SUBJECTS = {("wanter", "monitor"): "Wall$Held", ("queuer", "park"): "java.util.concurrent.locks.ReentrantLock$NonfairSync",
            ("waiter", "wait"): "Wall$Awaited", ("asker", "socket"): "127.0.0.1:", ("answerer", "socket"): "127.0.0.1:"}
known, walked, wrong = collections.Counter(), collections.Counter(), []
for line in open(folded):
    stack, _, ns = line.rstrip("\n").rpartition(" ")
    frames = stack.split(";")
    own = frames[:frames.index("woken by")] if "woken by" in frames else frames
    want = SUBJECTS.get(tuple(own[:2]))
    if any(f.startswith("Wall.") for f in own):
        walked[tuple(own[:2])] += int(ns)
    if want and own[-1].startswith(want):
        known[tuple(own[:2])] += int(ns)
    elif want and own[-1] in SUBJECTS.values():
        wrong.append(f"{own[:2]} {own[-1]}")
# Of what takes next to no time, one wait would be half.
shares = {k: known[k] / all_of[k] for k in SUBJECTS if all_of[k] > 0.1e6 * ms}
print("# what was waited for is known:", ", ".join(f"{k[0]} {100 * n:.1f} %" for k, n in shares.items()), f"({s['copied']} stacks copied)")
# A wait whose stack the walk could not prove has none; one that is copied, or was looked at when it went on already, has the program's frames
# all the same. On a busy machine one of these may be a tenth of all.
least = 0.7 if busy else 0.9
say("subjects", wrong + [f"{k} {n:.3f}" for k, n in shares.items() if n < 0.7 or known[k] < least * walked[k]])
# On a busy machine other waits are the longest.
listed = [w for w in waits if w["thread"] == "wanter" and w["cause"] == "monitor"]
held = [w for w in listed if w["holder"]]
say("holders", [str(w) for w in held if not (w["holder"] == "holder" and w["subject"] == "Wall$Held" and "Wall.holds" in w["waker_stack"] and
                                             "Wall.wants" in w["stack"])] + ([] if held or len(listed) < 5 else ["none is known"]))
say("owners", [str(w) for w in waits if (w["thread"], w["cause"]) == ("queuer", "park") and w["waker"] and w["subject"] and w["holder"] != "locker"])
# The holder slept, or stood still for the JVM at its end: on a busy machine the longest waits are those. Or its stack was not proved.
did = [w["meanwhile"] for w in held if w["meanwhile"] and w["meanwhile"]["cause"] != "other"]
say("meanwhile", [str(m) for m in did if m["cause"] != "safepoint" and not (m["cause"] == "sleep" and "Wall.lambda$holds" in m["method"])] +
    ([] if did or not held else ["none is known"]))
say("lost", [] if told["lost"] == 0 else [str(told["lost"])])
