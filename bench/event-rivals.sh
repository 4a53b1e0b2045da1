#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/event-rivals.sh alloc|lock PID [SECONDS]: records allocations, or waits for locks, of a JVM (JDK 17 or later, which has
# jcmd and jfr beside it) by dfg and its rivals, and prints by class and by Java method how much of the shares both agree on:
# 100 % minus half of all differences. As root.
#
# ASPROF=/path/to/asprof adds async-profiler. alloc: all at the same time; JFR writes each new buffer (TLAB) and each object
# outside of them, async-profiler samples each ASPROF_ALLOC (512k) bytes. lock: async-profiler alone, after dfg, as its own
# Unsafe.park hides from dfg which thread calls; of the delay its shortest waits count, too (--lock 1).
set -eu
cd "$(dirname "$0")/.."
event=$1 pid=$2 seconds=${3:-20}
home=$(dirname "$(dirname "$(readlink -f "/proc/$pid/exe")")")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

ours() {
	build/bin/dfg-trigger --pid -q -e "$event" -d "$seconds" -f folded --by thread --full -o "$work/dfg" "$pid" >/dev/null
}

# theirs NAME: draws $work/NAME.jfr and compares it
theirs() {
	build/bin/dfg-merge -q --event "$event" -f folded --by thread --full -o "$work/$1" "$work/$1.jfr" >/dev/null
	python3 - "$1" "$work/dfg/flame.folded" "$work/$1/flame.folded" "$event" <<'END'
import collections
import re
import sys

EVENT = sys.argv[4]
# What each wait goes through: those of one class differ by their caller.
WAITS = ("java.util.concurrent.", "jdk.internal.misc.Unsafe.park", "sun.misc.Unsafe.park") if EVENT == "lock" else ()


def shares(path, key):
    counts = collections.Counter()
    for line in open(path):
        stack, _, n = line.rstrip().rpartition(" ")
        frames = stack.split(";held by")[0].split(";")
        counts[key([re.sub(r"_\[[jik0]\]$", "", f) for f in frames
                    if f is frames[-1] or "." in f and not f.startswith(WAITS)])] += int(n)
    return sum(counts.values()), {k: n / sum(counts.values()) for k, n in counts.items()}


# Arrays outside of buffers have that after their name in dfg's graphs; functions of JNI are no methods.
for name, key in (("class", lambda f: f[-1].split(" (")[0]), ("method", lambda f: f[-2] if len(f) > 1 else "")):
    (all_dfg, dfg), (all_rival, rival) = shares(sys.argv[2], key), shares(sys.argv[3], key)
    if name == "class":
        print(f"{sys.argv[1]}: {all_rival} in all, dfg {all_dfg}")
    print(f"  {name}: {100 * sum(min(dfg[k], rival[k]) for k in dfg.keys() & rival.keys()):.1f} % the same")
    for k in sorted(dfg.keys() | rival.keys(), key=lambda k: -abs(dfg.get(k, 0) - rival.get(k, 0)))[:3]:
        print(f"    {100 * rival.get(k, 0):5.1f} %, dfg {100 * dfg.get(k, 0):5.1f} %  {k}")
END
}

if [ "$event" = lock ]; then
	ours
	"${ASPROF:?async-profiler}" -e lock --lock 1 -d "$seconds" -f "$work/asprof.jfr" "$pid" >/dev/null
	theirs asprof
	exit
fi

python3 - "$home/lib/jfr/profile.jfc" "$work/all.jfc" <<'END'
import re
import sys
text = open(sys.argv[1]).read()
for event in ("InNewTLAB", "OutsideTLAB"):
    text = re.sub(r'(<event name="jdk.ObjectAllocation%s">\s*<setting name="enabled"[^>]*>)\w+' % event, r"\1true", text)
open(sys.argv[2], "w").write(text)
END
"$home/bin/jcmd" "$pid" JFR.start name=dfg settings="$work/all.jfc" filename="$work/jfr.jfr" duration="$((seconds + 1))s" >/dev/null
[ -z "${ASPROF:-}" ] || "$ASPROF" -e alloc --alloc "${ASPROF_ALLOC:-512k}" -d "$((seconds + 1))" -f "$work/asprof.jfr" "$pid" >/dev/null &
ours
wait
for _ in $(seq 20); do
	sleep 0.5
	[ -s "$work/jfr.jfr" ] && break
done
sleep 1
theirs jfr
"$home/bin/jfr" summary "$work/jfr.jfr" | awk '/ObjectAllocation(InNew|Outside)TLAB/ {n += $2} END {print "  " n " events"}'
[ -z "${ASPROF:-}" ] || theirs asprof
