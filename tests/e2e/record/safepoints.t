#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Safepoints (-e safepoint) of real JVMs: the pauses that the JVM's own log has, as long, for the same operations; who asked
# for them, and who was waited for; and a JVM that is as before. JDK 17 and 25; DFG_FULL=1: others, and collectors.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/jvms.sh
. tests/lib/events.sh
need python3
events_setup Pauses.java
# C2 leaves no poll in counted loops.
no_polls=(-XX:-UseCountedLoopSafepoints -XX:LoopStripMiningIter=0)
logged=("-Xlog:safepoint*,gc*:file=/tmp/jvm.log:timenanos,tags:filecount=0")

# start ID VERSION [JVM OPTION…]: a container with Pauses in it.
start() { events_start "$1" "$2" "Pauses 100 /tmp" "${@:3}"; }
event() { json "(.more_events[0] // .)$1"; }

# as_logged ID EVENTS STEP…: a recording that is long enough, which a busy machine's is later.
as_logged() {
	local id=$1 events=$2 seconds
	shift 2
	for seconds in 8 25 80; do
		rm -rf "${SHOP:?}/$id.out"
		trigger -q -d $seconds -e "$events" --by thread --full -f folded,html,svg -o "$SHOP/$id.out" "$id" || return
		sleep 1 # the log's last line
		python3 tests/java/pauses.py "$SHOP/$id/tmp/jvm.log" "$SHOP/$id/log" "$(json .session)" "$SHOP/out" \
			"$(event .graphs.folded)" "$@" >"$SHOP/facts"
		[ $? = 3 ] || break
	done
}
# as_the_log_says: what it has found
as_the_log_says() {
	diag "$(grep '^# heaps' "$SHOP/facts")"
	diag "$(grep '^#' "$SHOP/facts" | tail -n 1)"
	ok "  every pause of the log is found" right found
	ok "  and none more" right more
	ok "  when and as long as the log says" right times
	ok "  for the same operations" right operations
	ok "  for the cause of each collection" right causes
	ok "  with the heap before and after it" right heaps
	ok "  asked for by the method that did" right askers
	ok "  the loop without polls is what was waited for" right waited
	ok "  the shorter ones, too: all of the log's time is there" right sums
	ok "  the longest pause comes first" right order
	ok "  with whole stacks" right stacks
	ok "  and none lost" right lost
}
# row VERSION NAME STEPS [JVM OPTION…]: STEPS must be among those who ask
row() {
	local id=$1-$2 version=$1 steps=$3
	shift 3
	ok "$id: a program that has its JVM stop" start "$id" "$version" "${no_polls[@]}" "${logged[@]}" "$@"
	# shellcheck disable=SC2086
	ok "  is recorded" as_logged "$id" cpu,safepoint $steps
	as_the_log_says
	is "  in ns, as the second event" "$(json '.more_events | map("\(.event) \(.unit)") | join(",")')" "safepoint ns"
	is "  of all of its picture" "$(json '.more_events[0].samples')" "$(sum "$SHOP/$id.out/flame-safepoint.folded")"
}
# below FILE: most samples of threads that collect while all others are stopped are below the operation.
below() {
	local all with
	all=$(grep '^GC_Thread' "$1" | sum -)
	with=$(grep '^GC_Thread.*;[A-Za-z0-9]* ([A-Z][^;]*);' "$1" | sum -)
	[ $((2 * with)) -gt "$all" ] || { echo "$with of $all" && false; }
}
all="collect stacks dump allocate counted"

row 17 g1 "$all" -XX:+UseG1GC -Xmn24m
# ---- pictures, and sessions ----
one=$SHOP/17-g1.out
is "files of both" "$(cd "$one" && echo *)" \
	"flame-safepoint.folded flame-safepoint.html flame-safepoint.svg flame.folded flame.html flame.svg session"
ok "the collector's processor time is below the operation" below "$one/flame.folded"
is "the page lists the pauses" \
	"$(grep -o '"pauses":\[\[.*\]\],"compilations"' "$one/flame-safepoint.html" | sed 's/^"pauses"://; s/,"compilations"$//' | jq length)" \
	"$(event '.verdict.pauses | length')"
