#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A hundred containers at once: all start, all are mounted or say why not, nothing stays.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/e2e/hook/common.sh
hook_setup
COUNT=${COUNT:-100}

# A payload of its own: loop devices are told by their files.
cp "$PAYLOAD" "$S/payload"
BUNDLE_HOOK_ARGS+=(--payload "$S/payload")
for i in $(seq "$COUNT"); do
	(BUNDLE_HOSTNAME=h$i bundle_make "$S/b$i" "$S/fs" /app) &
	[ $((i % 8)) = 0 ] && wait
done
wait
for i in $(seq "$COUNT"); do
	(hook_run "$S/b$i" "$i" >"$S/table$i" 2>&1 || echo "$i" >"$S/failed$i") &
done
wait
is "$COUNT at once: failed starts (case 43)" "$(find "$S" -maxdepth 1 -name 'failed*' | wc -l)" 0
is "$COUNT at once: mounted" "$(grep -l ' /dev/dfg ro,' "$S"/table* | wc -l)" "$COUNT"
is "their directories are gone" "$(ls "$R/containers")" ""
is "one payload, one loop device" "$(losetup -n -O BACK-FILE -l | grep -c "$S")" 1
is "the base mounts are all that is left" "$(hook_mounts)" "$R
$(echo "$R"/payload/*)"

# One after the other, by the hook alone: nothing adds up.
zombies() { grep -l '^State:	Z' /proc/[0-9]*/status 2>/dev/null | wc -l; }
baseline() {
	echo "mounts $(wc -l </proc/self/mountinfo), files $(find "$R" /dev -xdev ! -name 'loop*' | wc -l)," \
		"loops $(losetup -n -O BACK-FILE -l | grep -c "$S"), zombies $(zombies)," \
		"hooks $(pgrep -cf "$HOOK --root $R"), cgroups $(find /sys/fs/cgroup -type d -path "*$BOX*" | wc -l)"
}
mkdir -p "$S/b"
printf '{"root":{"path":"%s"}}' "$S/fs" >"$S/b/config.json"
one() {
	unshare -m sh -c 'mount -t tmpfs none "$1/dev" && echo && exec sleep infinity' sh "$S/fs" >"$S/ready" &
	read -r _ <"$S/ready"
	hook_state $! seq | hook_feed && hook_status seq
	kill -9 $!
	wait $! 2>/dev/null
	hook_state 0 seq stopped | hook_feed || echo failed
}
SEQUENCE=${SEQUENCE:-$([ "${DFG_FULL:-}" = 1 ] && echo 300 || echo 100)}
mkfifo "$S/ready"
one >/dev/null
before=$(baseline)
for i in $(seq "$SEQUENCE"); do one; done >"$S/statuses"
is "$SEQUENCE one after the other: all are mounted (case 43)" "$(sort "$S/statuses" | uniq -c | tr -s ' ')" \
	" $SEQUENCE mounted"
is "  mounts, files, loop devices, zombies, processes and cgroups are as before (case 78)" "$(baseline)" "$before"
diag "$before"

"$HOOK" --root "$R" --release >/dev/null
is "and then nothing" "$(hook_mounts)" ""
tap_done
