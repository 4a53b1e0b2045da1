#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the hook adds to the start and to the end of a container, with runc and a root file system of
# one static program. Root; needs runc, jq, gcc. Other engines: bench/engine-latency.sh.
#
#   bench/hook-latency.sh [RUNS] [PARALLEL]      default 200 and 100
#
# Timed are `runc create` (createRuntime runs in it) and `runc delete --force` (poststop): without
# hooks, with /bin/true as both hooks (what any hook costs), and with dfg-hook. The three alternate,
# so that what else the machine does meets all alike. Then PARALLEL creates at once, of each kind.
# Goals: p50 <= 5 ms and p99 <= 50 ms added to a single start; no failed start.
cd "$(dirname "$0")/.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/e2e/hook/common.sh
HOOK=$BUILD/libexec/dfg-hook
. bench/timed.sh
RUNS=${1:-200}
PARALLEL=${2:-100}
hook_setup
BUNDLE_JQ=.

BUNDLE_HOOK='' bundle_make "$S/none" "$S/fs" /app
BUNDLE_HOOK=/bin/true BUNDLE_HOOK_ARGS='' bundle_make "$S/true" "$S/fs" /app
bundle_make "$S/hook" "$S/fs" /app

create() { timed "$1" "${RUNTIME[@]}" create --bundle "$S/$2" "$(hook_id "$3")"; }
delete() { timed "$1" "${RUNTIME[@]}" delete --force "$(hook_id "$2")"; }
self_measured() { jq .hook_us "$(hook_dir "$1")/state.json"; }
host_mounts() { awk '{print $5}' /proc/self/mountinfo | grep -c "^$S"; }

FAILURES=$S/failures
: >"$FAILURES"
for kind in none true hook; do
	create /dev/null $kind w
	delete /dev/null w
done
before=$(host_mounts)
for _ in $(seq "$RUNS"); do
	for kind in none true hook; do
		create "$S/$kind.create" $kind x
		[ $kind = hook ] && self_measured x >>"$S/self"
		delete "$S/$kind.delete" x
	done
done
paste "$S/none.create" "$S/hook.create" | awk '{print $2 - $1}' >"$S/added"
echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs, Linux $(uname -r)"
printf '%-34s %8s %8s %8s\n' "one at a time, $RUNS runs (ms)" p50 p99 max
for kind in none true hook; do
	printf '%-34s %s\n' "runc create, hook: $kind" "$(percentiles "$S/$kind.create")"
done
printf '%-34s %s\n' "added to a start, run by run" "$(percentiles "$S/added")"
printf '%-34s %s\n' "dfg-hook's own measure" "$(percentiles "$S/self")"
for kind in none true hook; do
	printf '%-34s %s\n' "runc delete, hook: $kind" "$(percentiles "$S/$kind.delete")"
done

printf '%-34s %8s %8s %8s %8s\n' "$PARALLEL creates at once (ms)" p50 p99 max total
mounted=0
for kind in none true hook; do
	from=$(date +%s%N)
	for i in $(seq "$PARALLEL"); do create "$S/par.$kind.$i" $kind "p$i" & done
	wait
	total=$((($(date +%s%N) - from) / 1000000))
	cat "$S/par.$kind".* >"$S/par"
	printf '%-34s %s %8d\n' "runc create, hook: $kind" "$(percentiles "$S/par")" "$total"
	for i in $(seq "$PARALLEL"); do
		if [ $kind = hook ]; then
			self_measured "p$i" >>"$S/par.self"
			[ "$(hook_status "p$i")" = mounted ] && mounted=$((mounted + 1))
		fi
		delete /dev/null "p$i"
	done
done
printf '%-34s %s\n' "dfg-hook's own measure" "$(percentiles "$S/par.self")"
echo "mounted within the default time budget: $mounted of $PARALLEL"
echo "failed: $(wc -l <"$FAILURES"); mounts on the host: $before before, $(host_mounts) after"
[ ! -s "$FAILURES" ]
