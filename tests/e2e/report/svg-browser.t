#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The interactive picture in a real browser: clicks, keys and search as a user does them.
. "$(dirname "$0")/../../lib/tap.sh"
need python3
command -v chromium >/dev/null || need chromium-browser
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for name in web empty; do
	"$BUILD/tools/draw" svg "$name: 10 s at 99 Hz" host.example '3,950,948,9000,9,1,0' \
		<"$TOP/tests/golden/draw/$name.folded" >"$work/$name.svg" || exit 1
done
awk 'BEGIN {printf "main"; for (i = 0; i < 100; i++) printf ";deep%d", i; print " 9"}' |
	"$BUILD/tools/draw" svg >"$work/high.svg" || exit 1
"$BUILD/bin/dfg-diff" --kinds -f svg -o "$work" "$TOP"/tests/golden/diff/{before,after}.folded >"$work/table" || exit 1
PYTHONPATH=$TOP/tests/tools PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/e2e/report/svg_browser.py" "$work"
