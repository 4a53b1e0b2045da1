# SPDX-License-Identifier: Apache-2.0
# The demo's JVM under test, in runc bundles. Source it after tap.sh and bundle.sh.
#
#   shop_setup            scratch directory $SHOP (removed at exit), DFG_ROOT in it, Shop compiled,
#                         DFG (dfg-trigger of the build), HOOK and PAYLOAD set
#   shop_start ID [JVM OPTION…]   a container with Shop in it: uid 1000, read-only root, no capability,
#                         hook installed unless SHOP_HOOK=none; returns when Shop is at work.
#                         Knobs: SHOP_ROOT SHOP_JAVA (a root file system and a java in it, else the
#                         host's), SHOP_MAIN, SHOP_USER, SHOP_USERNS, SHOP_CAPS, SHOP_JQ
#   shop_create ID [JVM OPTION…]  the same, and does not wait
#   shop_stop ID
#   json FILTER           jq -r on the last summary, $SHOP/out
#   trigger ARG…          dfg-trigger --json --keep-stacks into $SHOP/out and $SHOP/err; status in $status
#   record ARG…           the same for 2 s, for more where that gives few samples, on a busy machine
#   recording OLDER ID    waits for a recording below $SHOP, newer than the file OLDER, and until the
#                         first process of the container has used 0.2 s of processor time in it

shop_setup() {
	need_root
	need runc jq java javac perf
	SHOP=$(mktemp -d /tmp/dfg-shop.XXXXXX)
	export DFG_ROOT=$SHOP/root
	DFG=$BUILD/bin/dfg-trigger HOOK=$BUILD/libexec/dfg-hook PAYLOAD=$BUILD/libexec/payload.squashfs
	JAVA=$(readlink -f "$(command -v java)")
	export TMPDIR=$SHOP # runc's state, too
	trap shop_teardown EXIT
	chmod 755 "$SHOP"
	# The hook gives up after 250 ms, which a machine full of tests may need.
	echo "budget_ms = 30000" >"$SHOP/hook.conf"
	mkdir -p "$SHOP/app"
	javac -d "$SHOP/app" "$TOP/examples/demo/Shop.java"
	bundle_runtime runc
}

shop_teardown() {
	local id
	for id in $("${RUNTIME[@]}" list -q); do bundle_stop "$id"; done
	"$HOOK" --release --root "$DFG_ROOT" >/dev/null 2>&1
	awk -v d="$SHOP/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r umount -l
	rm -rf "$SHOP"
}

shop_create() {
	local id=$1 dir=$SHOP/$1 tmp=(/dev/null)
	shift
	mkdir -p "$dir/tmp"
	chmod 1777 "$dir/tmp"
	BUNDLE_USER=${SHOP_USER-1000:1000} BUNDLE_READONLY=1 BUNDLE_CAPS=${SHOP_CAPS-} \
		BUNDLE_HOOK=$([ "${SHOP_HOOK:-}" = none ] || echo "$HOOK") \
		BUNDLE_USERNS=${SHOP_USERNS:-} BUNDLE_JQ=${SHOP_JQ:-.}
	BUNDLE_HOOK_ARGS=(--root "$DFG_ROOT" --payload "$PAYLOAD" --conf "$SHOP/hook.conf")
	BUNDLE_MOUNTS=("$SHOP/app:/mnt:ro" "$dir/tmp:/tmp:nosuid,nodev,noexec")
	bundle_make "$dir" "${SHOP_ROOT:-host}" "${SHOP_JAVA:-$JAVA}" -Xmx256m -cp /mnt "$@" \
		${SHOP_MAIN-Shop 2 20}
	bundle_start "$id" "$dir" || { cat "$dir/log"; return 1; }
}

shop_start() {
	shop_create "$@" && shop_wait "$1"
}

shop_wait() { at_work "$(bundle_pid "$1")" 150; }

shop_stop() { bundle_stop "$1"; }

trigger() {
	"$DFG" --json --keep-stacks "$@" >"$SHOP/out" 2>"$SHOP/err"
	status=$?
	return $status
}
json() { jq -r "$1" "$SHOP/out"; }

record() {
	local seconds
	for seconds in 2 8 30; do
		trigger -d $seconds -F 499 "$@" || [ $status = 4 ] || return
		[ "$(json '[.recordings // [.] | .[].samples] | min')" -lt 150 ] || break
	done
	return $status
}
recording() {
	wait_for eval "find '$SHOP' -name perf.data -newer '$1' -size +20k | grep -q ."
	at_work_again "$(bundle_pid "$2")" 20
}
