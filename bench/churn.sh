#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether names are right in time: tests/java/Churn.java, whose classes and code come and go and tell by
# their names when, in a small code cache, recorded and held against what ran when, sample by sample
# (tests/java/churn.py tells the columns).
#
#	bench/churn.sh		as root; a table on standard output, exit status 1 below the limits
#
# JDKS: homes, divided by blanks (the one of `java`). SOURCES (host agent): the agent is in a container
# with the hook. LIFE: ms that a class is used (200). HZ (499), DURATION (8). VERBOSE: shows wrong names.
# KEEP: a directory for the sessions and the programs' output.
set -u
TOP=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
JDKS=${JDKS:-$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")}
SOURCES=${SOURCES:-host agent} LIFE=${LIFE:-200} HZ=${HZ:-499} DURATION=${DURATION:-8}
OPTIONS=(-Xmx64m -XX:+UseSerialGC -XX:ReservedCodeCacheSize=8m -XX:+UseCodeCacheFlushing)
KNOWN_CLASS=Churn
. "$TOP/bench/known.sh"
known_setup "$JDKS"

# The lines that the program has printed so far.
churn_log() {
	sed -n '/^[0-9]* churn[0-9] [0-9]* [0-9]*$/p' "$KNOWN/log" "$KNOWN/bundle/log" 2>/dev/null
}

# By the snapshots in the order in which they were taken.
churn_samples() {
	local session=$KNOWN/out/session

	python3 -c 'import json, sys
for m in sorted(json.load(open(sys.argv[1] + "/session.json"))["maps"], key=lambda m: m["order"]):
    if m["pid"] == int(sys.argv[2]): print(sys.argv[1] + "/maps/" + m["file"])' "$session" "$known_pid" |
		xargs "$BUILD/tools/unwindstat" -t "$session/perf.data" "$known_pid"
}

failed=0
for home in $JDKS; do
	echo "## $("$home/bin/java" -version 2>&1 | sed -n 2p)"
	for source in $SOURCES; do
		[ "$source" = agent ] && start=known_contain || start=known_start
		"$start" "$home" "$LIFE" 60 "${OPTIONS[@]}"
		known_record "$source" "$DURATION" "$HZ"
		sleep $((LIFE * 5 / 1000 + 1)) # until what ran last has been printed
		churn_log >"$KNOWN/runs"
		churn_samples >"$KNOWN/samples"
		printf '%-5s ' "$source"
		"$TOP/tests/java/churn.py" ${VERBOSE:+-v} "$KNOWN/runs" "$KNOWN/samples" || failed=1
		[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp -r "$KNOWN/out" "$KNOWN/runs" "$KNOWN/samples" "$KEEP/"; }
		known_stop
	done
done
exit $failed
