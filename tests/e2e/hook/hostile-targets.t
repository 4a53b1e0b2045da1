#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Containers whose root file system, /proc, mounts or user are not what the hook would like to find.
# Each starts as it would without the hook; the host stays as it was.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
need mksquashfs capsh
need_root
[ -x "$BUILD/tests/test_hook_race.t" ] || tap_cannot "not built: $BUILD/tests/test_hook_race.t"
. tests/e2e/hook/common.sh
hook_setup

canary() { find "$S/canary" -printf '%P %s %T@\n' | sort | sha256sum; }
mkdir "$S/canary"
echo safe >"$S/canary/file"
before=$(canary)
devs() { find /dev -maxdepth 1 ! -name 'loop*' | sort; }
before_devs=$(devs)
table_has() { awk '{print $5}' "$S/table" | grep -cx "/dev/dfg\(-out\|-ctl\|\)"; }
runs() { hook_run "$S/b" "$1" >"$S/table" || { cat "$S/table"; return 1; }; }

# /proc of the image is what the container sees. The hook's own is the host's.
no_proc='.mounts |= map(select(.destination != "/proc"))'
for kind in link fake; do
	rm -rf "$S/img"
	bundle_static "$S/img"
	rmdir "$S/img/proc"
	case $kind in
	link) ln -s "$S/canary" "$S/img/proc" ;;
	fake) mkdir -p "$S/img/proc/self"/{fd,attr,ns} && echo 1 >"$S/img/proc/self/attr/current" ;;
	esac
	find "$S/img/proc/" | sort >"$S/proc-before"
	mkdir -p "$S/b"
	printf '{"root":{"path":"%s"}}' "$S/img" >"$S/b/config.json"
	unshare -m sh -c "mount -t tmpfs none $S/img/dev && exec sleep infinity" &
	pid=$!
	wait_for grep -qx sleep /proc/$pid/comm
	hook_state $pid "$kind" | hook_feed
	is "/proc of the image is a $kind: mounted (case 7)" "$(hook_status "$kind")" mounted
	is "  nothing was done in it" "$(find "$S/img/proc/" | sort)" "$(cat "$S/proc-before")"
	kill $pid
	wait $pid 2>/dev/null
	hook_state 0 "$kind" stopped | hook_feed
done

# A root file system that nothing can be written to.
mkdir "$S/squash"
mksquashfs "$S/fs" "$S/fs.squashfs" -quiet -no-progress >/dev/null
if mount -o loop,ro "$S/fs.squashfs" "$S/squash"; then
	bundle_make "$S/b" "$S/squash" /app
	ok "a root file system of squashfs: starts (case 8)" runs squash
	is "  with all mounts" "$(table_has)" 3
	umount "$S/squash"
else
	ok "a root file system of squashfs # SKIP no loop device (case 8)" true
fi

# Without pivot_root, as on a ramdisk.
no_pivot() { "${RUNTIME[@]}" run --no-pivot --bundle "$S/b" "$(hook_id pivot)" >"$S/table" 2>&1 </dev/null; }
bundle_make "$S/b" "$S/fs" /app
ok "--no-pivot: starts (case 12)" no_pivot
is "  with all mounts" "$(table_has)" 3
is "  the host's /dev is as it was" "$(devs)" "$before_devs"
is "  nor has the host a mount there" "$(grep -c ' /dev/dfg' /proc/self/mountinfo)" 0

