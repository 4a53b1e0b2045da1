# SPDX-License-Identifier: Apache-2.0
# What the hook's end-to-end tests share. Sourced after tap.sh and bundle.sh.
#
#   hook_setup             a scratch directory S with the hook's root directory R and a root file
#                          system of one static program; sets BUNDLE_HOOK and its arguments, with a
#                          configuration S/hook.conf; all is taken away at exit
#   hook_run DIR [ID]      runs the bundle to its end
#   hook_status ID         the status the hook recorded
#   hook_state PID ID [STATUS]   an OCI state
#   hook_feed ARG...       the hook by itself, state on stdin
# This hook is killed by a system call that its filter does not allow: the list is complete, or tests fail.
HOOK=$BUILD/tools/dfg-hook
PAYLOAD=$BUILD/libexec/payload.squashfs

hook_setup() {
	need jq runc gcc
	need_root
	[ -x "$HOOK" ] && [ -f "$PAYLOAD" ] || tap_cannot "not built: $HOOK, $PAYLOAD"
	S=$(mktemp -d /tmp/dfg-hook-test.XXXXXX)
	chmod 755 "$S"
	R=$S/root
	trap hook_teardown EXIT
	bundle_runtime runc
	bundle_static "$S/fs"
	BUNDLE_HOOK=$HOOK
	# A machine full of tests needs more than the usual 250 ms.
	echo "budget_ms = 30000" >"$S/hook.conf"
	BUNDLE_HOOK_ARGS=(--root "$R" --payload "$PAYLOAD" --conf "$S/hook.conf")
}

hook_teardown() {
	local id m
	for id in $("${RUNTIME[@]}" list -q 2>/dev/null); do
		case $id in "$(basename "$S")"*) bundle_stop "$id" ;; esac
	done
	"$HOOK" --root "$R" --release >/dev/null 2>&1
	for m in $(awk -v d="$S/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r); do
		umount -l "$m" 2>/dev/null
	done
	rm -rf --one-file-system "$S"
}

# Ids are the scratch directory's name and a suffix: tests at the same time do not meet.
hook_id() { echo "$(basename "$S")-$1"; }

hook_run() { "${RUNTIME[@]}" run --bundle "$1" "$(hook_id "${2:-x}")" 2>&1 </dev/null; }
hook_start() { bundle_start "$(hook_id "$1")" "$2"; }
hook_exec() {
	local id
	id=$(hook_id "$1")
	shift
	bundle_exec "$id" "$@"
}
hook_stop() { bundle_stop "$(hook_id "$1")"; }
hook_dir() { echo "$R/containers/$(hook_id "$1")"; }
hook_status() { jq -r .status "$(hook_dir "$1")/state.json"; }
hook_state() {
	printf '{"ociVersion":"1.0.2","id":"%s","status":"%s","pid":%s,"bundle":"%s"}' \
		"$(hook_id "$2")" "${3:-creating}" "$1" "$S/b"
}
hook_feed() { "$HOOK" --root "$R" --payload "$PAYLOAD" --conf "$S/hook.conf" "$@"; }

# mount_of POINT: options and file system type, from a mount table on stdin.
mount_of() { awk -v p="$1" '$5 == p { for (i = 7; $i != "-"; i++); print $6, $(i + 1) }'; }

# The mounts of this namespace that belong to the test.
hook_mounts() { awk -v d="$S/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort; }
