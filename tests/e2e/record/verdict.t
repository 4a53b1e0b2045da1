#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The verdict on a container with a limit of its processors.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
shop_setup
need python3
above() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a > b)}' || { echo "$1 is not above $2"; return 1; }; }

SHOP_HOOK=none SHOP_JQ='.linux.resources.cpu = {quota: 33000, period: 100000}'
ok "a container starts with a third of a processor" shop_start limited
ok "dfg-trigger" record limited
is "the verdict has its limit" "$(json .verdict.cpu_limit)" 0.33
ok "  what it used" above "$(json .verdict.cpus_used)" 0
ok "  which is not much more" above 0.5 "$(json .verdict.cpus_used)"
ok "  how often it was stopped" above "$(json .verdict.throttled_periods)" -1
is "  the machine's processors" "$(json .verdict.processors)" "$(getconf _NPROCESSORS_ONLN)"
is "  shares of all samples" "$(json '[.verdict.shares[]] | add | . * 1000 | round')" 1000
ok "  the application's methods" eval '[[ "$(json ".verdict.top_methods[0].name")" = Shop* ]]'
is "  which are its own code" "$(json '.verdict.top_methods[0].code')" application
tr -d '\n' <"$(json .session)/session.json" | sed 's/"cpu": {[^}]*},//' >"$SHOP/old.json"
session=$(json .session)
mv "$SHOP/old.json" "$session/session.json"
"$DFG" --replay --json -o "$SHOP/again" "$session" >"$SHOP/out" 2>"$SHOP/err"
is "a session of an older version is drawn" $? 0
is "  without a limit" "$(json .verdict.cpu_limit)" null
ok "  what was used is told by its samples" above "$(json .verdict.cpus_used)" 0
shop_stop limited

# A process that is idle when its recording begins.
mkfifo "$SHOP/go"
bash -c 'read -r _ <"$1"; while :; do :; done' idle "$SHOP/go" &
idle=$!
"$DFG" -q -d 600 -f folded --root "$SHOP/root" -o "$SHOP/idle" --pid "$idle" >"$SHOP/out" 2>"$SHOP/err" &
trigger=$!
recording() { find "$SHOP/root" -name perf.data -size +0 | grep -q .; }
ok "a process that is idle is recorded" wait_for recording
sleep 2
go=$(python3 -c 'import time; print(time.monotonic_ns() // 1000)')
echo >"$SHOP/go"
at_work "$idle" 50
kill -INT "$trigger"
wait "$trigger"
kill "$idle"
samples() { "$DFG" -q --replay --json "$@" -f folded -o "$SHOP/part" --force "$SHOP/idle" 2>/dev/null | jq .samples; }
at=$(jq "($go - .began_us) / 1000000" "$SHOP/idle/session/session.json" | cut -c1-8)
ok "it begins to work when it has been recorded for $at s" above "$at" 0
is "  times count from the beginning of the recording: it has no sample before" "$(samples --to "$at")" 0
ok "  but after that" [ "$(samples --from "$at")" -gt 0 ]
tap_done
