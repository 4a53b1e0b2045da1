#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Containers that run already, and what ended ones left: --join, --gc, --release, upgrades.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/e2e/hook/common.sh
hook_setup

join() { hook_state "$(bundle_pid "$(hook_id "$1")")" "$1" running | hook_feed --join; }
table() { hook_exec "$1" cat /proc/self/mountinfo; }

# --join
for userns in "" 300000:65536; do
	name="join${userns:+, user namespace}"
	BUNDLE_HOOK='' BUNDLE_USERNS=$userns BUNDLE_READONLY=1 bundle_make "$S/b" host sleep infinity
	hook_start j "$S/b"
	is "$name" "$(join j | jq -r .status)" mounted
	is "$name: the agent is there" "$(table j | mount_of /dev/dfg)" \
		"ro,nosuid,nodev,relatime,nosymfollow squashfs"
	is "$name: and the share" "$(table j | mount_of /dev/dfg-out)" \
		"rw,nosuid,nodev,noexec,relatime,nosymfollow tmpfs"
	is "$name: and the requests" "$(table j | mount_of /dev/dfg-ctl)" \
		"ro,nosuid,nodev,noexec,relatime,nosymfollow tmpfs"
	is "$name: recorded" "$(jq -r .how "$(hook_dir j)/state.json")" join
	is "$name: a second time" "$(join j | jq -r .status)" already
	is "$name: no second mount" "$(table j | grep -c ' /dev/dfg ')" 1
	hook_exec j sh -c 'echo hello >/dev/dfg-out/f'
	is "$name: the host sees the share" "$(cat "$(hook_dir j)/out/f")" hello
	hook_stop j
	ok "$name: --gc" "$HOOK" --root "$R" --gc
	ok "$name: takes it away" test ! -e "$(hook_dir j)"
done
refused() {
	local line
	line=$(hook_feed --join) && return 1
	echo "$line" | jq -e --arg s "$1" '.status == $s and .detail != ""'
}
gone() { hook_state 4194304 gone | refused skip-gone; }
ok "a process that is not there" gone
own() { hook_state $$ own | refused skip-nomntns; }
ok "a process that is no container" own
broken() { echo '{' | refused skip-state; }
ok "no state" broken
ok "an unknown option" sh -c '! echo "{}" | "$0" --join --what' "$HOOK"
"$HOOK" --root "$R" --gc >/dev/null
ok "--gc removes what they left" test -z "$(ls "$R/containers")"

# Findings 5 and 12: the pid is another process's by the time the hook opens it. That one is in a mount
# namespace of its own, too, and gets nothing of the dead container's.
start_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20; }
reused() { hook_state "$1" reused running | jq -c --argjson t "$2" '.start_time = $t' | hook_feed --join; }
no_pid() { [ ! -e "/proc/$1" ]; }
gcc -O1 -o "$S/settid" tests/e2e/record/settid.c
BUNDLE_HOOK='' bundle_make "$S/b" "$S/fs" /app wait
hook_start dead "$S/b"
pid=$(bundle_pid "$(hook_id dead)")
start=$(start_of "$pid")
hook_stop dead
ok "a container ends" wait_for no_pid "$pid"
bundle_static "$S/other"
"$S/settid" "$pid" "$(command -v unshare)" --mount sh -c "mount -t tmpfs dev '$S/other/dev' &&
	exec chroot '$S/other' /app wait" & later=$!
ok "another process has its pid" wait_for grep -q app "/proc/$pid/comm"
is "it is not joined by the dead container's start time: case 86" \
	"$(reused "$pid" "$start" | jq -r '.status + ": " + .detail')" \
	"skip-gone: the container has ended: its pid is another process's"
ok "it has no mount of dfg" sh -c "! grep dfg-out /proc/$pid/mountinfo"
is "the start time is the only reason" "$(reused "$pid" "$(start_of "$pid")" | jq -r .status)" mounted
kill $later
wait $later 2>/dev/null
"$HOOK" --root "$R" --gc >/dev/null

# Cases 15 and 30: a container whose root is a file system that never answers (FUSE) keeps a hook in the kernel.
# Others are not kept: the hook has given up the lock that all share.
mounters() { pgrep -f "$HOOK --root $R" | wc -l; }
if [ -w /dev/fuse ]; then
	gcc -O1 -o "$S/stuckfs" tests/e2e/record/stuckfs.c
	mkdir "$S/stuck"
	"$S/stuckfs" "$S/stuck" root >"$S/ready" & stuck=$!
	ok "a container's root never answers" wait_for grep -q ready "$S/ready"
	is "the time budget ends the hook" "$(hook_state $stuck stuck running | hook_feed --join | jq -r .status)" err-timeout
	is "a part of it is kept waiting in the kernel" "$(mounters)" 1
	is "nobody holds the lock of all" "$(flock --exclusive --nonblock "$R/lock" echo free)" free
	cp -r "$BUILD/payload" "$S/upgraded"
	BUNDLE_HOOK='' bundle_make "$S/b" "$S/fs" /app wait
	hook_start up "$S/b"
	upgraded() {
		hook_state "$(bundle_pid "$(hook_id up)")" up running |
			"$HOOK" --root "$R" --payload "$S/upgraded" --conf "$S/hook.conf" --join | jq -r .status
	}
	is "another container gets an upgraded payload meanwhile" "$(upgraded)" mounted
	hook_stop up
	ok "--release returns" timeout 20 "$HOOK" --root "$R" --release
	is "the hook still waits" "$(mounters)" 1
	kill $stuck
	wait $stuck 2>/dev/null
	no_mounter() { [ "$(mounters)" = 0 ]; }
	ok "it ends with the container" wait_for no_mounter
	umount -l "$S/stuck"
