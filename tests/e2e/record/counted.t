#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Events that perf knows (-e page-faults and the like): those that the kernel counts are as many as it says, by the recorder
# in the kernel; others are recorded by perf; what the machine lacks has a clear line.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/events.sh
need python3
events_setup Faults.java
event() { # EVENTS FOLDED: a recording that is long enough
	local seconds
	for seconds in 4 15 60; do
		rm -rf "$SHOP/pages.out"
		trigger -q -d $seconds -e "$1" -f folded,html,pprof --by thread --full -o "$SHOP/pages.out" pages || return
		sleep 1 # until the program has said more
		python3 tests/java/faults.py "$SHOP/pages/log" "$(json .session)" "$SHOP/pages.out/$2" >"$SHOP/facts"
		[ $? = 3 ] || break
	done
}

start() { SHOP_MAIN=Faults shop_create pages && wait_for test -s "$SHOP/pages/log"; }
ok "a program that touches pages" start
ok "cpu,page-faults: recorded" event cpu,page-faults flame-perf.folded
diag "$(head -n 1 "$SHOP/facts")"
ok "  as many as the kernel has counted" right sum
ok "  in the method that touches the pages" right method
is "  beside the processor's time" "$(json '"\(.event) \(.more_events | map("\(.event) \(.unit)") | join(","))"')" "cpu page-faults events"
is "  the session has both" "$(jq -c .events "$SHOP/pages.out/session/session.json")" '["cpu","page-faults"]'
is "  none is lost" "$(json '.more_events[0].lost')" 0
ok "  the page of the one links that of the other" grep -q "flame-perf.html" "$SHOP/pages.out/flame.html"
"$DFG" -q --replay --by thread --full -f folded -o "$SHOP/again" "$SHOP/pages.out/session"
ok "  --replay draws the same" cmp "$SHOP/again/flame-perf.folded" "$SHOP/pages.out/flame-perf.folded"
ok "  -e page-faults draws it alone" "$DFG" -q --replay -e page-faults -f folded -o "$SHOP/alone" "$SHOP/pages.out/session"
is "  with the usual name" "$(ls "$SHOP/alone")" flame-perf.folded
ok "  another one it has not" dies 1 "has none of these events" "$DFG" --replay -e minor-faults -f folded -o "$SHOP/none" "$SHOP/pages.out/session"
ok "-e minor-faults: alone" event minor-faults flame.folded
diag "$(head -n 1 "$SHOP/facts")"
ok "  as many as the kernel has counted" right sum
is "  the recorder is the kernel's" "$(jq -r .recorder "$SHOP/pages.out/session/session.json")" bpf

ok "-e context-switches" trigger -q -d 3 -e context-switches -f folded -o "$SHOP/switches" pages
ok "  threads that sleep, and the kernel that lets them" grep -q "Thread.sleep.*;schedule_\[k\]" "$SHOP/switches/flame.folded"

# ---- by perf -----------------------------------------------------------------------------------
ok "-e context-switches --unwind vm" trigger -q -d 3 -e context-switches --unwind vm -f folded -o "$SHOP/vm" pages
is "  is recorded by perf" "$(jq -r '"\(.recorder) \(.events[0])"' "$SHOP/vm/session/session.json")" "perf context-switches"
is "  a sample counts its period" "$(json .samples)" "$(sum "$SHOP/vm/flame.folded")"
ok "  in threads that sleep" grep -q "Thread.sleep" "$SHOP/vm/flame.folded"
ok "-e sched:sched_switch" trigger -q -d 3 -e sched:sched_switch -f folded -o "$SHOP/point" pages
is "  a tracepoint is recorded by perf, too" "$(jq -r '"\(.recorder) \(.events[0])"' "$SHOP/point/session/session.json")" "perf sched:sched_switch"
ok "  and drawn" grep -q "Faults" "$SHOP/point/flame.folded"
ok "an event that is none" dies 1 "event pagefaults: perf says: event syntax error" "$DFG" -d 2 -e pagefaults -o "$SHOP/no" pages
ok "  or is not alone" dies 1 "pagefaults is none of dfg's own, and others are recorded alone" "$DFG" -d 2 -e alloc,pagefaults -o "$SHOP/no" pages
ok "  or could be an option" dies 2 "must be of cpu, wall, alloc, lock, safepoint or gc, compile, deopt, or one" "$DFG" -d 2 -e --call-graph=fp pages
ok "  or something else" dies 2 "must be of cpu" "$DFG" -d 2 -e 'a b' pages
if ! perf stat -x, -e cache-misses true 2>&1 | grep -q '^[0-9]'; then
	ok "one that the machine lacks" dies 1 "does not have the event cache-misses" "$DFG" -d 2 -e cache-misses -o "$SHOP/no" pages
fi
tap_done
