#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks of programs whose call trees are known (tests/java/Known.java): whole, named, and never wrong,
# without any flag of the JVM. How many are whole on a machine that does nothing else: bench/accuracy.sh.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. bench/known.sh
need_root
need java javac jq perf python3 cc
home=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
known_setup "$home"
WARM=0

# measure MODE [JVM OPTION…]. Few samples say little: a busy machine gets more time, not a failure.
measure() {
	local mode=$1 seconds

	shift
	known_start "$home" "$mode" 900 "$@"
	at_work "$known_pid" 200
	for seconds in 3 10 40; do
		known_record host $seconds 999
		[ "$(jq .samples "$KNOWN/summary" || echo 0)" -lt 400 ] || break
	done
	known_stop
	known_check "$home" "$mode" -v -c 95
}

for mode in recursion regex streams exceptions reflection zip jni deopt; do
	ok "$mode: whole, named, nothing wrong" measure $mode
done
ok "barriers of ZGC: whole, named, nothing wrong" measure barriers -XX:+UseZGC -Xmx200m
tap_done
