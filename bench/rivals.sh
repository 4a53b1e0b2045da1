#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg and async-profiler, one after the other, on the same program in the same JVM: whose stacks are
# whole, and how alike the methods are that they find at the top.
#
#	ASPROF=/path/to/asprof bench/rivals.sh [MODE…]	as root
#
# JDK (of `java`), SECONDS_EACH (5), HZ (499), ROUNDS (2: each profiler records so often, by turns).
# The JVM runs with -XX:+DebugNonSafepoints (OPTIONS), without which neither can tell inlined methods
# apart between safepoints, and which async-profiler would switch on when it is loaded.
set -u
TOP=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
ASPROF=${ASPROF:?async-profiler\'s asprof}
JDK=${JDK:-$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")}
SECONDS_EACH=${SECONDS_EACH:-5} HZ=${HZ:-499} ROUNDS=${ROUNDS:-2}
OPTIONS=${OPTIONS--XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints}
. "$TOP/bench/known.sh"
known_setup "$JDK"
modes=("$@")
[ $# -gt 0 ] || modes=("${KNOWN_MODES[@]}")

theirs() {
	"$ASPROF" -e cpu -i "$((1000000 / HZ))us" -t -o collapsed -d "$SECONDS_EACH" -f "$1" "$known_pid" >"$KNOWN/asprof.log" 2>&1 ||
		cat "$KNOWN/asprof.log"
}

printf '%-11s %18s %18s %10s %10s  %s\n' mode 'dfg samples whole%' 'ap samples whole%' overlap noise 'largest differences (dfg% ap%)'
for mode in "${modes[@]}"; do
	known_runs_on "$mode" "$JDK" || continue
	# shellcheck disable=SC2086 # several options
	known_start "$JDK" "$mode" 300 $OPTIONS
	sleep 2
	rm -f "$KNOWN"/dfg.* "$KNOWN"/ap.*
	for ((i = 0; i < ROUNDS; i++)); do
		known_record host "$SECONDS_EACH" "$HZ"
		cp "$KNOWN/out/flame.folded" "$KNOWN/dfg.$i"
		theirs "$KNOWN/ap.$i"
	done
	known_stop
	printf '%-11s ' "$mode"
	"$TOP/bench/overlap.py" "$mode" "$KNOWN"/dfg.* -- "$KNOWN"/ap.*
	[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cat "$KNOWN"/dfg.* >"$KEEP/$mode.dfg" && cat "$KNOWN"/ap.* >"$KEEP/$mode.ap"; }
done
