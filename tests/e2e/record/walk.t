#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks walked in the kernel (host/bpf) against the offline unwinder: each interrupt gives both answers
# (tests/tools/walkcompare.c). None may differ; how many are left to the copy depends on how busy the machine is.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. bench/known.sh
need_root
need java javac cc
[ -x "$BUILD/tools/walkcompare" ] || tap_cannot "built without clang, bpftool and libbpf"
home=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
known_setup "$home"
WARM=0

# compare SECONDS: the numbers of its line "total" in $total
compare() {
	"$BUILD/tools/walkcompare" -v 2 "$known_pid" "$1" >"$KNOWN/walk" 2>&1
	walk_status=$?
	read -r _ _ walked _ _ _ _ most _ < <(grep '^total ' "$KNOWN/walk")
}

# same MODE MOST [JVM OPTION…]: stacks are walked, one of them of more than MOST frames. A busy machine gets more time.
same() {
	local mode=$1 atleast=$2 seconds

	shift 2
	known_start "$home" "$mode" 900 "$@"
	at_work "$known_pid" 200
	for seconds in 3 10 40; do
		compare $seconds
		[ "$walk_status" = 0 ] && { [ "${walked:-0}" -lt 200 ] || [ "${most:-0}" -le "$atleast" ]; } || break
	done
	known_stop
	cat "$KNOWN/walk"
	[ "$walk_status" = 0 ] && [ "$walked" -ge 200 ] && [ "$most" -gt "$atleast" ]
}

known_start "$home" regex 60
at_work "$known_pid" 50
compare 1
known_stop
[ "$walk_status" != 2 ] || tap_cannot "$(tail -n 1 "$KNOWN/walk")"
ok "a recursion of thousands of calls is walked, deeper than any copy of the stack" same recursion 3000
for mode in regex exceptions streams jni deopt; do
	ok "$mode: no stack differs" same $mode 10
done
ok "interpreted: no stack differs" same reflection 10 -Xint
ok "C1's code: no stack differs" same handles 10 -XX:TieredStopAtLevel=1
ok "code with ZGC's barriers: no stack differs" same barriers 10 -XX:+UseZGC -Xmx200m
tap_done
