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

failed=0
printf '%-24s %-11s %7s %8s %7s %6s %6s %7s %6s %6s %7s %7s\n' options mode samples walked differ stale left% frames most bytes \
	median p99
for home in $JDKS; do
	echo "## $("$home/bin/java" -version 2>&1 | sed -n 2p)"
	while IFS= read -r options; do
		for mode in "${modes[@]}"; do
			known_runs_on "$mode" "$home" || continue
			KNOWN_CLASS=Known argument=$mode
			[ "$mode" != load ] || KNOWN_CLASS=Load argument=120
			# shellcheck disable=SC2086 # several options
			known_start "$home" "$argument" 120 $options
			"$BUILD/tools/walkcompare" -F "$HZ" -v 2 "$known_pid" "$DURATION" >"$KNOWN/walk" 2>&1 || failed=1
			known_stop
			printf '%-24s %-11s ' "${options:--}" "$mode"
			sed -n 's/^total //p' "$KNOWN/walk"
			sed -n '/^total /!s/^/# /p' "$KNOWN/walk"
		done
	done <<<"$OPTIONS"
done
exit $failed
