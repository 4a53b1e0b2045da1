#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What dfg costs the program it looks at, as throughput relative to the same program left alone. All
# that is compared takes turns in every round, so that what else the machine does meets all alike.
#
#	bench/overhead.sh [recording|vthreads|idle]...      default: all, less than 6 minutes
#
# recording  two threads that compute, at 99 Hz: plain perf record -g, dfg by frame pointers, dfg from
#            stack copies. Root, perf. Goal: dfg within 2 % of plain perf.
# vthreads   200 virtual threads that yield: the agent, idle and after dumps, and for comparison an
#            agent that takes a JVMTI environment and does nothing. JAVA21: a java of JDK 21 or later.
# idle       the computing threads with the agent resident.
#
# On a machine with other work throughput says little; work by the program's own processor time says
# more, but knows nothing of what perf itself uses.
#
# JAVA (java), ROUNDS (5 for recording; of vthreads and idle: JVMs of each kind, 3). Of each kind the
# median of its ratios is shown, and the lowest and highest.
set -eu -o pipefail
cd "$(dirname "$0")/.."
TOP=$PWD
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
[ $# -gt 0 ] || set -- recording vthreads idle
JAVA=${JAVA:-java}
DFG=$BUILD/bin/dfg-trigger AGENT=$BUILD/payload/libdfg-agent.so
DIR=$(mktemp -d /tmp/dfg-overhead.XXXXXX)
declare -A PID IN OUT
cleanup() {
	set +e # all of it, whatever fails
	[ ${#PID[@]} = 0 ] || kill -9 "${PID[@]}" 2>/dev/null || :
	"$BUILD/libexec/dfg-hook" --release --root "$DIR/root" >/dev/null 2>&1 || :
	awk -v d="$DIR/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r umount -l
	rm -rf "$DIR"
}
trap cleanup EXIT
die() { echo "overhead.sh: $*" >&2; exit 1; }

# start NAME COMMAND...: a Counted, asked by pipes
start() {
	local name=$1 in out
	shift
	mkfifo "$DIR/$name.in" "$DIR/$name.out"
	"$@" <"$DIR/$name.in" >"$DIR/$name.out" 2>"$DIR/$name.err" &
	PID[$name]=$!
	exec {in}>"$DIR/$name.in" {out}<"$DIR/$name.out"
	IN[$name]=$in
	OUT[$name]=$out
}
stop() {
	local in=${IN[$1]} out=${OUT[$1]}
	kill -9 "${PID[$1]}"
	wait "${PID[$1]}" 2>/dev/null || :
	exec {in}>&- {out}<&-
	unset "PID[$1]"
	rm -f "$DIR/$1".{in,out}
}
ask() {
	echo >&"${IN[$1]}"
	read -r -t 20 -u "${OUT[$1]}" "$2" "$3" || { cat "$DIR/$1.err" >&2; die "$1 does not answer"; }
}
# Clock ticks of processor time. The interrupts of a recording are charged to whom they meet (but
# not with CONFIG_IRQ_TIME_ACCOUNTING).
used() { awk '{sub(/.*\) /, ""); print $12 + $13}' "/proc/${PID[$1]}/stat"; }
# rate NAME SECONDS: work per second into $rate, per second of its processor time into $efficiency
rate() {
	local t0 n0 t1 n1 c0 c1
	c0=$(used "$1")
	ask "$1" t0 n0
	sleep "$2"
	ask "$1" t1 n1
	c1=$(used "$1")
	rate=$(((n1 - n0) * 1000000000 / (t1 - t0)))
	efficiency=$(((n1 - n0) * TICKS / (c1 - c0)))
	[ "$rate" -gt 0 ] || die "$1 does not work"
}
# What follows is compared with the last measurement.
set_base() { base=$rate base_efficiency=$efficiency; }
note() {
	echo "$1 $rate $base" >>"$DIR/$part"
	echo "$1 $efficiency $base_efficiency" >>"$DIR/$part.cpu"
}
report() {
	awk '{print $1, $2 / $3, $2}' "$1" | sort -k1,1 -k2,2n | awk '
		function flush() {
			if (n) printf "%-34s %7.3f  %7.3f … %.3f  (%d)\n", k, (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2,
				v[1], v[n], n
		}
		$1 != k {flush(); k = $1; n = 0}
		{v[++n] = $2}
		END {flush()}'
}

# ---- recording -------------------------------------------------------------------------------

# The window in which throughput counts is inside of the recording: from when perf has samples, the
# snapshots and copies that dfg makes meanwhile included; drawing comes later and is not.
recorded() {
	local data=$1
	shift
	"$@" >"$DIR/log" 2>&1 &
	local tool=$!
	for _ in $(seq 200); do
		[ -s "$data" ] && break
		kill -0 $tool 2>/dev/null || break
		sleep 0.05
	done
	sleep 0.2
	rate work 4
	wait $tool || { cat "$DIR/log" >&2; die "$*"; }
}
with_dfg() {
	rm -rf "$DIR/graph"
	recorded "$DIR/graph/session/perf.data" "$DFG" --pid "${PID[work]}" -q --keep-stacks -F 99 -d 5 --source host \
		--root "$DIR/root" -o "$DIR/graph" "$@"
}
recording() {
	start work "$JAVA" -cp "$DIR" Counted cpu 2
	sleep 4
	for _ in $(seq "${ROUNDS:-5}"); do
		rate work 4
		set_base
		rm -f "$DIR/perf.data"
		recorded "$DIR/perf.data" perf record -q -g -F 99 -p "${PID[work]}" -o "$DIR/perf.data" -- sleep 5
		note perf-record-g
		with_dfg --unwind fp
		note dfg-fp
		with_dfg --unwind vm --stack 8192
		note dfg-vm-8192
		with_dfg --unwind vm --stack 16384
		note dfg-vm-16384
		rate work 4
		note nothing-again
	done
	stop work
}

# ---- the agent -------------------------------------------------------------------------------

agent_option() { echo "-agentpath:$AGENT=dir=$DIR/share,ctl=$DIR/ctl"; }
# A dump as dfg asks for it, and the proof that it was made.
dump() {
	local pid=$1
	rm -f "$DIR/share/map"
	fallocate -l 16M "$DIR/share/map"
	seq=$((seq + 1))
	echo "dfg1 dump seq=$seq host_pid=$pid out=map" >"$DIR/ctl/new"
	mv "$DIR/ctl/new" "$DIR/ctl/request.$pid"
	for _ in $(seq 100); do
		grep -qa "#dfg1 end.*seq=$seq" "$DIR/share/map" && return
		sleep 0.1
	done
	die "no dump"
}
# alone NAME: its rate, the others stopped
alone() {
	kill -CONT "${PID[$1]}"
	sleep 0.3
	rate "$1" 2
	kill -STOP "${PID[$1]}"
}
warm() {
	start "$@"
	sleep 4
	kill -STOP "${PID[$1]}"
}
make_jvmti() {
	local home
	home=$(dirname "$(dirname "$(readlink -f "$(command -v "$1")")")")
	${CC:-cc} -shared -fPIC -I"$home/include" -I"$home/include/linux" -o "$DIR/jvmti.so" -x c - <<'END'
#include <jvmti.h>
JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	void *env;
	return (*vm)->GetEnv(vm, &env, JVMTI_VERSION_1_2);
}
END
}
newest_java() {
	local j
	for j in "${JAVA21:-}" "$JAVA" /usr/lib/jvm/*/bin/java; do
		[ -n "$j" ] && [ "$("$j" -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p')" -ge 21 ] 2>/dev/null &&
			readlink -f "$(command -v "$j")" && return
	done
	return 1
}
vthreads() {
	local java j
	java=$(newest_java) || { echo "no JDK 21 or later (JAVA21)"; return; }
	make_jvmti "$java"
	"$java" -version 2>&1 | sed -n 2p
	for _ in $(seq "${ROUNDS:-3}"); do
		warm none "$java" -cp "$DIR" Counted yield 200
		warm agent "$java" "$(agent_option)" -cp "$DIR" Counted yield 200
		warm jvmti "$java" -agentpath:"$DIR/jvmti.so" -cp "$DIR" Counted yield 200
		for _ in 1 2; do
			alone none
			set_base
			alone agent
			note agent-idle
			alone jvmti
			note jvmti-environment
			alone none
			note nothing-again
		done
		kill -CONT "${PID[agent]}"
		dump "${PID[agent]}"
		kill -STOP "${PID[agent]}"
		for _ in 1 2; do
			alone none
			set_base
			alone agent
			note agent-after-dump
		done
		for j in none agent jvmti; do stop $j; done
	done
}
idle() {
	for _ in $(seq "${ROUNDS:-3}"); do
		warm none "$JAVA" -cp "$DIR" Counted cpu 2
		warm agent "$JAVA" "$(agent_option)" -cp "$DIR" Counted cpu 2
		for _ in 1 2 3; do
			alone none
			set_base
			alone agent
			note agent-idle
			alone none
			note nothing-again
		done
		kill -CONT "${PID[agent]}"
		cpu0=$(agent_cpu)
		sleep 2
		echo "the agent's thread used $(($(agent_cpu) - cpu0)) ns of processor time in 2 s"
		stop none
		stop agent
	done
}
agent_cpu() {
	local tid
	tid=$(sed -n 's/.*tid=\([0-9]*\).*/\1/p' "$DIR/share/agent.${PID[agent]}")
	cut -d' ' -f1 "/proc/${PID[agent]}/task/$tid/schedstat"
}

mkdir "$DIR/share" "$DIR/ctl"
seq=0
TICKS=$(getconf CLK_TCK)
javac --release 17 -d "$DIR" bench/Counted.java
echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs, Linux $(uname -r)"
for part; do
	case $part in recording | vthreads | idle) ;; *) die "no part \"$part\"" ;; esac
	: >"$DIR/$part"
	: >"$DIR/$part.cpu"
	echo "== $part"
	"$part"
	echo "-- throughput relative to nothing: median, lowest … highest (how many)"
	report "$DIR/$part"
	echo "-- work by the program's own processor time, relative to nothing"
	report "$DIR/$part.cpu"
done
echo "load average $(cut -d' ' -f1-3 /proc/loadavg)"
