#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every system call of the hook fails once, or is its process's last. Whatever fails: the hook says
# so, the container has all three mounts or none, and poststop leaves nothing on the host. A call
# that dies may leave the share in the container, but never the agent without it.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
need strace nsenter
. tests/e2e/hook/common.sh
# The real hook: on the way out of an error, libc may try calls that the filter denies.
HOOK=$BUILD/libexec/dfg-hook
hook_setup

BUNDLE_HOOK='' bundle_make "$S/b" "$S/fs" /app wait
hook_start f "$S/b"
pid=$(bundle_pid "$(hook_id f)")
hook_state "$pid" f >"$S/state"
hook_state 0 f stopped >"$S/stopped"

inside() { awk '$5 ~ "^/dev/dfg" {print $5}' "/proc/$pid/mountinfo" | sort | tr '\n' ' '; }
names() { ls -d "/proc/$pid/root/dev"/dfg* 2>/dev/null | wc -l; }
all="/dev/dfg /dev/dfg-ctl /dev/dfg-out "

cat >"$S/umount.c" <<'END'
#include <sys/mount.h>
int main(int argc, char **argv)
{
	return argc < 2 || umount2(argv[1], MNT_DETACH);
}
END
gcc -static -o "$S/fs/umount" "$S/umount.c"
reset() {
	local m
	for m in dfg dfg-ctl dfg-out; do
		nsenter -t "$pid" -m /umount "/dev/$m" 2>/dev/null
	done
	rmdir "/proc/$pid/root/dev"/dfg* 2>/dev/null
	hook_feed <"$S/stopped"
}

# fault CALL WHAT WHEN: runs the hook with it, and checks.
fault() {
	local status got
	strace -f -o "$S/trace" -e "trace=$1" -e "inject=$1:$2:when=$3" \
		"$HOOK" --root "$R" --payload "$PAYLOAD" --join <"$S/state" >"$S/line"
	status=$(jq -r .status "$S/line")
	got=$(inside)
	grep -q 'INJECTED\|killed by SIGKILL' "$S/trace" && hits=$((hits + 1))
	echo "$1:$2:when=$3: $status, inside: $got"
	case $2:$got in
	*":$all") case $status in mounted | err-crash | err-timeout | skip-gone) ;; *) return 1 ;; esac ;;
	*:) [ "$status" != mounted ] && { [ "$(names)" = 0 ] || [ "$2" != "${2#signal}" ]; } || { echo "names: $(names)"; return 1; } ;;
	signal*) case $got in */dev/dfg\ *) return 1 ;; esac ;;
	*) return 1 ;;
	esac
}

check() {
	local call=$1 what when failed=0 hits=0
	for what in error=EPERM error=ENOMEM error=ENOSYS error=EINTR error=EMFILE signal=KILL; do
		for when in 1 2 3; do
			fault "$call" "$what" "$when" || failed=1
			reset
			[ "$(hook_mounts | grep -c /containers/)" = 0 ] || {
				echo "left on the host: $(hook_mounts)"
				failed=1
			}
			[ "$(hook_mounts | grep -cx "$R")" -le 1 ] || { echo "its root is bound twice" && failed=1; }
			[ ! -e "$(hook_dir f)" ] || { echo "left: $(find "$(hook_dir f)")"; failed=1; }
		done
	done
	[ $hits -gt 0 ] || echo "no call was hit"
	[ $hits -gt 0 ] && return $failed
}

is "without a fault" "$(hook_feed --join <"$S/state" | jq -r .status) $(inside)" "mounted $all"
reset
is "reset" "$(inside)$(hook_mounts | grep -c /containers/)" 0
for call in setns mkdirat openat2 move_mount fstatfs mount_setattr fsopen fsconfig fsmount \
	open_tree pipe2 clone capset seccomp statx setfsuid unlinkat renameat flock; do
	ok "$call (case 28, case 29)" check $call
done
hook_stop f
tap_done
