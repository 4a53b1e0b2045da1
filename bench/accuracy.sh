#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How many stacks are whole, and whether any of them is wrong: the programs of tests/java/Known.java,
# each recorded and held against what is known of its calls (tests/java/known.py tells the columns).
#
#	bench/accuracy.sh [MODE…]		as root; a table on standard output
#
# JDKS: homes of the JDKs to run them with, divided by blanks (the one of `java`). SOURCES (host):
# "host agent" for both; for the agent they run in a container of runc, with the hook's payload.
# OPTIONS: of the JVM, one set a line ("" alone). HZ (499), DURATION (4). UNWIND (vm): as dfg-trigger's
# --unwind. KEEP: a directory for summaries and folded stacks. Failures are told below their line, with #
# in front; exit status 1.
set -u
TOP=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
JDKS=${JDKS:-$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")}
SOURCES=${SOURCES:-host} OPTIONS=${OPTIONS-} HZ=${HZ:-499} DURATION=${DURATION:-4}
. "$TOP/bench/known.sh"
known_setup "$JDKS"
modes=("$@")
[ $# -gt 0 ] || modes=("${KNOWN_MODES[@]}")

failed=0
printf '%-20s %-11s %-5s %6s %6s %7s %6s %s %6s %6s %8s %5s %s\n' options mode src samples thread \
	compl% unkn% nameless% trunc% tree% pairs wrong chains
for home in $JDKS; do
	echo "## $("$home/bin/java" -version 2>&1 | sed -n 2p)"
	while IFS= read -r options; do
		case $options in *+DebugNonSafepoints*) inline=-i ;; *) inline= ;; esac
		for mode in "${modes[@]}"; do
			known_runs_on "$mode" "$home" || continue
			for source in $SOURCES; do
				[ "$source" = agent ] && start=known_contain || start=known_start
				# shellcheck disable=SC2086 # several options
				$start "$home" "$mode" 60 $options
				known_record "$source" "$DURATION" "$HZ"
				printf '%-20s %-11s %-5s ' "${options:--}" "$mode" "$source"
				known_check "$home" "$mode" ${VERBOSE:+-v} $inline || failed=1
				[ -z "${KEEP:-}" ] || known_keep "$KEEP/$(basename "$home")${options// /}.$mode.$source"
				known_stop
			done
		done
	done <<<"$OPTIONS"
done
exit $failed
