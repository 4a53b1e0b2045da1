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
is "$COUNT at once: failed starts" "$(find "$S" -maxdepth 1 -name 'failed*' | wc -l)" 0
is "$COUNT at once: mounted" "$(grep -l ' /dev/dfg ro,' "$S"/table* | wc -l)" "$COUNT"
is "their directories are gone" "$(ls "$R/containers")" ""
is "one payload, one loop device" "$(losetup -n -O BACK-FILE -l | grep -c "$S")" 1
is "the base mounts are all that is left" "$(hook_mounts)" "$R
$(echo "$R"/payload/*)"
"$HOOK" --root "$R" --release >/dev/null
is "and then nothing" "$(hook_mounts)" ""
tap_done