ok "  with what was asked and waited for" grep -q '"pauses":\[\[.*asked for by Pauses.stacks, waiting for Pauses.counted"\]' "$one/flame-safepoint.html"
ok "  that of the processor's time has none" grep -q '"pauses":\[\]' "$one/flame.html"
ok "the SVG has who was waited for" grep -q 'waiting for' "$one/flame-safepoint.svg"
ok "the loop is above what it kept waiting" grep -q '^stacks;.*;Pauses.stacks_\[.\];.*;ThreadDump;waiting for;Pauses.counted_\[.\]' "$one/flame-safepoint.folded"
is "the session has both" "$(jq -c .events "$one/session/session.json")" '["cpu","safepoint"]'
event .verdict.pauses >"$SHOP/pauses"
replay() { rm -rf "$SHOP/again" && "$DFG" -q --json --replay --by thread --full -f folded -o "$SHOP/again" "$@" >"$SHOP/out"; }
same() { cmp "$1/$2.folded" "$SHOP/again/$2.folded"; }
ok "--replay" replay "$one/session"
ok "  draws both" eval 'same "$one" flame && same "$one" flame-safepoint'
ok "  with the same pauses" eval 'event .verdict.pauses | cmp - "$SHOP/pauses"'
ok "--replay -e safepoint" replay -e safepoint "$one/session"
is "  draws one" "$(ls "$SHOP/again")" flame-safepoint.folded
ok "  the same" same "$one" flame-safepoint
"$DFG" -d 4 -e cpu,safepoint --by thread --full -f folded -o "$SHOP/small" 17-g1 >"$SHOP/said"
is "without --keep-stacks" $? 0
ok "  the summary has subjects" grep -Eq '^  safepoint +[0-9.]+ %  .*, asked for by Pauses\.' "$SHOP/said"
ok "  and the longest pauses" grep -Eq '^  pause +[0-9.]+ ms  at [0-9.]+ s, [0-9.]+ ms until all had stopped: ' "$SHOP/said"
is "  the session has a profile of each" "$(cd "$SHOP/small/session" && echo tree*)" "tree tree-safepoint"
ok "  --replay" replay "$SHOP/small/session"
ok "  draws both" eval 'same "$SHOP/small" flame && same "$SHOP/small" flame-safepoint'
"$BUILD/bin/dfg-diff" --event safepoint -f folded -o "$SHOP/diff" --json "$SHOP/small" "$one" >"$SHOP/out"
is "dfg-diff --event safepoint: of sessions" "$? $(json '"\(.event) \(.unit)"')" "0 safepoint ns"
is "  of all of the time before" "$(json .before.samples)" "$(sum "$SHOP/small/flame-safepoint.folded")"
is "  and after" "$(json .after.samples)" "$(sum "$one/flame-safepoint.folded")"
ok "-e safepoint alone" as_logged 17-g1 safepoint collect stacks dump allocate
ok "  every pause of the log is found" right found
ok "  and none more" right more
ok "  when and as long as the log says" right times
ok "  asked for by the method that did" right askers
ok "  the thread is known that was waited for" \
	eval 'event .verdict.pauses | jq -e "any(.[]; .waiting_for == \"Pauses.counted\" or .waiting_for == \"Pauses.count\")"'
is "  is the first event" "$(json '"\(.event) \(.unit) \(.more_events | length)"')" "safepoint ns 0"

# ---- the JVM stays as it is ----
probed() { changed "$1" | awk '$2 != "cc" {bad = 1} {n++} END {exit bad || n < 5}'; } # int3
goes_on() { wait_for eval "[ \$(wc -l <'$SHOP/$1/log') -gt $(($(wc -l <"$SHOP/$1/log") + 8)) ]"; }
ok "its code is as it was" unchanged 17-g1
"$DFG" -q -d 120 -e cpu,safepoint -f folded -o "$SHOP/long" 17-g1 >"$SHOP/out" 2>&1 &
run=$!
ok "probes are in it while it is recorded" wait_for probed 17-g1
kill -KILL $run
wait $run 2>"$SHOP/err"
ok "  dfg-trigger is killed: it is as it was again" wait_for unchanged 17-g1
ok "  and the JVM goes on" goes_on 17-g1
is "  which has said nothing of it" "$(grep -vc '^[a-z]* [0-9]* [0-9]*$' "$SHOP/17-g1/log")" 0
shop_stop 17-g1

# ---- other JVMs ----
more() { row "$@" && shop_stop "$1-$2"; }
more 25 g1 "$all" -XX:+UseG1GC -Xmn24m
if [ -n "${DFG_FULL:-}" ]; then
	full more 11 g1 "$all revoke" -XX:BiasedLockingStartupDelay=0 -XX:+UseG1GC -Xmn24m
	more 27 g1 "$all" -XX:+UseG1GC -Xmn24m
	for version in 21 26; do full more $version g1 "$all" -XX:+UseG1GC -Xmn24m; done
	full more 25 serial "$all" -XX:+UseSerialGC -Xmn24m
	full more 25 parallel "$all" -XX:+UseParallelGC -Xmn24m
	# Theirs are of concurrent collections, which threads of the JVM ask for.
	more 25 zgc "stacks dump counted" -XX:+UseZGC
	full more 21 zgc "stacks dump counted" -XX:+UseZGC -XX:+ZGenerational
	full more 25 shenandoah "stacks dump counted" -XX:+UseShenandoahGC
	# Its log has no times that can be held against others.
	ok "JDK 8, with its debug file" start 8-symbols 8 "${no_polls[0]}" -XX:BiasedLockingStartupDelay=0 -XX:+PrintGCApplicationStoppedTime -Xmn24m
	ok "  is recorded" trigger -q -d 8 -e cpu,safepoint -f folded -o "$SHOP/8.out" 8-symbols
	for asked in "RevokeBias revoke" "ThreadDump stacks" "HeapDumper dump" "ParallelGCSystemGC collect"; do
		ok "  $asked" eval 'event .verdict.pauses | jq -e "any(.[]; .operation == \"${asked% *}\" and .asked_by == \"Pauses.${asked#* }\")"'
	done
	ok "  and the loop without polls" eval 'event .verdict.pauses | jq -e "any(.[]; .stopping_ms > 50 and .waiting_for == \"Pauses.counted\")"'
	shop_stop 8-symbols
	EVENTS_BARE=1 ok "JDK 8, without symbols" start old 8
	ok "  is recorded" trigger -q -d 2 -e cpu,safepoint -f folded -o "$SHOP/old.out" old
	is "  no safepoints" "$(json '.more_events[0].samples')" 0
	ok "  which is said" eval 'json ".cut[]" | grep -q "safepoints of 1 JVMs are not recorded: .*debug file"'
	shop_stop old
fi
tap_done
