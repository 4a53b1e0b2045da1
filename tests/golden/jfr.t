#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A recording of async-profiler 4.5 (tests/java/Flight.java on JDK 17 for 3 s: event=cpu, wall, alloc, lock), of each kind
# of event as folded text. UPDATE=1 writes the expected files anew: look at them.
. "$(dirname "$0")/../lib/tap.sh"
here=$TOP/tests/golden/jfr
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
MERGE=$BUILD/bin/dfg-merge

for kind in cpu wall alloc lock; do
	"$MERGE" -q --event "$kind" --by thread --full -f folded -o "$work" "$here/async-profiler.jfr" >"$work/said"
	[ -z "${UPDATE:-}" ] || cp "$work/flame.folded" "$here/$kind.folded"
	ok "$kind: the expected stacks" diff -u "$here/$kind.folded" "$work/flame.folded"
	ok "  the other kinds are listed" grep -q '^  other events .*: choose with --event$' "$work/said"
	ok "  each format can be drawn" "$MERGE" -q --event "$kind" --by thread --full \
		-f svg,html,pprof,speedscope,firefox,json -o "$work" "$here/async-profiler.jfr"
done
ok 'a picture of locks has times' grep -Eq '<title>all \(3\.13 s, 100%\)</title><rect data-n="ns 3127736062"' "$work/flame.svg"
ok 'a page of locks counts ns' grep -q '"unit":"ns"' "$work/flame.html"
ok 'speedscope of locks counts nanoseconds' grep -q '"unit":"nanoseconds"' "$work/flame.speedscope.json"
ok 'pprof of locks counts a delay' grep -aq nanoseconds <(zcat "$work/flame.pb.gz")
rm "$work/flame.folded"
"$MERGE" -q --event lock --by thread --full -f folded -o "$work" "$work/flame.pb.gz" >"$work/said"
ok '  which reads as the same' diff -u <(sort "$here/lock.folded") <(sort "$work/flame.folded")
ok '  and says what it counts' grep -q '^  lock .* s · ' "$work/said"

for inputs in "$here/async-profiler.jfr $work/flame.pb.gz" "$work/flame.pb.gz $here/async-profiler.jfr"; do
	# shellcheck disable=SC2086
	"$MERGE" -q --event wall -f folded -o "$work/mixed" $inputs >"$work/said" 2>&1
	is 'samples of the wall clock and its time are not added up' "$? $(grep -c 'cannot be added up' "$work/said")" '1 1'
done

# ---- what changed ----
diff_() { (cd "$work" && "$BUILD/bin/dfg-diff" "$@"); }
diff_ -f html,svg --event alloc "$here/async-profiler.jfr" "$here/async-profiler.jfr" >"$work/said"
is 'sides that are one have the same bytes' "$(grep -c '^        160 MB · ' "$work/said") $(grep '^verdict' "$work/said" | sed 's/ in .*//')" \
	'2 verdict no significant change'
ok '  other events are named' grep -q '^        other events, for --event: .* cpu' "$work/said"
ok '  the title says what is counted' grep -q '<title id="dfg-title">.*: allocated bytes</title>' "$work/diff.svg"
ok '  the page knows what a byte is worth' grep -Eq '"worth":\[(0\.0|[0-9.]*e-)' "$work/diff.html"
is 'of locks in pprof the times are compared' \
	"$(diff_ -f folded --json --event lock "$work/flame.pb.gz" "$here/async-profiler.jfr" |
		jq -c '[.event, .unit, ([.methods[] | .self.change, .total.change | fabs] | add)]')" '["lock","ns",0]'
for event in cpu:'has times of waiting: give --event lock, wall, safepoint or compile' alloc:'has no events alloc'; do
	diff_ -f folded --event "${event%%:*}" "$work/flame.pb.gz" "$work/flame.pb.gz" >"$work/said" 2>&1
	is "  as ${event%%:*} they are refused" "$(sed 's/.*pb.gz: //' "$work/said")" "${event#*:}"
done
"$MERGE" -q -f pprof -o "$work" "$here/async-profiler.jfr" >/dev/null
"$MERGE" -q --event native -f folded -o "$work" "$work/flame.pb.gz" >"$work/said" 2>&1
is 'samples in pprof are no samples in native methods' "$(sed 's/.*pb.gz: //' "$work/said")" 'has no events native'
tap_done
