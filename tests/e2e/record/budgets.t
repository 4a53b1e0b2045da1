#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What one container may cost: those that try to be expensive get a small session and a graph, the
# summary says what is missing, and the container beside them has its graph as always.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
need_root
need runc jq perf cc
SCRATCH=$(mktemp -d /tmp/dfg-budgets.XXXXXX)
export DFG_ROOT=$SCRATCH/root TMPDIR=$SCRATCH
DFG=$BUILD/bin/dfg-trigger
teardown() {
	local id
	for id in $("${RUNTIME[@]}" list -q); do bundle_stop "$id"; done
	rm -rf "$SCRATCH"
}
trap teardown EXIT
bundle_runtime runc

start() { # ID MODE
	bundle_static "$SCRATCH/$1/rootfs" tests/e2e/record/greedy.c
	bundle_make "$SCRATCH/$1" "$SCRATCH/$1/rootfs" /app "$2"
	bundle_start "$1" "$SCRATCH/$1" && WAIT_SECONDS=300 wait_for grep -q ready "$SCRATCH/$1/log"
}
of() { jq -r --arg n "$1" "(.recordings // [.])[] | select(.container.name == \$n) | $2" "$SCRATCH/out"; }
kilobytes() { du -sk "$1" | cut -f1; }
below() { [ "$1" -lt "$2" ] || { echo "$1 is not less than $2"; return 1; }; }

ok "a container that is to have its graph" start victim spin

# For longer where the machine is too busy to take samples, or to copy all in time.
record() {
	local seconds
	for seconds in 2 8 30; do
		"$DFG" -q --json --keep-stacks -d $seconds -f folded "$1" victim >"$SCRATCH/out" 2>"$SCRATCH/err"
		status=$?
		jq -e '[.recordings[].samples] | min > 0' "$SCRATCH/out" >/dev/null && ! grep -q 'limit is 10 s' "$SCRATCH/out" && break
	done
}

# trial MODE: records it together with the victim.
trial() {
	local mode=$1 session
	ok "$mode: the container runs" start "$mode" "$mode"
	record "$mode"
	is "$mode: both are recorded, without a JVM" $status 4
	ok "  the other container has its graph" grep -q main "$(of victim .graphs.folded)"
	ok "  and so has this one" test "$(of "$mode" .samples)" -gt 0
	session=$(of "$mode" .session)
	is "  a replay says the same of it" "$("$DFG" --json --replay "$session" -f folded -o "$SCRATCH/again" | jq -c .cut)" \
		"$(of "$mode" .cut | jq -c .)"
	diag "$(of "$mode" '.cut[]')" "$(du -sh "$session" | cut -f1)"
	diag "$(cat "$SCRATCH/err")"
}

# Case 82: 3 GiB of holes in mapped libraries.
trial sparse
ok "  nothing of the holes is on the disk" below "$(kilobytes "$(of sparse .session)/elf")" 2048
is "  the summary says what is missing" "$(of sparse '.cut[0]')" \
	"3 mapped files are not copied: the limit is 512 MiB, or what the disk has left"
bundle_stop sparse

# Case 83: 24 GiB of holes in perf maps.
trial maps
ok "  nothing of the holes is on the disk" below "$(kilobytes "$(of maps .session)/maps")" 2048
bundle_stop maps

# Case 84: 40 000 paths of one file.
trial paths
is "  as many as there may be are looked at" "$(jq '.elf | length' "$(of paths .session)/session.json")" 4096
ok "  one file is copied" below "$(find "$(of paths .session)/elf" -type f | wc -l)" 6
ok "  the summary says how many are not" grep -q 'are not looked at: the limit is 4096' <<<"$(of paths '.cut[]')"
bundle_stop paths

# Case 81: 40 paths of a library with 1.9 million symbols.
trial symbols
is "  one copy is made" "$(find "$(of symbols .session)/elf" -name '*-6*' -size +40M | wc -l)" 1
ok "  frames of the library have their names" grep -q ';f0' "$(of symbols .graphs.folded)"
is "  the summary says that it has more symbols than are read" "$(of symbols '.cut[0]')" \
	"1 files with more symbols than are read"
bundle_stop symbols
tap_done
