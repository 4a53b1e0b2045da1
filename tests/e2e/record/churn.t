#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Case 56 in part: names right in time: classes and code come and go while they are recorded, and their names tell when
# (tests/java/Churn.java). JVMs: those in /usr/lib/jvm from 17 on.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
need_root
need java javac perf python3 cc

[ -x "$BUILD/tools/unwindstat" ] || tap_cannot "no tools in $BUILD"
table=$(mktemp)
trap 'rm -f "$table"' EXIT

# Few samples say little: a busy machine gets more time, not a failure. How much is too old to have a name is a
# matter of how soon the host can look again: bench/churn.sh measures it on a quiet machine.
#
# right_in_time HOME RECORDER
right_in_time() {
	local seconds

	for seconds in 4 15 40; do
		JDKS=$1 UNWIND=$2 SOURCES=host DURATION=$seconds VERBOSE=1 bench/churn.sh >"$table"
		[ "$(sed -n 's/.*samples \([0-9]*\) .*/\1/p' "$table")" -lt 400 ] || break
	done
	cat "$table"
	awk '/samples .* right/ {for (i = 1; i < NF; i++) v[$i] = $(i + 1)} END {exit !(v["samples"] >= 100 && v["right"] >= 99.5)}' "$table"
}

for home in /usr/lib/jvm/*/; do
	home=${home%/}
	if [ ! -L "$home" ] && grep -qsE '^JAVA_VERSION="(1[7-9]|[2-9][0-9])' "$home/release"; then
		for recorder in vm auto; do
			ok "$(basename "$home"), $recorder" right_in_time "$home" $recorder
			diag "$(tail -1 "$table")"
		done
	fi
done
tap_done
