#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether the BPF program walks stacks as the offline unwinder unwinds the copies of the same interrupts, and what
# a walk costs: the programs of tests/java/Known.java and bench/Load.java, each by tests/tools/walkcompare.c.
#
#	bench/walk.sh [MODE…]		as root; a table on standard output
#
# JDKS: homes of the JDKs, divided by blanks (the one of `java`). OPTIONS: of the JVM, one set a line ("" alone).
# HZ (499), DURATION (4). What differs, and why samples were left to the copy, is told below the line, with # in
# front; exit status 1 where a stack differs.
# WAY=once: each sample comes one way, as a recorder has it, so that no copy empties the caches: what a walk takes.
# WAY=recorded: as dfg-trigger records, which the JVM's probe tells of new code: what is left to the copy, in percent,
# how many Java stacks are complete, and how many of their frames are [stale].
set -u
TOP=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
JDKS=${JDKS:-$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")}
OPTIONS=${OPTIONS-} HZ=${HZ:-499} DURATION=${DURATION:-4}
. "$TOP/bench/known.sh"
known_setup "$JDKS"
"${JDKS%% *}/bin/javac" --release 17 -d "$KNOWN/classes" "$TOP/bench/Load.java" || exit 1
modes=("$@")
[ $# -gt 0 ] || modes=("${KNOWN_MODES[@]}" load)

WAY=${WAY:-compared}

# Each prints the rest of a line, and what is told below it.
compared() {
	local rc
	"$BUILD/tools/walkcompare" -F "$HZ" -v 2 "$known_pid" "$DURATION" >"$KNOWN/walk" 2>&1
	rc=$?
	sed -n 's/^total //p' "$KNOWN/walk"
	sed -n '/^total /!s/^/# /p' "$KNOWN/walk"
	return $rc
}
once() {
	"$BUILD/tools/walkcompare" -1 -F "$HZ" "$known_pid" "$DURATION" >"$KNOWN/walk" 2>&1 || return
	perl -ne 'm/^10 %.*; 50 %: (\d+) ns, (\d+) frames; .*; 99 %: (\d+) ns.*walked (\d+), copied \d+ \((\S+) %\)/ and
		printf "%7s %6s %6s %7s %7s\n", $4, $5, $2, $1, $3' "$KNOWN/walk"
}
recorded() {
	rm -rf "$KNOWN/out"
	"$BUILD/bin/dfg-trigger" -q --json -o "$KNOWN/out" -f folded -d "$DURATION" -F "$HZ" --unwind bpf --pid "$known_pid" \
		>"$KNOWN/summary" 2>"$KNOWN/walk" || { cat "$KNOWN/walk"; return 1; }
	jq -r '[.samples, 100 * .fallback, 100 * .complete, 100 * .stale, .bytes_per_sample] | @tsv' "$KNOWN/summary" |
		awk '{printf "%7d %6.2f %8.2f %6.3f %6d\n", $1, $2, $3, $4, $5}'
}
declare -A heads=(
	[compared]="$(printf '%7s %8s %7s %6s %6s %7s %6s %6s %7s %7s' samples walked differ stale left% frames most bytes median p99)"
	[once]="$(printf '%7s %6s %6s %7s %7s' walked left% frames median p99)"
	[recorded]="$(printf '%7s %6s %8s %6s %6s' samples left% complete stale% bytes)")

failed=0
printf '%-24s %-11s %s\n' options mode "${heads[$WAY]}"
for home in $JDKS; do
	echo "## $("$home/bin/java" -version 2>&1 | sed -n 2p)"
	while IFS= read -r options; do
		for mode in "${modes[@]}"; do
			known_runs_on "$mode" "$home" || continue
			KNOWN_CLASS=Known argument=$mode
			[ "$mode" != load ] || KNOWN_CLASS=Load argument=120
			# shellcheck disable=SC2086 # several options
			known_start "$home" "$argument" 120 $options
			printf '%-24s %-11s ' "${options:--}" "$mode"
			"$WAY" || failed=1
			known_stop
		done
	done <<<"$OPTIONS"
done
exit $failed