else
	ok "a container's root never answers # SKIP no FUSE here" true
fi

# A container whose annotation says no is not joined either.
optout() {
	hook_state "$1" o running | jq -c '.annotations = {"dfg.io/inject": "false"}' |
		refused skip-optout
}
BUNDLE_HOOK='' bundle_make "$S/b" "$S/fs" /app wait
hook_start o "$S/b"
ok "opted out" optout "$(bundle_pid "$(hook_id o)")"
hook_stop o

# Without poststop: the same id again, and --gc.
BUNDLE_HOOK_STAGES=createRuntime bundle_make "$S/b" "$S/fs" /app wait
hook_start again "$S/b"
echo old >"$(hook_dir again)/out/file"
hook_stop again
ok "without poststop the mounts stay" test -f "$(hook_dir again)/out/file"
hook_start again "$S/b"
is "the same id again" "$(hook_status again)" mounted
ok "has a share of its own" test ! -e "$(hook_dir again)/out/file"
is "mounted once" "$(hook_mounts | grep -c "$(hook_dir again)/out")" 1
"$HOOK" --root "$R" --gc >/dev/null
ok "--gc leaves a container that runs" test -d "$(hook_dir again)/out"
"$HOOK" --root "$R" --release >/dev/null
is "--release, too" "$(hook_mounts | grep -c "$(hook_dir again)")" 2
ok "and its payload" test -f "$R/payload/$(jq -r .payload "$(hook_dir again)/state.json")/libdfg-agent.so"
state=$(hook_dir again)/state.json
jq '.boot_id = "00000000-0000-0000-0000-000000000000"' "$state" >"$S/c"
cat "$S/c" >"$state"
is "a record of another boot (case 71)" "$("$HOOK" --root "$R" --gc)" "removed 1, running 0"
hook_stop again

# A record that stayed without a process of that start time, and one that is broken.
mkdir -p "$(hook_dir old)/graphs/g" "$(hook_dir bad)"
jq -n --arg b "$(cat /proc/sys/kernel/random/boot_id)" \
	'{status: "mounted", pid: 1, start_time: 1, boot_id: $b}' >"$(hook_dir old)/state.json"
echo '{' >"$(hook_dir bad)/state.json"
"$HOOK" --root "$R" --gc >/dev/null
ok "a broken record goes" test ! -e "$(hook_dir bad)"
ok "graphs stay" sh -c 'mkdir "$0/graphs/h" && "$1" --root "$2" --gc >/dev/null && test -d "$0/graphs/h"' \
	"$(hook_dir old)" "$HOOK" "$R"

# An upgrade while a container runs: it keeps the old payload, the next one gets the new.
mkdir "$S/pay"
printf old >"$S/pay/libdfg-agent.so"
printf old >"$S/pay/dfg-inject"
need mksquashfs
image() { rm -f "$S/img" && mksquashfs "$S/pay" "$S/img" -all-root -quiet -no-progress >/dev/null; }
image
BUNDLE_HOOK_ARGS=(--root "$R" --payload "$S/img" --conf "$S/hook.conf")
bundle_make "$S/b1" host sleep infinity
hook_start u1 "$S/b1"
printf new >"$S/pay/libdfg-agent.so"
image
bundle_make "$S/b2" host sleep infinity
hook_start u2 "$S/b2"
is "the old container has the old payload (case 59)" "$(hook_exec u1 cat /dev/dfg/libdfg-agent.so)" old
is "the new one the new" "$(hook_exec u2 cat /dev/dfg/libdfg-agent.so)" new
hook_stop u1
"$HOOK" --root "$R" --release >/dev/null
is "--release drops the old one" "$(find "$R/payload" -name '*.so' -exec cat {} +)" new
hook_stop u2
loops() { losetup -n -O BACK-FILE -l | grep -c "$S"; }
is "one loop device is in use" "$(loops)" 1
ok "--release, by the environment" env DFG_ROOT="$R" "$HOOK" --release
is "no mount is left" "$(hook_mounts)" ""
no_loop() { [ "$(loops)" = 0 ]; }
ok "no loop device is left" wait_for no_loop
tap_done
