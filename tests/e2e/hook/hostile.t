#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Images, volumes and containers that would have the hook mount elsewhere, or change what others
# get. Each container starts as it would without the hook, and the host stays as it was.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
need_root
# A host like systemd's: everything shared, in this program's box.
mount --make-rshared /
. tests/e2e/hook/common.sh
hook_setup
no_dev='(.mounts |= map(select(.type == "bind" or (.destination | startswith("/dev") | not))))'

canary() { find "$S/canary" -printf '%P %s %T@\n' | sort | sha256sum; }
mkdir "$S/canary"
echo safe >"$S/canary/file"
before=$(canary)

# try NAME STATUS: the bundle in S/b starts and the hook says STATUS.
try() {
	ok "$1: starts" hook_start h "$S/b"
	is "$1: $2" "$(hook_status h)" "$2"
	hook_stop h
}

# What is at /dev where the runtime does not mount a tmpfs there.
for kind in directory link climb file fifo socket device read-only none; do
	rm -rf "$S/img"
	bundle_static "$S/img"
	rmdir "$S/img/dev"
	case $kind in
	directory | read-only) mkdir "$S/img/dev" ;;
	link) ln -s "$S/canary" "$S/img/dev" ;;
	climb) ln -s "../../../../..$S/canary" "$S/img/dev" ;;
	file) echo >"$S/img/dev" ;;
	fifo) mkfifo "$S/img/dev" ;;
	socket) perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un($ARGV[0])) or die' "$S/img/dev" ;;
	device) mknod "$S/img/dev" c 1 5 ;;
	esac
	# The runtimes themselves want a /dev, so the hook is asked directly, as at createRuntime.
	mkdir -p "$S/b"
	printf '{"root":{"path":"%s"}}' "$S/img" >"$S/b/config.json"
	mount=:
	[ $kind = read-only ] && mount="mount -t tmpfs -o ro none $S/img/dev"
	unshare -m sh -c "$mount && exec sleep infinity" &
	pid=$!
	wait_for grep -qx sleep /proc/$pid/comm
	hook_state $pid "$kind" | hook_feed
	is "/dev is a $kind (case 3)" "$(hook_status "$kind")" skip-nodev
	kill $pid
	wait $pid 2>/dev/null
done
is "nothing was changed through /dev (case 1)" "$(canary)" "$before"

# A volume of the user where the mounts go.
mkdir "$S/volume"
echo data >"$S/volume/file"
BUNDLE_MOUNTS="$S/volume:/dev/dfg" bundle_make "$S/b" "$S/fs" /app wait
try "a volume at /dev/dfg" skip-occupied
mkdir "$S/empty"
BUNDLE_MOUNTS="$S/empty:/dev/dfg-out" bundle_make "$S/b" "$S/fs" /app wait
try "an empty volume at /dev/dfg-out" skip-occupied
BUNDLE_MOUNTS="$S/volume/file:/dev/dfg-ctl" bundle_make "$S/b" "$S/fs" /app wait
try "a file at /dev/dfg-ctl" skip-occupied
is "the volumes are as they were (case 4)" "$(ls "$S/volume" "$S/empty" && cat "$S/volume/file")" \
	"$S/empty:

$S/volume:
file
data"

# Nothing is left in the container when the last of the three cannot be mounted.
BUNDLE_MOUNTS="$S/volume:/dev/dfg" bundle_make "$S/b" "$S/fs" /app
is "all or nothing" "$(hook_run "$S/b" | awk '$5 ~ "^/dev/(dfg|shm)" {print $5}')" "/dev/shm
/dev/dfg"

# The host's /dev.
devs() { find /dev -maxdepth 1 ! -name 'loop*' | sort; } # those come with other programs
before_devs=$(devs)
BUNDLE_JQ="$no_dev" BUNDLE_MOUNTS="/dev:/dev:rbind" bundle_make "$S/b" "$S/fs" /app wait
try "the host's /dev" skip-hostdev
is "the host's /dev is as it was (case 5)" "$(devs)" "$before_devs"

# Propagation: neither the host nor another container hears of a container's mounts.
BUNDLE_MOUNTS="$S:/scratch:rslave,rbind" bundle_make "$S/b1" host sleep infinity
hook_start first "$S/b1"
before_first=$(hook_exec first cat /proc/self/mountinfo | grep -c .)
host_before=$(grep -vc "$R/" /proc/self/mountinfo)
BUNDLE_JQ=".linux.rootfsPropagation = \"shared\"" \
	BUNDLE_MOUNTS="$S/volume:/volume:rshared,rbind" bundle_make "$S/b" "$S/fs" /app wait
ok "shared root and volume: starts" hook_start h "$S/b"
is "shared root and volume: mounted" "$(hook_status h)" mounted
is "a container with the host's tree as a slave sees no new mount (case 10)" \
	"$(hook_exec first cat /proc/self/mountinfo | grep -c .)" "$before_first"
