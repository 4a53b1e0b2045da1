#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pages and pictures of bytes and times in a real browser: amounts in three digits, and what was waited for, by whom, and
# who held it.
. "$(dirname "$0")/../../lib/tap.sh"
need python3
command -v chromium >/dev/null || need chromium-browser
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

jfr=$TOP/tests/golden/jfr/async-profiler.jfr
for event in lock alloc; do
	mkdir "$work/$event"
	"$BUILD/bin/dfg-merge" -q --event "$event" -f html,svg,folded -o "$work/$event" "$jfr" >/dev/null || exit 1
done
"$BUILD/bin/dfg-merge" -q --event alloc --include NoSuchMethod -f html -o "$work/none" "$jfr" >/dev/null
"$BUILD/bin/dfg-diff" --event alloc -f html,svg -o "$work" "$jfr" "$jfr" >/dev/null || exit 1
printf '%s\n' 'main;a.A.run_[j];a.B.want_[j];java.util.Map.put_[j];a.Box;held by;java.lang.Thread.sleep_[j];a.C.hold_[j];a.C.main_[j] 9' |
	"$BUILD/tools/draw" html >"$work/held.html" || exit 1
PYTHONPATH=$TOP/tests/tools PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/e2e/report/units_browser.py" "$work" "$TOP/host/format"
