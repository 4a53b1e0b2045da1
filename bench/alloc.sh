#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What recording allocations costs, and how right it is: tests/java/Alloc.java with four threads, slowed to about 1 GB/s
# and at full speed, by turns alone, recorded with -e cpu and with -e cpu,alloc.
#
#	bench/alloc.sh		as root; 4 minutes
#
# JAVA (java), TURNS (5), OPTIONS (of the JVM). Of each kind the median of its ratios to the turn alone before it, and
# the lowest and highest: bytes a second, and bytes by the processor time of the program, which has that of the probes.
# error: dfg's sum to the JVM's own counter over the same time (tests/java/alloc.py). probes: what the BPF program
# takes, by kernel.bpf_stats_enabled, which is put back. dfg: user and system time of all of dfg-trigger, with drawing
# folded text, of a recording of 5 s.
set -eu -o pipefail
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} JAVA=${JAVA:-java} TURNS=${TURNS:-5} OPTIONS=${OPTIONS:--Xmx512m}
DIR=$(mktemp -d /tmp/dfg-alloc.XXXXXX)
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; rm -rf "$DIR"' EXIT
javac --release 8 -Xlint:-options -d "$DIR" tests/java/Alloc.java
echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs, Linux $(uname -r)"
PATH=$PATH:/usr/sbin:/sbin python3 -B - "$DIR" <<'END_OF_PROGRAM'
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import time

DIR = sys.argv[1]
BUILD, TURNS = os.environ["BUILD"], int(os.environ["TURNS"])
STATS = "/proc/sys/kernel/bpf_stats_enabled"


class Program:
    def __init__(self, pause):
        self.log = open(DIR + "/log", "w")
        self.process = subprocess.Popen([os.environ["JAVA"], *os.environ["OPTIONS"].split(), "-cp", DIR, "Alloc", "4", str(pause)],
                                        stdout=self.log)
        self.pid = self.process.pid
        time.sleep(5)

    def used(self):
        """Processor time of its threads, none of which ends."""
        return sum(int(open(p).read().split()[0]) for p in glob.glob(f"/proc/{self.pid}/task/*/schedstat")) / 1e9

    def allocated(self):
        """About now, by the line that took the shortest of its last ones, and when that was."""
        with open(DIR + "/log", "rb") as f:
            f.seek(max(0, os.path.getsize(DIR + "/log") - 1000))
            lines = [[int(w) for w in line.split()] for line in f.read().split(b"\n")[1:-1]]
        begin, end, count = min(lines, key=lambda line: line[1] - line[0])[:3]
        return (begin + end) / 2e9, count

    def rate(self, seconds):
        """Bytes a second, and by second of its processor time."""
        (t0, n0), c0, u0 = self.allocated(), time.monotonic(), self.used()
        time.sleep(seconds)
        (t1, n1), c1, u1 = self.allocated(), time.monotonic(), self.used()
        rate = (n1 - n0) / (t1 - t0) # the last line may be some time ago
        return rate, rate * (c1 - c0) / (u1 - u0)


def programs(pid):
    """BPF programs named `probed` that a process of dfg-trigger has."""
    family = subprocess.run(["pgrep", "-f", f"dfg-trigger.*{DIR}"], capture_output=True, text=True).stdout.split()
    ids = set()
    for p in family:
        for path in glob.glob(f"/proc/{p}/fdinfo/*"):
            try:
                ids.update(re.findall(r"^prog_id:\s*(\d+)", open(path).read(), re.M))
            except OSError:
                pass
    shown = [json.loads(subprocess.run(["bpftool", "-j", "prog", "show", "id", i], capture_output=True, text=True).stdout)
             for i in sorted(ids)]
    return [p for p in shown if p.get("name") == "probed"]


def recorded(program, events, stats=False):
    """Rates while it is recorded, the error in percent, dfg's processor time, the probes' in ns and calls a second."""
    subprocess.run(["rm", "-rf", DIR + "/out"], check=True)
    before = os.times()
    dfg = subprocess.Popen([BUILD + "/bin/dfg-trigger", "--pid", "-q", "--json", "--keep-stacks", "--by", "thread", "--full", "-f",
                            "folded", "-e", events, "-d", "5", "--root", DIR + "/root", "-o", DIR + "/out", str(program.pid)],
                           stdout=open(DIR + "/summary", "w"))
    while not glob.glob(DIR + "/root/tmp/**/perf.data", recursive=True) and dfg.poll() is None:
        time.sleep(0.02)
    time.sleep(0.5)
    probes, first = None, programs(dfg.pid) if stats else []
    rates = program.rate(4)
    if stats:
        last = programs(dfg.pid)
        probes = tuple(sum(p.get(k, 0) for p in last) - sum(p.get(k, 0) for p in first) for k in ("run_time_ns", "run_cnt"))
    assert dfg.wait() == 0
    after = os.times()
    error = ""
    if "alloc" in events:
        time.sleep(0.2)
        out = subprocess.run([sys.executable, "-B", "tests/java/alloc.py", "g1", DIR + "/log", DIR + "/out/session",
                              DIR + "/summary", DIR + "/out/flame-alloc.folded"], capture_output=True, text=True).stdout
        error = re.search(r"dfg ([-+][\d.]+) %", out)[1]
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return rates, error, used, probes


def show(what, values):
    print(f"  {what:36} {statistics.median(values):.3f}, {min(values):.3f} … {max(values):.3f}")


for speed, pause in ("about 1 GB/s", 85), ("full speed", 0):
    program = Program(pause)
    ratios = {(kind, i): [] for kind in ("cpu", "cpu,alloc", "nothing again") for i in (0, 1)}
    alone, errors, dfg = [], [], {"cpu": [], "cpu,alloc": []}
    for turn in range(TURNS):
        base = program.rate(4)
        alone.append(base[0])
        for kind in "cpu", "cpu,alloc":
            rates, error, used, _ = recorded(program, kind)
            dfg[kind].append(used)
            if error:
                errors.append(float(error))
            for i in 0, 1:
                ratios[kind, i].append(rates[i] / base[i])
        again = program.rate(4)
        for i in 0, 1:
            ratios["nothing again", i].append(again[i] / base[i])
    open(STATS, "w").write("1")
    _, _, _, (ns, calls) = recorded(program, "cpu,alloc", True)
    open(STATS, "w").write("0")
    program.process.kill()
    program.process.wait()
    print(f"== {speed}: {statistics.median(alone) / 1e9:.2f} GB/s alone")
    print(f"  error: {', '.join(f'{e:+.2f}' for e in errors)} %")
    print(f"  probes: {calls / 4:.0f} calls a second, {ns / calls:.0f} ns each, {ns / 4e7:.2f} % of a processor")
    for kind in dfg:
        show(f"dfg -e {kind}, seconds", dfg[kind])
    for kind in "cpu", "cpu,alloc", "nothing again":
        show(f"{kind}: bytes a second", ratios[kind, 0])
        show(f"{kind}: by processor time", ratios[kind, 1])
END_OF_PROGRAM
echo "load average $(cut -d' ' -f1-3 /proc/loadavg)"