is "the host has none but its own views" \
	"$(grep -v "$R/" /proc/self/mountinfo | grep -c 'dfg-\(out\|ctl\)')" 0
hook_stop h
is "and as many as before" "$(grep -vc "$R/" /proc/self/mountinfo)" "$host_before"
hook_stop first

# A container that may mount: it can spoil its own view only.
BUNDLE_CAPS="CAP_SYS_ADMIN CAP_DAC_OVERRIDE CAP_CHOWN CAP_FOWNER" BUNDLE_JQ=".process.noNewPrivileges = false" \
	bundle_make "$S/b" host sleep infinity
payload_sum() { cat "$R"/payload/*/* | sha256sum; }
hook_start evil "$S/b"
sum=$(payload_sum)
image_sum=$(sha256sum "$PAYLOAD")
for how in remount,bind,rw remount,rw; do
	hook_exec evil mount -o $how /dev/dfg >/dev/null 2>&1
	ok "after $how nothing can be written to the payload" \
		hook_exec evil sh -c '! touch /dev/dfg/x && ! sh -c "echo >/dev/dfg/dfg-inject"'
done
hook_exec evil umount -l /dev/dfg
hook_exec evil mount -t tmpfs none /dev/dfg
hook_exec evil touch /dev/dfg/libdfg-agent.so
bundle_make "$S/b2" host sleep infinity
hook_start good "$S/b2"
is "another container's payload is whole (case 13)" \
	"$(hook_exec good sh -c 'cat /dev/dfg/*' | sha256sum)" "$sum"
is "the host's, too" "$(payload_sum)" "$sum"
is "and the image" "$(sha256sum "$PAYLOAD")" "$image_sum"
hook_stop evil
hook_stop good

# Case 96: root of a user namespace, which may mount, can change the flags of its own mounts. What holds is that the
# files are not its own: requests belong to the host's root, who is nobody there, and the payload cannot be written.
BUNDLE_USERNS=300000:65536 BUNDLE_CAPS="CAP_SYS_ADMIN CAP_DAC_OVERRIDE CAP_CHOWN CAP_FOWNER CAP_MKNOD" \
	BUNDLE_JQ=".process.noNewPrivileges = false" bundle_make "$S/b" host sleep infinity
hook_start remount "$S/b"
is "root of a user namespace has its mounts" "$(hook_status remount)" mounted
echo request >"$(hook_dir remount)/ctl/request"
host_table() { awk -v d="$(hook_dir remount)/" 'index($5, d) == 1 {print $5, $6}' /proc/self/mountinfo | sort; }
table=$(host_table)
hook_exec remount mount -o remount,bind,rw,exec,dev,suid /dev/dfg-ctl >/dev/null 2>&1
hook_exec remount mount -o remount,bind,rw,exec,dev,suid /dev/dfg-out >/dev/null 2>&1
diag "after its remount: $(hook_exec remount cat /proc/self/mountinfo | awk '$5 ~ "^/dev/dfg-" {print $5, $6}' | paste -sd ';')"
refused() {
	! hook_exec remount sh -c "$1" && [ "$(cat "$(hook_dir remount)/ctl/request")" = request ] &&
		[ "$(ls "$(hook_dir remount)/ctl")" = request ]
}
ok "  writing a request is refused: case 96" refused 'echo forged >/dev/dfg-ctl/request'
ok "  so is making one: case 96" refused 'touch /dev/dfg-ctl/request.1'
ok "  removing one" refused 'rm -f /dev/dfg-ctl/request'
ok "  moving one" refused 'mv /dev/dfg-ctl/request /dev/dfg-ctl/request.1'
ok "  changing its mode or owner" refused 'chmod 777 /dev/dfg-ctl/request || chown 0 /dev/dfg-ctl/request'
ok "  and that of the directory" refused 'chmod 777 /dev/dfg-ctl || chown 0 /dev/dfg-ctl'
ok "  no device is made in its share: case 96" bash -c '! "$@"' _ "${RUNTIME[@]}" exec "$(hook_id remount)" mknod /dev/dfg-out/null c 1 3
is "  the host's own mounts keep their flags: case 96" "$(host_table)" "$table"
ok "  and the payload cannot be written: case 96" bash -c '! "$@"' _ "${RUNTIME[@]}" exec "$(hook_id remount)" \
	sh -c 'mount -o remount,bind,rw /dev/dfg; touch /dev/dfg/x'
hook_stop remount

# Annotations narrow, and only when they say exactly so.
for note in false:skip-optout true:mounted False:mounted /etc/passwd:mounted :mounted; do
	BUNDLE_ANNOTATIONS="dfg.io/inject=${note%%:*}" bundle_make "$S/b" "$S/fs" /app wait
	try "annotation '${note%%:*}' (case 32)" "${note##*:}"
done
is "the canary lives" "$(canary)" "$before"
tap_done
