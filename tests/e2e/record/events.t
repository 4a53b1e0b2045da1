#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Allocations (-e alloc) of real JVMs: as many bytes as the JVM itself has counted, of the classes and in the methods that
# made them; and a JVM that is as before, whoever of the two ends first. JDK 17 and 25; DFG_FULL=1: others, and collectors.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/jvms.sh
. tests/lib/events.sh
need python3 pgrep
events_tools
events_setup Alloc.java

# start ID VERSION ARGUMENTS [JVM OPTION…]: a container with Alloc in it.
start() {
	local id=$1 version=$2 main="Alloc $3"
	shift 3
	events_start "$id" "$version" "$main" "$@"
}
file_of() { json "(.more_events[0] // .).graphs.$1"; }

# ---- what is recorded --------------------------------------------------------------------------
# as_counted ID EVENTS: a recording that is long enough, which a busy machine's is later.
as_counted() {
	local id=$1 seconds
	for seconds in 6 20 60; do
		rm -rf "${SHOP:?}/$id.out"
		trigger -q -d $seconds -e "$2" --by thread --full -f "$formats" -o "$SHOP/$id.out" "$id" || return
		python3 tests/java/alloc.py "${id#*-}" "$SHOP/$id/log" "$(json .session)" "$SHOP/out" "$(file_of folded)" >"$SHOP/facts"
		[ $? = 3 ] || break
	done
}
# row VERSION NAME [JVM OPTION…]
row() {
	local id=$1-$2 version=$1
	shift 2
	ok "$id: a program that allocates" start "$id" "$version" "4 10" "$@"
	ok "  is recorded" as_counted "$id" cpu,alloc
	diag "$(head -n 1 "$SHOP/facts")"
	ok "  as many bytes as the JVM has counted" right sum
	ok "  of the classes that they are of" right shares
	ok "  in the methods that made them" right methods
	ok "  large ones as such" right large
	ok "  with whole stacks" right stacks
	ok "  and none lost" right lost
	is "  the first event is the processor's time" "$(json '"\(.event) \(.unit)"')" "cpu samples"
	is "  the other one" "$(json '.more_events | map("\(.event) \(.unit)") | join(",")')" "alloc bytes"
	is "  has all bytes of its picture" "$(json '.more_events[0].samples')" "$(sum "$SHOP/$id.out/flame-alloc.folded")"
}

formats=folded,pprof,html,svg
row 17 g1 -XX:+UseG1GC
# ---- pictures, and sessions ----
one=$SHOP/17-g1.out
is "files of both" "$(cd "$one" && echo *)" \
	"flame-alloc.folded flame-alloc.html flame-alloc.pb.gz flame-alloc.svg flame.folded flame.html flame.pb.gz flame.svg session"
is "  as the summary has them" "$(json '[.graphs[], .more_events[0].graphs[]] | sort | join(" ")')" \
	"$(cd "$one" && printf "$one/%s\n" flame* | sort | paste -sd' ')"
