#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each system call of dfg-inject fails once, or is its last; each call of the agent's thread fails once while it
# answers. Whatever fails: dfg-inject ends with a reason and leaves no file for HotSpot, the agent gives a whole map
# or none, with its status; the next load, or request, works; the JVM has as many threads and descriptors as before.
# Cases 28, 29. Errors by turns; FULL=1: each call with each error. The thread cannot be killed alone: that is the JVM.
. "$(dirname "$0")/../../lib/tap.sh"
need_root
need java javac fallocate strace
so=$BUILD/payload/libdfg-agent.so inject=$BUILD/payload/dfg-inject
[ -x "$inject" ] || tap_cannot "no $inject"
dir=$(mktemp -d)
chmod 755 "$dir"
began=$(date +%s%N)
share=$dir/share ctl=$dir/ctl
pid=
trap '[ -z "$pid" ] || kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT
errors=(error=EPERM error=ENOSYS error=EINTR error=ENOMEM error=EMFILE error=ENOSPC)
mkdir "$share" "$ctl" "$dir/cwd"
javac -d "$dir" "$TOP/tests/java/Busy.java"

start() { # OPTION…: a JVM of fixed threads
	rm -f "$dir/stop" "$dir/out"
	(cd "$dir/cwd" && exec java -XX:+UseSerialGC -Xmx64m -XX:-UseDynamicNumberOfCompilerThreads "$@" -cp "$dir" \
		Busy "$dir/stop") >"$dir/out" 2>"$dir/err" &
	pid=$!
	wait_for grep -qs warm "$dir/out"
}
wait_end() {
	touch "$dir/stop"
	wait $pid
	status=$?
}
ended() { [ $status = 0 ] && [ "$(paste -sd' ' "$dir/out")" = "warm done" ] && ! grep . "$dir/err"; }
jvm() { # its state, descriptors and threads
	[[ "$(cut -d' ' -f3 /proc/$pid/stat)" == [RS] ]] && echo runs
	ls /proc/$pid/fd | wc -l
	cat /proc/$pid/task/*/comm | sort
}
is_as_before() { cmp -s "$dir/before" <(jvm); }
trailer() { tr -d '\0' <"$1" | grep -a '^#dfg1 end'; }
# Names of the calls in a trace, and how often; but for the start and the end of a program, for closing (a fault leaves
# the descriptor open, whatever the program does), and for writing, in which reasons are given.
calls() {
	sed -n 's/^[0-9]* *\([a-z][a-z0-9_]*\)(.*/\1/p' "$1" | sort | uniq -c |
		grep -vE ' (execve|exit|exit_group|restart_syscall|rt_sigreturn|arch_prctl|close|write)$'
}
# Of a call that is made so often: which time, and with what.
places() {
	if [ -n "${FULL:-}" ]; then seq 1 $(($1 < 6 ? $1 : 6)); else printf "%s\n" 1 $((($1 + 1) / 2)) "$1"; fi | sort -nu
}
kinds() {
	local all=("${errors[@]}" "$@")
	if [ -n "${FULL:-}" ]; then printf '%s\n' "${all[@]}"; else echo "${all[$(wc -l <"$dir/faults") % ${#all[@]}]}"; fi
}
# each FUNCTION CALL TIMES MORE…: the function with the call, an error and which time, for all of these
each() {
	local when what failed=0
	for when in $(places "$3"); do
		for what in $(kinds "${@:4}"); do
			"$1" "$2" "$what" "$when" >"$dir/said" 2>&1 || { echo "$2:$what:when=$when:" && cat "$dir/said" && failed=1; }
			echo "$2:$what:$when" >>"$dir/faults"
		done
	done
	return $failed
}
: >"$dir/faults"

# ---- dfg-inject ----

