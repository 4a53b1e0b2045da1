#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the agent leaves in a busy JVM in which it was loaded LOADS (1000) times, every other time with a request,
# and triggered every second for MINUTES (30): throughput and latencies of small requests, resident memory,
# descriptors and threads, before, during and after. A dump that is not whole ends it.
#
#	bench/agent-soak.sh [JAVA]       BUILD= where the agent is (build); CALM seconds without dumps (60)
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$top/$build ;; esac
so=$build/payload/libdfg-agent.so inject=$build/payload/dfg-inject
loads=${LOADS:-1000} minutes=${MINUTES:-30} calm=${CALM:-60}
seconds=$(awk "BEGIN {print int($minutes * 60)}")
dir=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT

javac -nowarn -d "$dir" "$top/tests/java/Requests.java"
mkdir "$dir/share" "$dir/ctl"
mkfifo "$dir/in" "$dir/out"
# All of the heap, and all of the JVM's threads, from the start: what is added is the agent's.
"${1:-java}" -XX:+UseSerialGC -Xms128m -Xmx128m -XX:+AlwaysPreTouch -XX:-UseDynamicNumberOfCompilerThreads \
	-cp "$dir" Requests <"$dir/in" >"$dir/out" 2>"$dir/err" &
pid=$!
exec 5>"$dir/in" 6<"$dir/out"
read -r line <&6
[ "$line" = ready ]

printf '%-32s %9s %7s %7s %8s %8s %9s %4s %8s\n' '' requests/s p50,us p99,us p99.9,us max,us RSS,KiB fds threads
# row NAME: of the time since the row before
row() {
	echo >&5
	read -r -a served <&6
	printf '%-32s %9s %7s %7s %8s %8s %9s %4s %8s\n' "$1" "${served[@]}" \
		"$(awk '/^Rss/ {print $2}' "/proc/$pid/smaps_rollup")" "$(ls "/proc/$pid/fd" | wc -l)" "$(ls "/proc/$pid/task" | wc -l)"
}
whole() { tr -d '\0' <"$1" | grep -aq '^#dfg1 end .*status=0'; }
# dump NUMBER COMMAND…: a new file for the agent, which it fills within 10 s
dump() {
	local file=$dir/share/map$1 i
	fallocate -l 16M "$file"
	"${@:2}"
	for i in $(seq 1000); do
		! whole "$file" || break
		sleep 0.01
	done
	whole "$file" || { echo "agent-soak.sh: dump $1 is not whole" >&2; exit 1; }
	rm "$file"
}
load() { "$inject" "$pid" "$so" "dir=$dir/share,ctl=$dir/ctl${1:+,request=seq:$1:$pid:map$1}"; }
ask() {
	echo "dfg1 dump seq=$1 host_pid=$pid out=map$1" >"$dir/ctl/new"
	mv "$dir/ctl/new" "$dir/ctl/request.$pid"
}

sleep "$calm"
row 'warming up'
sleep "$calm"
row 'without agent'
load ''
sleep "$calm"
row 'agent loaded once'
for n in $(seq "$loads"); do
	if [ $((n % 2)) = 0 ]; then load ''; else dump "$n" load "$n"; fi
done
row "loaded $loads times"
ended=$((loads + seconds))
for n in $(seq $((loads + 1)) "$ended"); do
	dump "$n" ask "$n"
	sleep 1
	[ $(((n - loads) % 300)) != 0 ] || row "triggered $((n - loads)) times"
done
[ $((seconds % 300)) = 0 ] || row "triggered $seconds times"
sleep "$calm"
row 'without dumps, at the end'
exec 5>&-
wait "$pid"
pid=
[ ! -s "$dir/err" ] || cat "$dir/err"
