#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# examples/compare, with wrk and short rounds: both configurations and the first one again.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
need_root
need dockerd docker debootstrap curl wrk python3 jq java
work=$(mktemp -d /tmp/dfg-compare.XXXXXX)
trap 'rm -rf "$work"' EXIT
result=$work/result

{
	grep -v '^#' examples/compare/matrix
	sed -n '/^hsqldb /s/^hsqldb/again /p' examples/compare/matrix
} >"$work/matrix"

# In a box there is no Docker but the one that the example starts.
compare() {
	env -u DOCKER_HOST MATRIX="$work/matrix" DFG_BUILD="$BUILD" DOCKERD_OPTIONS="--cgroup-parent /${BOX:-docker}" LOAD=wrk \
		ROUNDS=3 SECONDS_EACH=3 WARM_UP=8 FREQUENCY=199 sh examples/compare/run.sh "$result" >"$work/log" 2>&1 ||
		{ tail -n 20 "$work/log"; return 1; }
}
table() { jq -r "$1" "$result/table.json"; }
figures='[.configurations[].rounds[]'

ok "run.sh" compare
is "  the same pages of each configuration" "$(sort -u "$result"/*-pages.html | cmp - <(sort -u "$result/hsqldb-pages.html") && echo same)" same
ok "    with rows of the database" grep -q '<a href="detail?product=[0-9]*">' "$result/postgresql-pages.html"
is "  the table has all configurations" "$(table '.configurations | keys_unsorted | join(" ")')" "hsqldb postgresql again"
is "  and all columns" "$(table '.columns | join(" ")')" \
	"requests/s p50 p90 p99 JVM application driver JIT GC runtime kernel database"
is "    in each round" "$(table '[.configurations[].rounds | length] | join(" ")')" "3 3 3"
is "  requests were served" "$(table "$figures.throughput > 1] | all")" true
is "    percentiles are in order" "$(table "$figures | .p50 > 0 and .p50 <= .p90 and .p90 <= .p99] | all")" true
is "  the parts are the processor time of the JVM" "$(table "$figures | (.application + .driver + .jit + .gc +
	.jvm + .kernel - .total) / .total | fabs < 0.001] | all")" true
is "  the database's own time is that of its container" "$(table '[.configurations[].mean.database > 0] | join(" ")')" \
	"false true false"
ok "  as text and Markdown, too" grep -q '^| postgresql | ' "$result/table.md"
for page in hsqldb postgresql again hsqldb-postgresql hsqldb-again; do
	ok "  $page.html" grep -q '^<!DOCTYPE html>' "$result/$page.html"
done
is "  the driver is in the flame graph" "$(grep -c 'org.postgresql' "$result/recordings/dfg-compare-postgresql/flame.folded" |
	sed 's/[1-9][0-9]*/some/')" some
ok "two configurations: the first one's database is not in the second" jq -e '[.methods[]
	| select(.method | startswith("org.hsqldb.")).total | .before > 0.05 and .after == 0] | any' "$result/hsqldb-postgresql.json"
# A test with a chance of error of 1 % is wrong once in a hundred runs: then it is put twice.
changes() { table '[.configurations.again.changes[] | select(. != null)] | length'; }
unchanged() { [ "$(changes)" = 0 ] && grep -q '^hsqldb -> again, dfg-diff: no significant change' "$result/table.txt"; }
unchanged || { cat "$result/table.txt" && rm -rf "$result" && compare; }
is "the same one twice: no significant change in the table" "$(changes)" 0
ok "  and by dfg-diff" grep '^hsqldb -> again, dfg-diff: no significant change' "$result/table.txt"
tap_done