"$pprof" -symbolize=none -raw "$one/flame-alloc.pb.gz" >"$SHOP/raw" 2>/dev/null
ok "  pprof: bytes" grep -q 'alloc_space/bytes' "$SHOP/raw"
"$pprof" -symbolize=none -raw "$one/flame.pb.gz" >"$SHOP/raw" 2>/dev/null
ok "  and not of the processor's time" eval '! grep -q alloc_space "$SHOP/raw"'
"$pprof" -symbolize=none -unit=bytes -top -nodefraction=0 "$one/flame-alloc.pb.gz" >"$SHOP/top" 2>/dev/null
ok "  all of them" grep -q "of $(sum "$one/flame-alloc.folded")B total" "$SHOP/top"
"${DFG%trigger}merge" -q --event alloc -f folded -o "$SHOP/again" "$one/flame-alloc.pb.gz" >/dev/null
is "  read back, too" "$(sum "$SHOP/again/flame.folded")" "$(sum "$one/flame-alloc.folded")"
ok "  the page has classes and methods" eval 'grep -q "Alloc\$Node" "$one/flame-alloc.html" && grep -q "long\[\]" "$one/flame-alloc.svg"'
is "the session has both" "$(jq -c .events "$one/session/session.json")" '["cpu","alloc"]'
replay() { rm -rf "$SHOP/again" && "$DFG" -q --replay --by thread --full -f folded -o "$SHOP/again" "$@"; }
same() { cmp "$1/$2.folded" "$SHOP/again/$2.folded"; }
ok "--replay" replay "$one/session"
ok "  draws both" eval 'same "$one" flame && same "$one" flame-alloc'
ok "--replay -e alloc" replay -e alloc "$one/session"
is "  draws one" "$(ls "$SHOP/again")" flame-alloc.folded
ok "  the same" same "$one" flame-alloc
ok "without --keep-stacks" "$DFG" -q -d 2 -e cpu,alloc --by thread --full -f folded -o "$SHOP/small" 17-g1
is "  the session has a profile of each" "$(cd "$SHOP/small/session" && echo tree*)" "tree tree-alloc"
ok "  --replay" replay "$SHOP/small/session"
ok "  draws both" eval 'same "$SHOP/small" flame && same "$SHOP/small" flame-alloc'
ok "  --replay -e alloc" replay -e alloc "$SHOP/small/session"
is "  draws one" "$(ls "$SHOP/again")" flame-alloc.folded
ok "-e alloc alone" as_counted 17-g1 alloc
diag "$(head -n 1 "$SHOP/facts")"
ok "  as many bytes as the JVM has counted" right sum
ok "  with whole stacks" right stacks
is "  is the first event" "$(json '"\(.event) \(.unit) \(.more_events | length)"')" "alloc bytes 0"
is "  with the usual names" "$(cd "$one" && echo *)" "flame.folded flame.html flame.pb.gz flame.svg session"
ok "-e cpu" "$DFG" -q -d 1 -e cpu -f folded -o "$SHOP/cpu" 17-g1
diff_alloc() { "$BUILD/bin/dfg-diff" --event alloc -f folded -o "$SHOP/diff" "$@"; }
diff_alloc --json "$SHOP/small" "$one" >"$SHOP/out"
is "dfg-diff --event alloc: of sessions" "$? $(json '"\(.event) \(.unit)"')" "0 alloc bytes"
is "  of all bytes" "$(json .before.samples)" "$(sum "$SHOP/small/flame-alloc.folded")"
is "  on both sides" "$(json .after.samples)" "$(sum "$one/flame.folded")"
ok "  a session without them is named" dies 1 "cpu: has no events alloc" diff_alloc "$SHOP/small" "$SHOP/cpu"
ok "  and one without the processor's time" dies 1 "17-g1.out: has no events cpu" \
	"$BUILD/bin/dfg-diff" -f folded -o "$SHOP/diff" "$one" "$SHOP/cpu"
ok "  --replay, too" dies 1 "has none of these events" replay -e alloc "$SHOP/cpu/session"
"$BUILD/bin/dfg-merge" --event alloc --json -f folded -o "$SHOP/all" "$SHOP/small" "$one" >"$SHOP/out"
is "dfg-merge --event alloc: of sessions" "$? $(json '"\(.event) \(.unit)"')" "0 alloc bytes"
is "  the bytes of both" "$(sum "$SHOP/all/flame.folded")" \
	$(($(sum "$SHOP/small/flame-alloc.folded") + $(sum "$one/flame.folded")))
ok "perf cannot record them" dies 2 "--event: these need --unwind bpf or auto" "$DFG" --unwind vm -e alloc 17-g1
ok "nor is there another event" dies 1 "heap is none of dfg.s own, and others are recorded alone" "$DFG" -e alloc,heap 17-g1

# ---- the JVM stays as it is --------------------------------------------------------------------
has_probes() { awk '$2 != "cc" {bad = 1} {n++} END {exit bad || n < 3}'; } # int3
probed() { changed "$1" | has_probes; }
goes_on() { wait_for eval "[ \$(wc -l <'$SHOP/$1/log') -gt $(($(wc -l <"$SHOP/$1/log") + 20)) ]"; }
# Processes of dfg-trigger in this test's pid namespace, and the BPF programs that they hold: "PROGRAM PID".
triggers() {
	local p
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe")" != "$DFG" ] || echo "${p#/proc/}"
	done
}
programs() { for p in $(triggers); do sed -n "s/^prog_id:[^0-9]*\([0-9]*\)$/\1 $p/p" "/proc/$p/fdinfo/"*; done 2>/dev/null; }
recorder() { programs | cut -d' ' -f2 | sort -u; }
all_gone() {
	local id
	[ -z "$(triggers)" ] || return
	for id in $(cut -d' ' -f1 "$SHOP/programs"); do ! bpftool prog show id "$id" 2>/dev/null || return; done
}
record_long() { rm -rf "$SHOP/long" && exec "$DFG" --json -q -d 120 -e cpu,alloc -f folded -o "$SHOP/long" "$@" >"$SHOP/out" 2>"$SHOP/err"; }
# Not below ok, which is another shell.
begin() { record_long "$1" & run=$!; wait_for probed "$1" && programs >"$SHOP/programs"; }