# All capabilities, and the host's processes: the injector cannot be overwritten while it runs.
payload_sum() { cat "$R"/payload/*/* | sha256sum; }
all_caps=$(capsh --decode="$(awk '/^CapBnd/ {print $2}' /proc/self/status)" | sed 's/.*=//; s/,/ /g' | tr a-z A-Z)
BUNDLE_CAPS=$all_caps BUNDLE_JQ='.process.noNewPrivileges = false | .linux.namespaces |= map(select(.type != "pid"))
	| .linux.maskedPaths = [] | .linux.readonlyPaths = []' bundle_make "$S/b" host sleep infinity
ok "a container with all capabilities and the host's processes" eval 'hook_start evil "$S/b" || { cat "$S/b/log"; false; }'
sum=$(payload_sum) image_sum=$(sha256sum "$PAYLOAD")
cat >"$S/b/rootfs/tmp/overwrite" <<'END'
mkfifo /tmp/full && exec 3<>/tmp/full && head -c 65536 /dev/zero >&3
/dev/dfg/dfg-inject --help >&3 &
until [ "$(readlink /proc/$!/exe)" = /dev/dfg/dfg-inject ]; do sleep 0.05; done
for mode in '>' '>>' '<>'; do
	eval "exec 4$mode/proc/$!/exe" 2>/dev/null && echo "opened with $mode"
done
kill -9 $!
echo tried
END
is "the injector is not overwritten through /proc/PID/exe (case 14)" \
	"$(hook_exec evil bash /tmp/overwrite 2>/dev/null)" tried
is "  the host's copy is whole" "$(payload_sum)" "$sum"
is "  and the image" "$(sha256sum "$PAYLOAD")" "$image_sum"
hook_stop evil

# Many mounts: each round doubles them.
mkdir -p "$S/many"
unshare -m sh -c 'mount -t tmpfs none "$1/fs/dev" && mount -t tmpfs none "$1/many" &&
	for i in $(seq 16); do mkdir "$1/many/$i" && mount -n --rbind "$1/many" "$1/many/$i" || exit; done
	exec sleep infinity' sh "$S" &
pid=$!
ok "a mount namespace of many mounts" wait_for grep -qx sleep /proc/$pid/comm
ok "  more than 50 000" test "$(wc -l </proc/$pid/mountinfo)" -gt 50000
printf '{"root":{"path":"%s"}}' "$S/fs" >"$S/b/config.json"
from=$SECONDS
ok "  the hook ends well (case 16)" eval 'hook_state $pid mounts | hook_feed'
ok "  in time ($((SECONDS - from)) s)" test $((SECONDS - from)) -lt 20
ok "  it has mounted, or given up: $(hook_status mounts)" grep -qx 'mounted\|starting\|err-timeout' <(hook_status mounts)
kill $pid
wait $pid 2>/dev/null
hook_state 0 mounts stopped | hook_feed

# User namespaces.
BUNDLE_USERNS=100000:1000 BUNDLE_JQ='.linux.uidMappings += [{containerID: 1000, hostID: 300000, size: 64536}] |
	.linux.gidMappings = .linux.uidMappings' bundle_make "$S/b" "$S/fs" /app
ok "a user namespace of two ranges: starts (case 33)" runs ranges
is "  with all mounts" "$(table_has)" 3

# Without root: a runtime that a user runs, in a user namespace of that user.
rootless() {
	setpriv --reuid 1000 --regid 1000 --clear-groups env XDG_RUNTIME_DIR="$S/user" runc --root "$S/user/runc" run \
		--bundle "$S/user/b" "$(hook_id user)" >"$S/table" 2>&1 </dev/null || { cat "$S/table"; return 1; }
}
mkdir -p "$S/user"
BUNDLE_USERNS=1000:1 BUNDLE_JQ='del(.linux.cgroupsPath) | .linux.namespaces |= map(select(.type != "network")) |
	.mounts |= map(select(.type != "devpts"))' bundle_make "$S/user/b" "$S/fs" /app
chown -R 1000:1000 "$S/user"
ok "a user's own runtime: starts (case 34)" rootless
is "  without mounts" "$(table_has)" 0
ok "  and without a record" test ! -e "$(hook_dir user)"

# Whoever can write to the file system swaps directories while the hook mounts.
ROUNDS=${ROUNDS:-$([ "${DFG_FULL:-}" = 1 ] && echo 2500 || echo 250)}
race() { DFG_ROUNDS=$ROUNDS "$BUILD/tests/test_hook_race.t" >"$S/race"; }
ok "$ROUNDS calls while /dev is swapped, and the mount points: no mount elsewhere (case 6)" race
diag "$(grep -o 'of [0-9]* calls, of which [0-9]* mounted' "$S/race")"
is "the canary lives" "$(canary)" "$before"
tap_done
