#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A JVM whose container has next to no memory left, or no process: it is recorded, and lives.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need prlimit
shop_setup
for c in memory pids; do
	[ -d "/sys/fs/cgroup/$c" ] && mkdir -p "/sys/fs/cgroup/$c/$BOX" || tap_cannot "no cgroup of $c, version 1"
done
group() { echo "/sys/fs/cgroup/$1/$BOX/$2"; }
kills() { awk '$1 == "oom_kill" {print $2}' "$(group memory "$1")/memory.oom_control"; }
lives() { [ "$(cat "/proc/$(bundle_pid "$1")/comm")" = java ] && [ "$(kills "$1")" = 0 ]; }

# A heap that is in memory from the start, and a compiler that needs little: it does not grow meanwhile.
ok "a JVM" shop_start small -Xms96m -Xmx96m -XX:+AlwaysPreTouch -XX:+UseSerialGC -XX:TieredStopAtLevel=1
ok "  with an agent" trigger -q -d 1 --source agent small
is "    which answers" "$(json '.jvms[0].source')" agent
# Of memory that the container has left, the agent takes about 10 MiB for an answer.
memory=$(group memory small)
used=$(cat "$memory/memory.usage_in_bytes")
echo $((used + (8 << 20))) >"$memory/memory.limit_in_bytes"
for source in agent host auto; do
	trigger -q -d 1 --source $source small
	is "8 MiB of memory are left, --source $source: dfg-trigger (case 41)" "$status" 0
	is "  by the host, or not at all" "$(json '.jvms[0].source')" "$([ $source = agent ] && echo none || echo host)"
	ok "  the JVM lives, and nothing was killed (case 41)" lives small
	[ $source = host ] || ok "  which is said" grep -q "its limit leaves [0-9]* KiB of memory" "$SHOP/err" "$SHOP/out"
done
# The container empties each file that the host has made for an answer.
echo $((used + (96 << 20))) >"$memory/memory.limit_in_bytes"
bundle_exec small sh -c 'while :; do for f in /dev/dfg-out/perf-*; do : >"$f"; done; done' >/dev/null 2>&1 &
spoiler=$!
trigger -q -d 1 small
is "it empties the files of answers: dfg-trigger (case 41)" "$status" 0
ok "  one line says so at most" test "$(wc -l <"$SHOP/err")" -le 1
ok "  the JVM lives, and nothing was killed (case 41)" lives small
kill $spoiler 2>/dev/null
wait $spoiler 2>/dev/null
shop_stop small

# No thread can be started in it any more: by its cgroup, or by its user.
ok "another JVM" shop_start full -XX:+UseSerialGC -XX:-UseDynamicNumberOfCompilerThreads
ok "  at work" trigger -q -d 2 --source host full
pids=$(group pids full) pid=$(bundle_pid full)
threads_of() { awk -v u="$1" '/^Uid:/ {mine = $3 == u} /^Threads:/ && mine {n += $2} END {print n}' /proc/[0-9]*/status; }
# Its user may, without a right.
limit_threads() { setpriv --reuid 1000 --regid 1000 --clear-groups prlimit --pid "$pid" --nproc="$1:"; }
before=$(awk '/^Max processes/ {print $3}' "/proc/$pid/limits")
log=$(cat "$SHOP/full/log")
for limit in cgroup user; do
	case $limit in
	cgroup) cat "$pids/pids.current" >"$pids/pids.max" ;;
	user) echo max >"$pids/pids.max" && limit_threads "$(threads_of 1000)" ;;
	esac
	for source in auto host agent; do
		trigger -q -d 1 -f folded --source $source full
		is "no more thread, by its $limit, --source $source: dfg-trigger (case 42)" "$status" 0
		is "  by the host, or not at all" "$(json '.jvms[0].source')" "$([ $source = agent ] && echo none || echo host)"
		ok "  the JVM lives (case 42)" lives full
	done
	ok "  which is said" grep -q "limit.* leaves [0-9]* threads" "$SHOP/err"
done
is "  and has printed nothing" "$(cat "$SHOP/full/log")" "$log"
limit_threads "$before"
ok "with room again: dfg-trigger" trigger -q -d 1 --source agent full
is "  by the agent" "$(json '.jvms[0].source')" agent
tap_done
