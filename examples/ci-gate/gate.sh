#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A gate for pull requests: records two versions of a program and fails if a method's share grew beyond a limit.
#
#   sh gate.sh BASE CHANGE
#
# Each is a directory in which COMMAND starts the program; its recording is made in DIRECTORY/profile unless it is
# there already, by sudo where the caller is not root. The comparison is CHANGE/profile.md, for the pull request, and
# CHANGE/diff.html. Exit status: that of dfg-diff, 0 no method exceeds LIMIT, 6 one does. Variables, with their defaults:
# DebugNonSafepoints: all compiled code knows from the start which inlined method each instruction belongs to. Without it,
# two runs of the same version may differ in the methods that samples are charged to.
: "${COMMAND:=java -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints -Xmx64m -cp classes shop.Orders}"
: "${LIMIT:=shop.*:+3%}" # percent of the samples in Java code, with all that the method calls
: "${WARM:=5}"           # seconds of processor time until the code is compiled
: "${SECONDS_RECORDED:=10}"
set -eu

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo

used() { awk '{print $14 + $15}' "/proc/$1/stat"; }

record() {
	(cd "$1" && exec $COMMAND) >"$1/log" 2>&1 &
	pid=$!
	trap 'kill $pid' EXIT
	until [ "$(used $pid)" -ge $((WARM * 100)) ]; do sleep 0.2; done
	$sudo dfg-trigger -q -d "$SECONDS_RECORDED" -F 499 -f html -o "$1/profile" --pid $pid >"$1/profile.txt"
	kill $pid
	wait $pid || :
	trap - EXIT
}

for version in "$1" "$2"; do
	[ -d "$version/profile" ] || record "$version"
done
dfg-diff --java-only --fail-on "$LIMIT" --markdown --rows 5 -f html -o "$2" "$1/profile" "$2/profile" >"$2/profile.md"
