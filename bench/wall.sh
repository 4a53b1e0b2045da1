#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the wall clock (-e wall) costs: bench/Parks.java, whose threads park and do nothing else, alone and recorded by turns.
#
#	bench/wall.sh		as root; 3 minutes
#
# JAVA (java), TURNS (5), THREADS (1000), RATE (10000 25000 50000: parks a second). Of each rate: how often all processors switched threads in a
# second; the ratio of parks to the turn alone before; what the BPF programs take (kernel.bpf_stats_enabled, which is put back) and all of
# dfg-trigger's processes, in percent of the machine's processors.
set -eu -o pipefail
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} JAVA=${JAVA:-java} TURNS=${TURNS:-5} THREADS=${THREADS:-1000} RATE=${RATE:-10000 25000 50000}
DIR=$(mktemp -d /tmp/dfg-wall.XXXXXX)
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; rm -rf "$DIR"' EXIT
javac --release 9 -Xlint:-options -d "$DIR" bench/Parks.java
echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs, Linux $(uname -r)"
PATH=$PATH:/usr/sbin:/sbin python3 -B - "$DIR" <<'END_OF_PROGRAM'
import json
import os
import statistics
import subprocess
import sys
import time

DIR = sys.argv[1]
BUILD, TURNS, SECONDS = os.environ["BUILD"], int(os.environ["TURNS"]), 5
PROGRAMS = ("switched", "waking", "walk_wait", "hrtimer_expire_entry", "hrtimer_expire_exit", "irq_handler_entry", "irq_handler_exit",
            "softirq_entry", "softirq_exit")


def parked():
    """When the program spoke last, in s, and how often its threads had parked then."""
    with open(DIR + "/log", "rb") as f:
        f.seek(max(0, os.path.getsize(DIR + "/log") - 200))
        ns, count = f.read().rpartition(b"\n")[0].rpartition(b"\n")[2].split()
    return int(ns) / 1e9, int(count)


def switches():
    return next(int(line.split()[1]) for line in open("/proc/stat") if line.startswith("ctxt"))


def program_ns():
    programs = json.loads(subprocess.run(["bpftool", "-j", "prog"], capture_output=True, text=True).stdout)
    return {n: sum(p.get("run_time_ns", 0) for p in programs if p.get("name") == n[:15]) for n in PROGRAMS}


def cpu_of(session):
    """Processor time, in s, of all processes of a session."""
    sum_ = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
            sum_ += (int(fields[11]) + int(fields[12])) / 100 if int(fields[3]) == session else 0
        except OSError:
            pass
    return sum_


def turn(recorded, pid):
    record = None
    if recorded:
        with open("/proc/sys/kernel/bpf_stats_enabled", "w") as f:
            f.write("1")
        record = subprocess.Popen([BUILD + "/bin/dfg-trigger", "-q", "--pid", str(pid), "-d", str(SECONDS + 3), "-e", "wall", "-f", "folded",
                                   "-o", DIR + "/out", "--force"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(3)
    begin, ctxt, ns, cpu = parked(), switches(), program_ns(), cpu_of(record.pid) if record else 0
    time.sleep(SECONDS - 1)
    end, more, cpu = parked(), program_ns(), (cpu_of(record.pid) if record else 0) - cpu
    ctxt = switches() - ctxt
    if record:
        record.wait()
    s = end[0] - begin[0]
    whole = os.cpu_count() * s / 100
    return (end[1] - begin[1]) / s, ctxt / s, {n: (more[n] - ns[n]) / 1e9 / whole for n in PROGRAMS}, cpu / whole


for rate in os.environ["RATE"].split():
    with open(DIR + "/log", "w") as log:
        program = subprocess.Popen([os.environ["JAVA"], "-cp", DIR, "Parks", os.environ["THREADS"], rate], stdout=log)
    try:
        time.sleep(4)
        ratios, kernel, user, all_switches, parks = [], [], [], [], []
        for _ in range(TURNS):
            alone = turn(False, program.pid)
            parts = turn(True, program.pid)
            parks.append(parts[0])
            ratios.append(parts[0] / alone[0])
            all_switches.append(parts[1])
            kernel.append(parts[2])
            user.append(parts[3])
    finally:
        program.kill()
    sums = sorted(sum(k.values()) for k in kernel)
    print(f"{statistics.median(parks):.0f} parks, {statistics.median(all_switches):.0f} switches a second: {statistics.median(ratios):.3f} of those alone "
          f"({min(ratios):.3f} to {max(ratios):.3f}); programs {statistics.median(sums):.2f} % of the machine ({sums[0]:.2f} to {sums[-1]:.2f}: "
          + ", ".join(f"{n} {statistics.median(k[n] for k in kernel):.2f}" for n in PROGRAMS[:3]) + f"); dfg's processes {statistics.median(user):.2f} %", flush=True)
END_OF_PROGRAM
