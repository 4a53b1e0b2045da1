#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/alloc-jfr.sh PID [SECONDS]: records the allocations of a JVM (JDK 17 or later, which has jcmd and jfr beside it)
# by dfg and by JFR, which writes each new buffer (TLAB) and each object outside of them, at the same time. Prints by
# class and by Java method how much of the shares both agree on: 100 % minus half of all differences. As root.
set -eu
cd "$(dirname "$0")/.."
pid=$1 seconds=${2:-20}
home=$(dirname "$(dirname "$(readlink -f "/proc/$pid/exe")")")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

python3 - "$home/lib/jfr/profile.jfc" "$work/all.jfc" <<'END'
import re
import sys
text = open(sys.argv[1]).read()
for event in ("InNewTLAB", "OutsideTLAB"):
    text = re.sub(r'(<event name="jdk.ObjectAllocation%s">\s*<setting name="enabled"[^>]*>)\w+' % event, r"\1true", text)
open(sys.argv[2], "w").write(text)
END
"$home/bin/jcmd" "$pid" JFR.start name=dfg settings="$work/all.jfc" filename="$work/all.jfr" duration="$((seconds + 1))s" >/dev/null
build/bin/dfg-trigger --pid -q -e alloc -d "$seconds" -f folded --by thread --full -o "$work/dfg" "$pid" >/dev/null
for _ in $(seq 20); do
	sleep 0.5
	[ -s "$work/all.jfr" ] && break
done
sleep 1
build/bin/dfg-merge -q --event alloc -f folded --by thread --full -o "$work/jfr" "$work/all.jfr" >/dev/null
"$home/bin/jfr" summary "$work/all.jfr" | awk '/ObjectAllocation(InNew|Outside)TLAB/ {n += $2} END {print n, "events of JFR"}'
python3 - "$work/dfg/flame.folded" "$work/jfr/flame.folded" <<'END'
import collections
import re
import sys


def shares(path, key):
    counts = collections.Counter()
    for line in open(path):
        stack, _, n = line.rstrip().rpartition(" ")
        frames = stack.split(";")
        counts[key([re.sub(r"_\[[jik0]\]$", "", f) for f in frames if "." in f or f is frames[-1]])] += int(n)
    return {k: n / sum(counts.values()) for k, n in counts.items()}


# Arrays outside of buffers have that after their name in dfg's graphs; functions of JNI are no methods.
for name, key in (("class", lambda f: f[-1].split(" (")[0]), ("method", lambda f: f[-2] if len(f) > 1 else "")):
    dfg, jfr = shares(sys.argv[1], key), shares(sys.argv[2], key)
    print("%s: %.1f %% the same" % (name, 100 * sum(min(dfg[k], jfr[k]) for k in dfg.keys() & jfr.keys())))
END
