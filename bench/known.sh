# SPDX-License-Identifier: Apache-2.0
# tests/java/Known.java, started and recorded. Source it with TOP and BUILD set.
#
#   known_setup HOMES	scratch directory $KNOWN (removed at exit), Known and its library built
#   known_runs_on MODE HOME	whether that JDK can
#   known_start HOME MODE SECONDS [JVM OPTION…]	$known_pid, warm after $WARM (3) seconds
#   known_contain HOME MODE SECONDS [JVM OPTION…]	the same in a container of runc, with the hook: for the agent
#   known_record SOURCE SECONDS HZ	summary in $KNOWN/summary; UNWIND: the recorder (vm)
#   known_check HOME MODE [-v]	known.py
#   known_keep PREFIX	copies summary and folded stacks
#   known_stop
KNOWN_MODES=(recursion streams regex strings treemap exceptions reflection handles lambdas zip jni copy crypto
	mega osr sync contended gc barriers classes deopt virtual)
known_pid=
KNOWN_CLASS=${KNOWN_CLASS:-Known} # another program, its arguments MODE SECONDS
. "$TOP/tests/lib/bundle.sh"

known_setup() {
	local home=${1%% *}

	KNOWN=$(mktemp -d /tmp/dfg-known.XXXXXX)
	trap known_teardown EXIT
	chmod 755 "$KNOWN"
	mkdir "$KNOWN/classes"
	"$home/bin/javac" --release 17 -d "$KNOWN/classes" "$TOP/tests/java/$KNOWN_CLASS.java" || exit 1
	"${CC:-cc}" -shared -fPIC -O2 -fomit-frame-pointer -I"$home/include" -I"$home/include/linux" \
		-o "$KNOWN/classes/libknown.so" "$TOP/tests/java/known.c" || exit 1
}

known_stop() {
	[ -n "$known_pid" ] || return 0
	kill -9 "$known_pid" 2>/dev/null
	wait "$known_pid" 2>/dev/null
	[ ! -d "$KNOWN/bundle" ] || TMPDIR=$KNOWN bundle_stop known
	rm -rf "$KNOWN/bundle"
	known_pid=
}

known_teardown() {
	known_stop
	"$BUILD/libexec/dfg-hook" --release --root "$KNOWN/root" >/dev/null 2>&1
	awk -v d="$KNOWN/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r umount -l
	rm -rf "$KNOWN"
}

known_runs_on() {
	[ "$1" != virtual ] || grep -qE '^JAVA_VERSION="(2[1-9]|[3-9])' "$2/release"
}

# known_args DIR MODE SECONDS [JVM OPTION…]: the JVM's arguments, in the array known_args
known_args() {
	local dir=$1 mode=$2 seconds=$3

	shift 3
	known_args=(-XX:-UsePerfData -Xmx512m "$@" -Dknown.lib="$dir/libknown.so" -cp "$dir" "$KNOWN_CLASS" "$mode" "$seconds")
}

known_start() {
	local home=$1

	shift
	known_args "$KNOWN/classes" "$@"
	"$home/bin/java" "${known_args[@]}" >"$KNOWN/log" 2>&1 &
	known_pid=$!
	sleep "${WARM:-3}"
}

known_contain() {
	local home=$1

	shift
	known_args /known "$@"
	BUNDLE_USER=1000:1000 BUNDLE_MOUNTS=("$KNOWN/classes:/known:ro") BUNDLE_HOOK=$BUILD/libexec/dfg-hook
	BUNDLE_HOOK_ARGS=(--root "$KNOWN/root" --payload "$BUILD/libexec/payload.squashfs")
	bundle_make "$KNOWN/bundle" host "$home/bin/java" "${known_args[@]}"
	TMPDIR=$KNOWN bundle_runtime runc
	bundle_start known "$KNOWN/bundle" || { cat "$KNOWN/bundle/log"; exit 1; }
	known_pid=$(bundle_pid known)
	sleep "${WARM:-3}"
}

known_record() {
	rm -rf "$KNOWN/summary" "$KNOWN/out"
	"$BUILD/bin/dfg-trigger" --root "$KNOWN/root" -o "$KNOWN/out" --json -q --keep-stacks -f folded --by thread --full --unwind "${UNWIND:-vm}" --source "$1" \
		-d "$2" -F "$3" --pid "$known_pid" >"$KNOWN/summary" 2>"$KNOWN/err" || cat "$KNOWN/err"
}

known_check() {
	local home=$1 mode=$2

	shift 2
	"$TOP/tests/java/known.py" "$@" "$mode" "$KNOWN/summary" "$home" "$KNOWN/classes"
}

known_keep() {
	mkdir -p "$(dirname "$1")"
	cp "$KNOWN/summary" "$1.json"
	cp "$KNOWN/out/flame.folded" "$1.folded"
}
