#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Loaded again and again, and triggered again and again, the agent takes nothing more from the JVM: bench/agent-soak.sh,
# which does that a thousand times and for half an hour, in short. Case 57.
. "$(dirname "$0")/../../lib/tap.sh"
need_root
need java javac fallocate
[ -x "$BUILD/payload/dfg-inject" ] || tap_cannot "no $BUILD/payload/dfg-inject"
table=$(mktemp)
trap 'rm -f "$table"' EXIT
soak() { LOADS=50 MINUTES=0.3 CALM=1 "$TOP/bench/agent-soak.sh" >"$table"; }
# column NUMBER ROW: of the table, counted from its end
column() { awk -v n="$1" -v row="$2" 'index($0, row) == 1 {print $(NF - n)}' "$table"; }

ok "case 57: a JVM with 50 loads and 18 dumps" soak
diag "$(cat "$table")"
for row in 'loaded 50 times' 'triggered 18 times' 'without dumps, at the end'; do
	is "$row: as many threads as after one load" "$(column 0 "$row")" "$(column 0 'agent loaded once')"
	is "$row: as many descriptors" "$(column 1 "$row")" "$(column 1 'agent loaded once')"
	ok "$row: at most 16 MiB more are resident" \
		test "$(column 2 "$row")" -lt "$(($(column 2 'agent loaded once') + 16384))"
	ok "$row: requests are served" test "$(column 7 "$row")" -gt 0
done
tap_done
