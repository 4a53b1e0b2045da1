#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks of real JVMs, unwound from registers and copies of the stack. With frame pointers, frame by
# frame against the kernel's walk along them; without, whether the stacks reach the thread's root.
# JVMs: those in /usr/lib/jvm, one of each version; others by DFG_TEST_JAVA="/path/bin/java ...".
. "$(dirname "$0")/../../lib/tap.sh"
need_root
need java javac

[ -x "$BUILD/tools/unwindstat" ] || tap_cannot "no tools in $BUILD"
dir=$(mktemp -d)
pid=
trap '[ -n "$pid" ] && kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT

# samples NAME SECONDS: a snapshot, some seconds of samples, and a snapshot.
samples() {
	"$BUILD/tools/snapfrom" $pid "$dir/$1.before" &&
		"$BUILD/tools/perfrec" $pid "$2" 499 "${STACK:-16384}" "$dir/$1.data" &&
		"$BUILD/tools/snapfrom" $pid "$dir/$1.after" &&
		"$BUILD/tools/unwindstat" "$dir/$1.data" $pid "$dir/$1.before" \
			"$dir/$1.after" >"$dir/$1.stat"
}
# record NAME JAVA-ARGS...: of a JVM that is warm; more seconds where a busy machine gives few samples.
record() {
	local name=$1 seconds rc
	shift
	"$java" "$@" >"$dir/out" 2>&1 &
	pid=$!
	at_work $pid 300
	for seconds in 3 12 50; do
		samples "$name" $seconds
		rc=$?
		[ $rc = 0 ] && [ "$(number "$name" 'with Java \([0-9]*\):.*')" -lt 250 ] || break
	done
	kill -9 $pid
	wait $pid 2>/dev/null
	pid=
	rm -f "$dir/$name.data"
	return $rc
}
number() { sed -n "s/$2/\1/p" "$dir/$1.stat"; }

# Of the stacks with Java, at least 99.5 % reach the root.
complete() {
	local n lost
	n=$(number "$1" 'with Java \([0-9]*\):.*')
	lost=$(number "$1" 'with Java .* truncated \([0-9]*\), .*')
	lost=$((lost + $(number "$1" 'with Java .* lost \([0-9]*\)$')))
	[ "$n" -ge 200 ] && [ $((lost * 200)) -le "$n" ]
}
# At most one of a thousand stacks is neither as the frame pointers have it nor proved by them to be
# right where the kernel's walk leaves a caller out (tests/lib/fpcompare.h).
agree() {
	local n wrong
	n=$(number "$1" 'compared \([0-9]*\):.*')
	wrong=$(awk '/^differ / && $3 != "proved:" {n += $2} END {print n + 0}' "$dir/$1.stat")
	[ "$n" -ge 150 ] && [ $((wrong * 1000)) -le "$n" ]
}
check() {
	ok "$version: record $1" record "$@"
	diag "$(cat "$dir/$1.stat")"
	ok "$version: $1: stacks reach the root" complete "$1"
	case " $* " in
	*PreserveFramePointer*) ok "$version: $1: as the frame pointers have them" agree "$1" ;;
	esac
}

javas=${DFG_TEST_JAVA:-$(
	for home in /usr/lib/jvm/*/; do
		[ -L "${home%/}" ] || [ ! -x "$home/bin/java" ] || echo "$home/bin/java"
	done
)}
for java in $javas; do
	version="JDK $("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')"
	mkdir -p "$dir/$version"
	"${java}c" -nowarn -d "$dir/$version" "$TOP/examples/demo/Shop.java" || continue
	check walked -XX:+PreserveFramePointer -cp "$dir/$version" Shop 1
	check mixed -cp "$dir/$version" Shop 1
	check c1 -XX:TieredStopAtLevel=1 -cp "$dir/$version" Shop 1
	check interpreted -Xint -cp "$dir/$version" Shop 1
	if "${java}c" -nowarn -d "$dir/$version" "$TOP/tests/java/Virtual.java" 2>/dev/null; then
		check virtual -cp "$dir/$version" Virtual
	fi
done
tap_done
