# SPDX-License-Identifier: Apache-2.0
# tests/java/Known.java, started and recorded. Source it with TOP and BUILD set.
#
#   known_setup HOMES	scratch directory $KNOWN (removed at exit), Known and its library built
#   known_runs_on MODE HOME	whether that JDK can
#   known_start HOME MODE SECONDS [JVM OPTION…]	$known_pid, warm after $WARM (3) seconds
#   known_record SOURCE SECONDS HZ	summary in $KNOWN/summary
#   known_check HOME MODE [-v]	known.py
#   known_keep PREFIX	copies summary and folded stacks
#   known_stop
KNOWN_MODES=(recursion streams regex strings treemap exceptions reflection handles lambdas zip jni copy crypto
	mega osr sync contended gc classes deopt virtual)
known_pid=

known_setup() {
	local home=${1%% *}

	KNOWN=$(mktemp -d /tmp/dfg-known.XXXXXX)
	trap known_teardown EXIT
	"$home/bin/javac" --release 17 -d "$KNOWN" "$TOP/tests/java/Known.java" || exit 1
	"${CC:-cc}" -shared -fPIC -O2 -fomit-frame-pointer -I"$home/include" -I"$home/include/linux" \
		-o "$KNOWN/libknown.so" "$TOP/tests/java/known.c" || exit 1
}

known_stop() {
	[ -n "$known_pid" ] || return 0
	kill -9 "$known_pid" 2>/dev/null
	wait "$known_pid" 2>/dev/null
	known_pid=
}

known_teardown() {
	known_stop
	umount "$KNOWN/root" 2>/dev/null # dfg-trigger keeps its root apart
	rm -rf "$KNOWN"
}

known_runs_on() {
	[ "$1" != virtual ] || grep -qE '^JAVA_VERSION="(2[1-9]|[3-9])' "$2/release"
}

known_start() {
	local home=$1 mode=$2 seconds=$3

	shift 3
	"$home/bin/java" -XX:-UsePerfData -Xmx512m "$@" -Dknown.lib="$KNOWN/libknown.so" -cp "$KNOWN" Known \
		"$mode" "$seconds" >"$KNOWN/log" 2>&1 &
	known_pid=$!
	sleep "${WARM:-3}"
}

known_record() {
	rm -rf "$KNOWN/summary" "$KNOWN/out"
	"$BUILD/bin/dfg-trigger" --root "$KNOWN/root" -o "$KNOWN/out" --json -q -f folded --unwind vm --source "$1" \
		-d "$2" -F "$3" --pid "$known_pid" >"$KNOWN/summary" 2>"$KNOWN/err" || cat "$KNOWN/err"
}

known_check() {
	local home=$1 mode=$2

	shift 2
	"$TOP/tests/java/known.py" "$@" "$mode" "$KNOWN/summary" "$home" "$KNOWN"
}

known_keep() {
	mkdir -p "$(dirname "$1")"
	cp "$KNOWN/summary" "$1.json"
	cp "$KNOWN/out/flame.folded" "$1.folded"
}
