#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The page in a real browser: every control as a user has it, by mouse and by keys.
. "$(dirname "$0")/../../lib/tap.sh"
need python3
command -v chromium >/dev/null || need chromium-browser
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for name in web empty; do
	"$BUILD/tools/draw" html "$name: 10 s at 99 Hz" host.example '3,950,948,9000,9,1,0' \
		<"$TOP/tests/golden/draw/$name.folded" >"$work/$name.html" || exit 1
done
"$BUILD/tools/draw" svg <"$TOP/tests/golden/draw/web.folded" >"$work/web.svg" || exit 1
printf '%s\n' 'main;</script><img src=x onerror=alert(1)>;&lt;b>"'"'"'\ 5' '<!--<script>;]]> 5' >"$work/hostile.folded"
"$BUILD/tools/draw" html '</title><img src=x onerror=alert(2)>' '</script><script>alert(3)</script>' \
	<"$work/hostile.folded" >"$work/hostile.html" || exit 1
printf '%s\n' 'main;f_[j];g_[j] 3' 'main;f_[i];g_[j] 4' 'main;f_[0] 2' 'main;f;g_[0] 1' |
	"$BUILD/tools/draw" html >"$work/ways.html" || exit 1
awk 'BEGIN {printf "main"; for (i = 0; i < 400; i++) printf ";deep%d", i; print " 9"}' |
	"$BUILD/tools/draw" html >"$work/deep.html" || exit 1
"$BUILD/bin/dfg-diff" -f html -o "$work" "$TOP"/tests/golden/diff/{before,after}.folded >/dev/null || exit 1
"$BUILD/bin/dfg-merge" -f html -o "$work" "$TOP/tests/golden/draw/web.folded" >/dev/null || exit 1
PYTHONPATH=$TOP/tests/tools PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/e2e/report/page_browser.py" "$work"