# The JVM is as before once dfg has ended.
ok "ten recordings more leave its code as it was" eval 'for i in $(seq 10); do "$DFG" -q -d 1 -e cpu,alloc -f folded -o "$SHOP/ten" --force 17-g1 && unchanged 17-g1 || exit; done'
for who in dfg-trigger "its recorder"; do
	begin 17-g1
	is "probes are in the code while it is recorded" $? 0
	is "  by one process" "$(recorder | wc -l)" 1
	ok "  by a program of that name" eval 'bpftool prog show name probed | grep -qwFf <(sed "s/ .*/:/" "$SHOP/programs")'
	[ "$who" = dfg-trigger ] && kill -KILL "$run" || kill -KILL "$(recorder)"
	wait "$run" 2>/dev/null
	ok "  $who is killed: nothing of dfg is left" wait_for all_gone
	ok "  nor of the probes" wait_for unchanged 17-g1
	ok "  and the JVM goes on" goes_on 17-g1
done
is "the JVM has said nothing of it" "$(grep -vc '^size \|^[0-9 ]*$' "$SHOP/17-g1/log")" 0
shop_stop 17-g1

ok "a JVM that ends" start ends 17 "2 10 /tmp/go"
begin ends
is "  is recorded" $? 0
sleep 1
touch "$SHOP/ends/tmp/go"
wait "$run"
is "  and the recording ends well" "$? $(cat "$SHOP/err")" "0 "
ok "  at once" eval '[ "$(json ".duration < 100")" = true ] || { json .duration && false; }'
ok "  with its allocations" grep -q ';byte\[\] ' "$(file_of folded)"
ok "  nothing of dfg is left" wait_for all_gone
shop_stop ends

# A shell that starts a JVM, and becomes one once that has ended.
first() { pgrep -P "$(bundle_pid again)"; }
changed_in() { tests/tools/changed-text.py "$1" libjvm.so; }
SHOP_JQ='.process.args = ["/bin/sh", "-c", "\"$@\" /tmp/go; exec \"$@\"", "sh"] + .process.args' \
	SHOP_MAIN="Alloc 2 10" ok "a JVM after which there is another" shop_create again
wait_for grep -q '^[0-9]' "$SHOP/again/log"
record_long --keep-stacks --by thread again & run=$!
ok "  is recorded" wait_for eval 'changed_in $(first) | has_probes'
sleep 1
touch "$SHOP/again/tmp/go"
ok "  the shell executes java" wait_for eval '[ "$(grep -c "^size byte" "$SHOP/again/log")" = 2 ]'
ok "  which is recorded, too" wait_for probed again
since=$(python3 -c 'import time; print(time.monotonic_ns())')
sleep 2
kill -INT "$run"
wait "$run"
is "  the recording ends well" "$? $(cat "$SHOP/err")" "0 "
python3 tests/java/alloc.py --more "$since" "$SHOP/again/log" "$SHOP/long/session" "$(file_of folded)" >"$SHOP/facts"
diag "$(head -n 1 "$SHOP/facts")"
ok "  has the allocations of both" right both
ok "  and leaves no probe" unchanged again
shop_stop again

# ---- other JVMs --------------------------------------------------------------------------------
formats=folded
more() { row "$@" && shop_stop "$1-$2"; }
more 25 g1 -XX:+UseG1GC
if [ -n "${DFG_FULL:-}" ]; then
	more 8 g1 -XX:+UseG1GC
	for version in 11 21 26 27; do full more $version g1 -XX:+UseG1GC; done
	full more 25 serial -XX:+UseSerialGC
	full more 25 parallel -XX:+UseParallelGC
	more 25 zgc -XX:+UseZGC
	full more 25 shenandoah -XX:+UseShenandoahGC
	full more 8 parallel -XX:+UseParallelGC -XX:-FastTLABRefill
	ok "JDK 8 with Parallel, as it is" start 8-refills 8 "2 10" -XX:+UseParallelGC
	refills() { "$BUILD/bin/dfg-doctor" --json 8-refills | jq -e '.findings[] | select(.what == "alloc") | .state == "note" and (.advice | test("FastTLABRefill"))'; }
	ok "  dfg-doctor says that not all is told" refills
	ok "  is recorded" as_counted 8-refills cpu,alloc
	ok "  as many bytes as the JVM has counted" right sum
	ok "  that not all of them are charged right is said" eval 'json ".cut[]" | grep -q "allocations of 1 JVMs in interpreted and C1.s code .*FastTLABRefill"'
	shop_stop 8-refills
	EVENTS_BARE=1 ok "JDK 8, without symbols" start old 8 "2 10"
	ok "  is recorded" trigger -q -d 2 -e cpu,alloc -f folded -o "$SHOP/old.out" old
	ok "  the processor's time" grep -q 'Alloc.bytes' "$(json .graphs.folded)"
	is "  no allocations" "$(json '.more_events[0].samples')" 0
	ok "  which is said" eval 'json ".cut[]" | grep -q "allocations of 1 JVMs are not recorded: .*debug file"'
	shop_stop old
fi
tap_done
