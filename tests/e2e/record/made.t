#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Code that a JVM has just made: stacks through it are walked before a snapshot has it, since the JVM's own probe of it
# (compiled__method__load, JDK 11 to 27) has the reader of its memory asked. JDK 17 and 25, by the host and by the agent;
# DFG_FULL=1: 11, too; FULL=1: all that have the probe. The same of interpreted methods, which a walk meets.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/jvms.sh
. tests/lib/events.sh
need python3
events_setup Late.java
versions="17 25"
[ -z "${DFG_FULL:-}" ] || versions="11 17 25"
[ -z "${FULL:-}" ] || versions="11 17 21 25 26 27"

probed() { changed "$1" | grep -q " cc$"; } # int3
# poller: the process that orders snapshots: the parent of who has the JVM's memory open
poller() {
	local pid
	for pid in $(pgrep -f "$DFG"); do
		ls -l "/proc/$pid/fd" 2>/dev/null | grep -q '/proc/.*/mem$' && awk '/^PPid/ {print $2}' "/proc/$pid/status" && return
	done
	false
}
# stays_walked ID ARG…: no snapshot is taken while a class that was never loaded before is the hot one.
stays_walked() {
	local id=$1 run pid
	shift
	trigger -d 10 -F 199 -f folded -o "$SHOP/$id.out" "$@" "$id" &
	run=$!
	wait_for probed "$id" && wait_for poller >/dev/null && pid=$(poller) || { kill $run; return 1; }
	kill -STOP "$pid"
	touch "$SHOP/$id/tmp/go"
	sleep 7
	kill -CONT "$pid"
	wait $run
}
# few_copied ID: of samples of code that the tables lack all come with a copy of the stack.
few_copied() {
	jq -r '"\(.walked) walked, \(.copied) copied"' "$SHOP/$1.out/session/session.json"
	jq -e '.walked > 50 and .copied * 5 < .walked' "$SHOP/$1.out/session/session.json"
}
kept() { "$BUILD/tools/snapdump" "$SHOP/$1.out"/session/maps/*.snap | grep '^asked code .* LateCode\.fresh '; }
row() { # ID VERSION SOURCE
	local id=$1 source=$3
	ok "$id: a program with a hot method" events_start "$id" "$2" Late
	ok "  another one becomes hot" stays_walked "$id" --source "$source"
	is "  by the $source" "$(json '.jvms[0].source')" "$source"
	ok "  few of its stacks are copied" few_copied "$id"
	diag "$(few_copied "$id" | head -n 1)"
	ok "  it has its name" grep -q 'LateCode\.fresh' "$SHOP/$id.out/flame.folded"
	[ "$source" = agent ] || ok "  its code is kept, whether a snapshot has it or not" kept "$id"
	ok "  stacks are whole" eval 'json ".complete >= 0.99" | grep -qx true'
	ok "  the JVM's code is as it was" wait_for unchanged "$id"
	shop_stop "$id"
}

asked() { "$BUILD/tools/snapdump" "$SHOP/$1.out"/session/maps/*.snap | grep '^asked .* LateCode\.fresh$'; }
interpreted() { # VERSION
	local id=interpreted-$1
	ok "$id: an interpreted program" events_start "$id" "$1" Late -Xint
	ok "  another class is loaded while no snapshot is taken" stays_walked "$id" --source host
	ok "  its method has been asked for" asked "$id"
	ok "  it has its name" grep -q 'LateCode\.fresh_\[0\]' "$SHOP/$id.out/flame.folded"
	shop_stop "$id"
}

for v in $versions; do row "$v" "$v" host; interpreted "$v"; done
unset SHOP_HOOK
row agent 17 agent
tap_done
