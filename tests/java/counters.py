# SPDX-License-Identifier: Apache-2.0
"""counters.py watch CPU.STAT SCHEDSTAT FILE: writes lines of CLOCK_MONOTONIC, how long the control group's processors were throttled, and how
long a thread has run, all in s, until it is killed. counters.py compare FILE SESSION SUMMARY: holds the time of the thread "burner" (-e wall)
against them, as wall.py does."""
import json
import sys
import time


def throttled(path):
    fields = dict(line.split() for line in open(path))
    return int(fields["throttled_usec"]) / 1e6 if "throttled_usec" in fields else int(fields["throttled_time"]) / 1e9


def watch(stat, schedstat, to):
    with open(to, "w", buffering=1) as out:
        while True:
            ran = int(open(schedstat).read().split()[0]) / 1e9
            print(f"{time.monotonic():.5f} {throttled(stat):.6f} {ran:.6f}", file=out)
            time.sleep(0.01)


def at(points, t, which):
    """Between two points the time goes on evenly."""
    for a, b in zip(points, points[1:]):
        if a[0] <= t <= b[0]:
            return a[which] + (b[which] - a[which]) * (t - a[0]) / (b[0] - a[0])
    raise SystemExit(f"watched from {points[0][0]} to {points[-1][0]}, not at {t}")


def compare(watched, session, summary):
    points = [tuple(map(float, line.split())) for line in open(watched) if line.endswith("\n")]
    s = json.load(open(session + "/session.json"))
    begin, seconds = s["began_us"] / 1e6, s["duration"]
    want, ran = (1000 * (at(points, begin + seconds, i) - at(points, begin, i)) for i in (1, 2))
    burner = next(t for t in json.load(open(summary))["wall"]["threads"] if t["name"] == "burner")
    causes, wall = burner["causes"], burner["wall_ms"]
    got = causes["throttled"]
    print(f"# throttled: {got:.0f} ms of {wall:.0f}; by cpu.stat {want:.0f}; runnable {causes['runnable']:.0f}")
    print(f"# running: {causes['running']:.1f} ms; by schedstat {ran:.1f}")
    # The kernel counts a period of being throttled at its end: up to 80 ms are missing at each side. It counts each processor, and a
    # thread of the JVM may be on another one.
    right = abs(got - want) <= 0.02 * want + 160 and (got > 0.1 * wall or causes["runnable"] > 0.5 * wall)
    print("throttled:", "right" if right else f"{got:.1f}, by cpu.stat {want:.1f}")
    # The watcher is late by what it waits for a processor, twice.
    print("running:", "right" if abs(causes["running"] - ran) <= 0.02 * ran + 20 else f"{causes['running']:.1f}, by schedstat {ran:.1f}")


if sys.argv[1] == "watch":
    watch(*sys.argv[2:])
else:
    compare(*sys.argv[2:])
