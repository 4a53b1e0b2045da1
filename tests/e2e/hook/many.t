#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A hundred containers at once: all start, all are mounted or say why not, nothing stays.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/e2e/hook/common.sh
hook_setup
COUNT=${COUNT:-100}

# Two CPUs for a hundred hooks: the time budget is not what is tested here.
printf 'budget_ms = 4000\n' >"$S/dfg.conf"
BUNDLE_HOOK_ARGS+=(--conf "$S/dfg.conf")
for i in $(seq "$COUNT"); do
	(BUNDLE_HOSTNAME=h$i bundle_make "$S/b$i" "$S/fs" /app) &
	[ $((i % 8)) = 0 ] && wait
done
wait
fds=$(ls "/proc/$$/fd" | wc -l)
devices=$(losetup -n -O NAME -l | wc -l)
for i in $(seq "$COUNT"); do
	(hook_run "$S/b$i" "$i" >"$S/table$i" 2>&1 || echo "$i" >"$S/failed$i") &
done
wait
is "$COUNT at once: failed starts" "$(find "$S" -maxdepth 1 -name 'failed*' | wc -l)" 0
is "$COUNT at once: mounted" "$(grep -l ' /dev/dfg ro,' "$S"/table* | wc -l)" "$COUNT"
is "their directories are gone" "$(ls "$R/containers")" ""
ok "one payload, one loop device" test "$(losetup -n -O NAME -l | wc -l)" -le $((devices + 1))
is "the base mounts are all that is left" "$(hook_mounts)" "$R
$(echo "$R"/payload/*)"
is "descriptors" "$(ls "/proc/$$/fd" | wc -l)" "$fds"
"$HOOK" --root "$R" --release >/dev/null
is "and then nothing" "$(hook_mounts)" ""
tap_done