load() { "$@" "$inject" "$pid" "$so" "dir=$share,ctl=$ctl"; }
# HotSpot makes its socket anew where the file is gone: each time is the first.
first_load() { rm -f "/tmp/.java_pid$pid" && load "$@"; }
inject_fails() { # CALL WHAT WHEN
	local status
	first_load timeout -k 1 20 strace -f -o "$dir/trace" -e "trace=$1" -e "inject=$1:$2:when=$3" >"$dir/line" 2>&1
	status=$?
	case $status in
	0 | 137) ;;
	124) echo "does not end" && return 1 ;;
	*) grep -Eq '^dfg(-inject)?: ' "$dir/line" || { echo "status $status without a reason: $(cat "$dir/line")" && return 1; } ;;
	esac
	! grep 'killed by SIG[^K]' "$dir/trace" || return 1
	# Where nothing can be removed, or nobody is left to do so, the next one does.
	first_load >"$dir/line" 2>&1 || { echo "the next load: $(cat "$dir/line")" && return 1; }
	! ls "$dir/cwd/.attach_pid$pid" "/tmp/.attach_pid$pid" 2>/dev/null || return 1
	WAIT_SECONDS=10 wait_for is_as_before || diff "$dir/before" <(jvm)
}

start
ok "the agent is loaded" first_load strace -f -o "$dir/all"
ok "  and again" first_load
jvm >"$dir/before"
while read -r times call; do
	ok "dfg-inject: $call fails or is the last" each inject_fails "$call" "$times" signal=KILL
done < <(calls "$dir/all")
diag "dfg-inject: $(wc -l <"$dir/faults") faults in $(calls "$dir/all" | wc -l) calls"
: >"$dir/faults"
wait_end
ok "the JVM ends as it would" ended

# ---- the agent ----

# ask NAME: for a map, in a new file; waits for its end
ask() {
	seq=$((($(date +%s%N) - began) / 1000000)) # of each request a higher one, also in a subshell
	rm -f "$share/$1"
	fallocate -l 1M "$share/$1"
	echo "dfg1 dump seq=$seq host_pid=$pid out=$1" >"$ctl/new"
	mv "$ctl/new" "$ctl/request.$pid"
	wait_for trailer "$share/$1"
}
whole() { trailer "$share/$1" | grep -q " seq=$seq status=0 "; }
agent() { grep -lx dfg-agent /proc/$pid/task/*/comm | sed 's/.*task.\([0-9]*\).*/\1/'; }
# traced OPTION…: strace at work on the agent's thread, or both have ended, where a fault ends the thread; until untraced
traced() {
	tid=$(agent)
	strace -q -p "$tid" "$@" 2>"$dir/strace" &
	tracer=$!
	wait_for tracer_is_or_ended
}
tracer_is_or_ended() { grep -q "TracerPid:.$tracer$" "/proc/$pid/task/$tid/status" || ! kill -0 $tracer; }
untraced() {
	kill $tracer 2>/dev/null
	wait $tracer 2>/dev/null
	wait_for untraced_or_ended
}
untraced_or_ended() { [ ! -e "/proc/$pid/task/$tid" ] || grep -q "TracerPid:.0$" "/proc/$pid/task/$tid/status"; }
agent_fails() { # CALL WHAT WHEN
	local ended=
	traced -o "$dir/trace" -e "trace=$1" -e "inject=$1:$2:when=$3" || return
	WAIT_SECONDS=2 ask faulty
	untraced
	# What says that it is whole, is.
	! whole faulty || [ "$(trailer "$share/faulty" | sed 's/.* entries=\([0-9]*\) .*/\1/')" = \
		"$(tr -d '\0' <"$share/faulty" | grep -ac -v '^#')" ] || { trailer "$share/faulty" && return 1; }
	# Its thread ends where it can wait no more; the next load begins another. It leaves its descriptors open, whose
	# numbers may be others' by then.
	[ -n "$(agent)" ] || { load && ended=1; } || return
	{ ask clean && whole clean; } || { echo "the next request: $(trailer "$share/clean")" && return 1; }
	[ -z "$ended" ] || jvm >"$dir/before"
	rm -f "$share/faulty" "$share/clean"
	WAIT_SECONDS=10 wait_for is_as_before || diff "$dir/before" <(jvm)
}
start "-agentpath:$so=dir=$share,ctl=$ctl"
ok "is asked" ask clean
jvm >"$dir/before"
traced -f -o "$dir/all"
ok "and traced" ask clean
untraced
sed -i "/^$(agent) /!d" "$dir/all"
while read -r times call; do
	ok "the agent: $call fails" each agent_fails "$call" "$times"
done < <(calls "$dir/all")
diag "the agent: $(wc -l <"$dir/faults") faults in $(calls "$dir/all" | wc -l) calls"
wait_end
ok "the JVM ends as it would" ended
pid=
tap_done
