#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a snapshot costs, in time and to the JVM: many compiled methods, twelve dumps, and a Java
# thread that measures its own longest pause in each second, without dumps and with one.
# A dump that stopped threads would show as a pause of its own length, and as a safepoint.
#
#	bench/agent-dump.sh [JAVA]       BUILD= where the agent is (build)
#
# CLASSES: of 25 methods each (420). The time the reader outside takes is shown where tools/snapfrom
# is built (make BUILD/tools/snapfrom) and may read the JVM.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$top/$build ;; esac
so=$build/payload/libdfg-agent.so
java=${1:-java}
calm=12 # seconds without dumps
dumps=12
dir=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT

javac -nowarn -d "$dir" "$top/tests/java/ManyMethods.java"
mkdir "$dir/share" "$dir/ctl"
"$java" -XX:TieredStopAtLevel=1 -Xbatch -XX:ReservedCodeCacheSize=240m \
	-Xlog:safepoint:file="$dir/safepoints" -agentpath:"$so=dir=$dir/share,ctl=$dir/ctl" \
	-cp "$dir" ManyMethods "${CLASSES:-420}" $((calm + dumps + 60)) >"$dir/out" 2>"$dir/err" &
pid=$!
until grep -q ready "$dir/out"; do
	kill -0 $pid
	sleep 0.2
done
gaps() { sed -n 's/^gap //p' "$dir/out" | tail -n "+$(($1 + 1))" | head -n "$2" | sort -n; }
seconds() { grep -c '^gap' "$dir/out" || :; }
safepoints() { grep -c 'Safepoint "' "$dir/safepoints" || :; }
wait_seconds() {
	until [ "$(seconds)" -ge "$1" ]; do
		kill -0 $pid
		sleep 0.1
	done
}
# Microseconds on a CPU, of the agent's thread.
cpu() { echo $(($(cut -d' ' -f1 "/proc/$pid/task/$tid/schedstat") / 1000)); }
resident() { awk '/^Rss/ {n += $2} END {print n}' "/proc/$pid/smaps_rollup"; }
summary() { awk '{v[NR] = $1} END {print "best " v[1] ", median " v[int((NR + 1) / 2)] ", worst " v[NR]}'; }

wait_seconds 1
before=$(safepoints)
wait_seconds $calm
calm_safepoints=$(($(safepoints) - before))
before=$(safepoints)
rss=$(resident)
tid=$(sed -n 's/.*tid=//p' "$dir/share/agent.$pid")
cpu=$(cpu)
for n in $(seq $dumps); do
	fallocate -l 32M "$dir/share/map$n"
	echo "dfg1 dump seq=$n host_pid=$pid out=map$n" >"$dir/ctl/new"
	mv "$dir/ctl/new" "$dir/ctl/request.$pid"
	wait_seconds $((calm + n))
done
cpu=$(($(cpu) - cpu))
dump_safepoints=$(($(safepoints) - before))
trailers=$(for n in $(seq $dumps); do tr -d '\0' <"$dir/share/map$n" | tail -c 200 | grep -ao "#dfg1 end.*" || :; done)
outside() {
	local n
	[ -x "$build/tools/snapfrom" ] || { echo "tools/snapfrom is not built"; return; }
	for n in $(seq 5); do
		"$build/tools/snapfrom" $pid "$dir/outside" | sed -n 's/.* us=//p'
	done | sort -n | summary
}

echo "load average           $(cut -d" " -f1 /proc/loadavg), $(nproc) CPUs"
echo "JVM                    $("$java" -version 2>&1 | tail -n 1)"
echo "entries                $(sed -n 's/.*entries=\([0-9]*\).*/\1/p' <<<"$trailers" | sort -n | summary)"
echo "skipped                $(sed -n 's/.*skipped=\([0-9]*\).*/\1/p' <<<"$trailers" | sort -n | summary)"
echo "dump, us               $(sed -n 's/.* us=\([0-9]*\).*/\1/p' <<<"$trailers" | sort -n | summary)"
echo "dump, us on a CPU      mean $((cpu / dumps))"
echo "from outside, us       $(outside)"
echo "longest pause/s, us    without: $(gaps 1 $((calm - 1)) | summary)"
echo "                       with:    $(gaps $calm $dumps | summary)"
echo "safepoints             without: $calm_safepoints in $((calm - 1)) s, with: $dump_safepoints in $dumps s"
echo "resident, KiB          before: $rss, after: $(resident)"
kill $pid
wait $pid 2>/dev/null || :
pid=
