#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the hook adds to the start of a container, with runc and a root file system of one static
# program. Root; needs runc, jq, gcc.
#
#   bench/hook-latency.sh [RUNS] [PARALLEL]      default 200 and 100
#
# Three figures for each way of starting: `runc run` without hooks, with /bin/true as both hooks
# (what any hook costs), and with dfg-hook. Runs alternate, so that what else the machine does
# meets all three alike. Then PARALLEL starts at once, of each kind. Goals: p50 <= 5 ms and
# p99 <= 50 ms added to a single start; no failed start.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/bundle.sh
. tests/e2e/hook-common.sh
RUNS=${1:-200}
PARALLEL=${2:-100}
hook_setup
BUNDLE_JQ=.

BUNDLE_HOOK='' bundle_make "$S/none" "$S/fs" /app
BUNDLE_HOOK=/bin/true BUNDLE_HOOK_ARGS='' bundle_make "$S/true" "$S/fs" /app
bundle_make "$S/hook" "$S/fs" /app

# Percentiles of a file of numbers, as "p50 p99 max".
percentiles() {
	sort -n "$1" | awk '{a[NR] = $1} END {
		printf "%8.2f %8.2f %8.2f", a[int((NR + 1) / 2)], a[int((NR * 99 + 99) / 100)], a[NR]}'
}

# one KIND ID: milliseconds of one start to its end
one() {
	local from to
	from=$(date +%s%N)
	hook_run "$S/$1" "$2" >/dev/null || echo "$2" >>"$S/failures"
	to=$(date +%s%N)
	echo "$(((to - from) / 1000))" | awk '{printf "%.3f\n", $1 / 1000}'
}

# The record is gone after poststop, so the hook's own measure comes from a bundle without it.
BUNDLE_HOOK_STAGES=createRuntime bundle_make "$S/kept" "$S/fs" /app
self_measured() {
	hook_run "$S/kept" kept >/dev/null
	jq '.hook_us / 1000' "$(hook_dir kept)/state.json"
	hook_state 0 kept stopped | hook_feed
}

host_mounts() { awk '{print $5}' /proc/self/mountinfo | grep -c "^$S"; }

: >"$S/failures"
for kind in none true hook; do one $kind warm >/dev/null; done
before=$(host_mounts)
for _ in $(seq "$RUNS"); do
	for kind in none true hook; do one $kind x >>"$S/$kind.ms"; done
	self_measured >>"$S/self.ms"
done
paste "$S/none.ms" "$S/hook.ms" | awk '{print $2 - $1}' >"$S/added.ms"
printf '%-34s %8s %8s %8s\n' "single start, $RUNS runs (ms)" p50 p99 max
for kind in none true hook; do printf '%-34s %s\n' "runc run, $kind" "$(percentiles "$S/$kind.ms")"; done
printf '%-34s %s\n' "added by both hooks, run by run" "$(percentiles "$S/added.ms")"
printf '%-34s %s\n' "inside createRuntime, measured" "$(percentiles "$S/self.ms")"

printf '%-34s %8s %8s %8s %8s\n' "$PARALLEL starts at once (ms)" p50 p99 max total
for kind in none true hook; do
	rm -f "$S"/par.*
	from=$(date +%s%N)
	for i in $(seq "$PARALLEL"); do one $kind "p$i" >"$S/par.$i" & done
	wait
	total=$((($(date +%s%N) - from) / 1000000))
	cat "$S"/par.* >"$S/par"
	printf '%-34s %s %8d\n' "runc run, $kind" "$(percentiles "$S/par")" "$total"
done
mounted=0
for i in $(seq "$PARALLEL"); do hook_run "$S/kept" "k$i" >/dev/null & done
wait
for i in $(seq "$PARALLEL"); do
	[ "$(hook_status "k$i")" = mounted ] && mounted=$((mounted + 1))
	jq '.hook_us / 1000' "$(hook_dir "k$i")/state.json" >>"$S/kself.ms"
done
printf '%-34s %s\n' "inside createRuntime, measured" "$(percentiles "$S/kself.ms")"
"$HOOK" --root "$R" --gc >/dev/null
echo "mounted within the default time budget: $mounted of $PARALLEL"
echo "failed starts: $(wc -l <"$S/failures"); mounts on the host: $before before, $(host_mounts) after"
[ ! -s "$S/failures" ]
