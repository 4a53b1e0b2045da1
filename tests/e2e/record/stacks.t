#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks of programs whose call trees are known (tests/java/Known.java): whole, named, and never wrong,
# without any flag of the JVM, by stack copies and as dfg-trigger records by default. How many are whole on a machine
# that does nothing else: bench/accuracy.sh.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. bench/known.sh
need_root
need java javac jq perf python3 cc
home=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
known_setup "$home"
WARM=0

# recorded MODE UNWIND. Few samples say little: a busy machine gets more time, not a failure.
recorded() {
	local seconds
	for seconds in 3 10 40; do
		UNWIND=$2 known_record host $seconds 999
		[ "$(jq .samples "$KNOWN/summary" || echo 0)" -lt 400 ] || break
	done
	known_check "$home" "$1" -v -c 95
}
# measure MODE [JVM OPTION…]
measure() {
	known_start "$home" "$1" 900 "${@:2}"
	at_work "$known_pid" 200
	ok "$*: whole, named, nothing wrong" recorded "$1" vm
	ok "  and by default" recorded "$1" auto
	known_stop
}

for mode in recursion regex streams exceptions reflection zip jni deopt; do
	measure $mode
done
measure barriers -XX:+UseZGC -Xmx200m
measure strings -XX:+UseZGC
tap_done
