#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What recording waits for locks costs: bench/Contend.java, whose threads block all the time, by turns alone, recorded with
# -e cpu and with -e cpu,lock.
#
#	bench/lock.sh		as root; 4 minutes
#
# JAVA (java), TURNS (5), THREADS (16), HOLD (20: microseconds). Of each kind the median of its ratios to the turn alone before
# it, lowest and highest, of how often the threads had a lock in a second. probes: what the BPF program takes, by
# kernel.bpf_stats_enabled, which is put back.
set -eu -o pipefail
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} JAVA=${JAVA:-java} TURNS=${TURNS:-5} THREADS=${THREADS:-16} HOLD=${HOLD:-20}
DIR=$(mktemp -d /tmp/dfg-lock.XXXXXX)
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; rm -rf "$DIR"' EXIT
javac --release 9 -Xlint:-options -d "$DIR" bench/Contend.java
echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs, Linux $(uname -r)"
PATH=$PATH:/usr/sbin:/sbin python3 -B - "$DIR" <<'END_OF_PROGRAM'
import glob
import json
import os
import statistics
import subprocess
import sys
import time

DIR = sys.argv[1]
BUILD, TURNS, SECONDS = os.environ["BUILD"], int(os.environ["TURNS"]), 5
STATS = "/proc/sys/kernel/bpf_stats_enabled"


def had():
    """When the program spoke last, in s, and how often a lock had been had then."""
    with open(DIR + "/log", "rb") as f:
        f.seek(max(0, os.path.getsize(DIR + "/log") - 200))
        ns, count = f.read().rpartition(b"\n")[0].rpartition(b"\n")[2].split()
    return int(ns) / 1e9, int(count)


def probe_stats():
    programs = json.loads(subprocess.run(["bpftool", "-j", "prog"], capture_output=True, text=True).stdout)
    mine = [p for p in programs if p.get("name") in ("probed", "walk_probe")]
    return sum(p.get("run_cnt", 0) for p in mine), sum(p.get("run_time_ns", 0) for p in mine)


def turn(events, pid):
    """Times a second that a lock was had, in the middle of a recording; calls a second and ns each."""
    if events:
        with open(STATS, "w") as f:
            f.write("1")
        record = subprocess.Popen([BUILD + "/bin/dfg-trigger", "-q", "--pid", str(pid), "-d", str(SECONDS + 2), "-e", events, "-f", "folded",
                                   "-o", DIR + "/out", "--force"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        calls = probe_stats()
    begin = had()
    time.sleep(SECONDS - 1)
    end = had()
    rate = (end[1] - begin[1]) / (end[0] - begin[0])
    if not events:
        return rate, 0, 0
    more = probe_stats()
    record.wait()
    n, ns = more[0] - calls[0], more[1] - calls[1]
    return rate, n / (SECONDS - 1), ns / n if n else 0


with open(DIR + "/log", "w") as log:
    program = subprocess.Popen([os.environ["JAVA"], "-cp", DIR, "Contend", os.environ["THREADS"], os.environ["HOLD"]], stdout=log)
try:
    time.sleep(5)
    turns = {"cpu": [], "cpu,lock": [], "": []}
    alone = []
    for _ in range(TURNS):
        for events, list_ in turns.items():
            before = turn("", program.pid)[0]
            alone.append(before)
            rate, calls, ns = turn(events, program.pid)
            list_.append((rate / before, calls, ns))
finally:
    program.kill()
print(f"locks had a second, alone: {statistics.median(alone):.0f}")
for events, list_ in turns.items():
    ratios = [r for r, _, _ in list_]
    print(f"{'-e ' + events if events else 'nothing, again':16} {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}"
          f"; probes {statistics.median([c for _, c, _ in list_]):.0f} calls a second, {statistics.median([n for _, _, n in list_]):.0f} ns each")
END_OF_PROGRAM
