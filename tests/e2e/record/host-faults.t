#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each system call that a recording makes fails once in each process that comes so far, or is its process's last, with
# a real JVM, for the three ways of a snapshot: the resident agent, the agent loaded for it, and the host's reader.
# Whatever fails: dfg-trigger ends in time, with graphs or with a line that says why there are none; nothing of it
# runs on or lies about; the next recording works, by the same agent; the JVM runs on. Cases 28, 29 for the host.
# Of each call one of its first, middle and last times, with errors by turns; FULL=1: all three.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need strace python3 pgrep
shop_setup
notes=$SHOP/notes # what this test itself writes
mkdir "$notes"

ways=(agent load host)
declare -A options=([agent]="--source agent" [load]="--source agent --trigger load" [host]="--source host")
run() { # WAY OUTPUT PREFIX…
	# shellcheck disable=SC2086
	"${@:3}" "$DFG" --json -q -d 1 -f folded ${options[$1]} -o "$2" "$1"
}

# Lines "CALL WAY WHAT WHEN", from traces of all ways.
plan() {
	python3 - "$notes" "${FULL:-}" "${ways[@]}" <<'END'
import collections, re, sys
notes, full, *ways = sys.argv[1:]
# Those that have no error or return to nowhere, and the start by strace.
# An error of brk would pass for an address: the kernel has none.
skipped = {"exit_group", "exit", "rt_sigreturn", "restart_syscall", "arch_prctl", "set_tid_address", "execve", "brk"}
kinds = ["error=" + e for e in ("EPERM", "ENOSYS", "EINTR", "ENOMEM", "EMFILE", "ENOSPC")] + ["signal=KILL"]
times = {}
for way in ways:
    counts, loader, started = collections.defaultdict(collections.Counter), collections.Counter(), False
    for pid, call in re.findall(r"^(\d+) +(\w+)\(", open(f"{notes}/{way}.trace").read(), re.M):
        counts[call][pid] += 1
        started = started or call == "geteuid" # the loader's calls are before it
        if not started:
            loader[call] += 1
    for call, by in counts.items():
        numbers = sorted(n for pid, n in by.items() if n > loader[call]) or sorted(by.values())
        times[call, way] = [loader[call] + 1, numbers[len(numbers) // 2], numbers[-1]]
turn = 0
for i, call in enumerate(sorted({c for c, _ in times} - skipped)):
    for place in range(3):
        if not full and place != i % 3:
            continue
        has = [w for w in ways if (call, w) in times]
        way = has[(i + place) % len(has)]
        print(call, way, kinds[turn % len(kinds)], times[call, way][place])
        turn += 1
END
}

jvm_runs() { [[ "$(cut -d' ' -f3 "/proc/$1/stat")" == [RS] ]]; }
none_runs() { ! pgrep -f -- "$1" >/dev/null; }
# What a run may have left, but for its output.
left() {
	find "$DFG_ROOT/containers/$1"/{out,ctl} -type f ! -name 'agent.*' 2>/dev/null
	find "$SHOP/$1/tmp" -name '.attach_pid*'
	ls /tmp "$TMPDIR" /dev/shm
	cut -d' ' -f5 /proc/self/mountinfo
}
reason() { # OUTPUT STATUS: graphs, or why not
	[ "$2" != 124 ] || { echo "did not end" && return 1; }
	case $2 in
	# A JVM that had no processor in this second has an empty one, which is said.
	0 | 4) [ -s "$1/flame.folded" ] || { [ -e "$1/flame.folded" ] && grep -q 'no sample of' "$1.err"; } ||
		{ echo "no graph" && return 1; } ;;
	137) ;; # it was killed itself
	*)
		[ -s "$1.err" ] || { echo "says nothing" && return 1; }
		[ ! -e "$1" ] || [ -e "$1/flame.folded" ] || grep -q 'is kept' "$1.err" || { ls -R "$1" && return 1; }
		;;
	esac
}
again() { # WAY OUTPUT
	run "$1" "$2.again" timeout -k 1 60 >"$2.json" 2>"$2.again.err" || { echo "the next run: $(cat "$2.again.err")" && return 1; }
	[ "$1" = host ] || [ "$(jq -r '.jvms[0].source' "$2.json")" = agent ] || { jq -c .jvms "$2.json" && return 1; }
}
# fault CALL WAY WHAT WHEN
fault() {
	local call=$1 way=$2 out=$notes/out.$2/o status failed=0
	rm -rf "$notes/out.$way" && mkdir "$notes/out.$way"
	run "$way" "$out" timeout -k 1 60 strace -f --seccomp-bpf -o "$notes/out.$way/trace" \
		-e "trace=$call" -e "inject=$call:$3:when=$4" >/dev/null 2>"$out.err"
	status=$?
	! grep -q 'INJECTED\|killed by SIGKILL' "$notes/out.$way/trace" || echo hit >>"$notes/hits"
	echo "$call:$3:when=$4, $way: status $status: $(head -c 300 "$out.err")"
	wait_for none_runs "$out" || { echo "runs on: $(pgrep -af -- "$out")" && failed=1; }
	! grep 'killed by SIG\(SEGV\|BUS\|ILL\|SYS\|TRAP\|FPE\)' "$notes/out.$way/trace" || failed=1
	reason "$out" $status || failed=1
	# One that has ended well is followed by the next fault's.
	[ $status = 0 ] || again "$way" "$out" || failed=1
	diff <(left "$way") "$notes/$way.left" || { echo "is left" && failed=1; }
	jvm_runs "$(bundle_pid "$way")" || { echo "the JVM" && failed=1; }
	return $failed
}
# One way after the other has its faults; the three at a time.
faults() {
	local call way what when
	while read -r call way what when; do
		[ "$way" = "$1" ] || continue
		fault "$call" "$way" "$what" "$when" >"$notes/said.$way" 2>&1 || {
			echo "$call" >>"$notes/failed"
			cat "$notes/said.$way" >>"$notes/why.$call"
		}
		cat "$notes/said.$way" >>"$notes/all"
	done <"$notes/plan"
}

for way in "${ways[@]}"; do
	ok "a container, recorded by way of $way" shop_start "$way"
	ok "  without a fault" run "$way" "$notes/first.$way" strace -f -o "$notes/$way.trace"
done
plan >"$notes/plan"
touch "$notes"/{hits,all}
for way in "${ways[@]}"; do left "$way" >"$notes/$way.left"; done
for way in "${ways[@]}"; do faults "$way" & workers="${workers:-} $!"; done
# shellcheck disable=SC2086
wait $workers
worked() { [ ! -e "$notes/why.$1" ] || { cat "$notes/why.$1" && false; }; }
for call in $(cut -d' ' -f1 "$notes/plan" | uniq); do
	ok "$call fails or is the last: a reason, nothing left, the next run works" worked "$call"
done
diag "$(wc -l <"$notes/plan") faults, $(wc -l <"$notes/hits") of them met a call"
ok "most faults met a call" test "$(($(wc -l <"$notes/hits") * 2))" -gt "$(wc -l <"$notes/plan")"
[ -z "${DFG_FAULTS_LOG:-}" ] || cp "$notes/all" "$DFG_FAULTS_LOG"
for way in "${ways[@]}"; do
	is "$way: the JVM has said nothing of an error" "$(grep -ci 'fatal error\|SIGSEGV' "$SHOP/$way/log")" 0
done
tap_done
