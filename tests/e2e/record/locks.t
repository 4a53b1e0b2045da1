#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Waits for locks (-e lock) of real JVMs: as long as the program's own clock has seen them, of the lock's class, and with the
# method that held it; and a JVM that is as before. JDK 17 and 25; DFG_FULL=1: others, and ways to lock.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/jvms.sh
. tests/lib/events.sh
need python3 objcopy jfr
events_tools
events_setup Locks.java Alloc.java

# start ID VERSION [JVM OPTION…]: a container with Locks in it.
start() { events_start "$1" "$2" Locks "${@:3}"; }
file_of() { json "(.more_events[-1] // .).graphs.$1"; }

# ---- what is recorded --------------------------------------------------------------------------
# as_noted ID EVENTS: a recording when code is no longer new, which on a busy machine is later.
as_noted() {
	local seconds
	for seconds in 10 20 40; do
		rm -rf "${SHOP:?}/$1.out"
		trigger -q -d $seconds -e "$2" --by thread --full -f "$formats" -o "$SHOP/$1.out" "$1" || return
		python3 tests/java/locks.py "$SHOP/$1/log" "$(json .session)" "$SHOP/out" "$(file_of folded)" >"$SHOP/facts"
		[ $? = 3 ] || break
	done
}
facts() {
	diag "$(grep '^#' "$SHOP/facts" | cut -c3-)"
	ok "  as long as the program has seen them" right waits
	ok "  of the classes of its locks" right classes
	ok "  held by the methods that hold them" right holders
	ok "  each as long as it did" right shares
	ok "  not what is no lock" right others
	ok "  with whole stacks" right stacks
	ok "  and none lost" right lost
}
# row VERSION NAME [JVM OPTION…]
row() {
	local id=$1-$2 version=$1
	shift 2
	ok "$id: a program whose threads wait for locks" start "$id" "$version" "$@"
	ok "  is recorded" as_noted "$id" cpu,lock
	facts
	is "  the first event is the processor's time" "$(json '"\(.event) \(.unit)"')" "cpu samples"
	is "  the other one" "$(json '.more_events | map("\(.event) \(.unit)") | join(",")')" "lock ns"
	is "  has all ns of its picture" "$(json '.more_events[0].samples')" "$(sum "$SHOP/$id.out/flame-lock.folded")"
}

formats=folded,pprof,html,speedscope,firefox
row 17 g1 -XX:+UseG1GC
# ---- pictures, and sessions ----
one=$SHOP/17-g1.out
is "files of both" "$(cd "$one" && echo *)" \
	"$(for f in firefox.json folded html pb.gz speedscope.json; do echo flame-lock.$f flame.$f; done | xargs -n1 | LC_ALL=C sort | xargs) session"
"$pprof" -symbolize=none -raw "$one/flame-lock.pb.gz" >"$SHOP/raw" 2>/dev/null
ok "  pprof: ns" grep -q 'delay/nanoseconds' "$SHOP/raw"
"$pprof" -symbolize=none -raw "$one/flame.pb.gz" >"$SHOP/raw" 2>/dev/null
ok "  and not of the processor's time" eval '! grep -q delay/nanoseconds "$SHOP/raw"'
"$pprof" -symbolize=none -unit=ns -top -nodefraction=0 "$one/flame-lock.pb.gz" >"$SHOP/top" 2>/dev/null
ok "  all of them" grep -q "of $(sum "$one/flame-lock.folded")ns total" "$SHOP/top"
is "  speedscope: ns" "$(jq -r '[.profiles[].unit] | unique | join(",")' "$one/flame-lock.speedscope.json")" nanoseconds
is "  all of them" "$(jq '.profiles[0].weights | add' "$one/flame-lock.speedscope.json")" "$(sum "$one/flame-lock.folded")"
is "  firefox: all of them, in ms" "$(jq '[.threads[].samples.weight[]] | add * 1e6 | round' "$one/flame-lock.firefox.json")" "$(sum "$one/flame-lock.folded")"
ok "  the page has classes, methods, and who held" eval \
	'grep -q "Locks\$MonitorA" "$one/flame-lock.html" && grep -q "held by" "$one/flame-lock.html" && grep -q Locks.holdMonitorA "$one/flame-lock.html"'
is "the session has both" "$(jq -c .events "$one/session/session.json")" '["cpu","lock"]'
replay() { rm -rf "$SHOP/again" && "$DFG" -q --replay --by thread --full -f folded -o "$SHOP/again" "$@"; }
same() { cmp "$1/$2.folded" "$SHOP/again/$2.folded"; }
ok "--replay" replay "$one/session"
ok "  draws both" eval 'same "$one" flame && same "$one" flame-lock'
ok "--replay -e lock" replay -e lock "$one/session"
is "  draws one" "$(ls "$SHOP/again")" flame-lock.folded
ok "  the same" same "$one" flame-lock
allocates() { grep -q ';byte\[\]' "$SHOP/three/flame-alloc.folded"; }
# More seconds where a busy machine lets the program do little, which allocates little.
three() {
	local seconds
	for seconds in 4 16 64; do
		rm -rf "$SHOP/three"
		"$DFG" -q -d $seconds -e cpu,alloc,lock --by thread --full -f folded,html -o "$SHOP/three" 17-g1 || return
		! allocates || break
	done
}
ok "three events, without --keep-stacks" three
is "  three pictures" "$(cd "$SHOP/three" && echo *)" \
	"flame-alloc.folded flame-alloc.html flame-lock.folded flame-lock.html flame.folded flame.html session"
links() { grep -o 'href="flame[^"]*"' "$1" | sort -u | cut -d'"' -f2 | paste -sd' '; }
for page in flame flame-alloc flame-lock; do
	ok "  $page.html leads to the others" eval '! comm -13 <(links "$SHOP/three/$page.html" | xargs -n1 | LC_ALL=C sort) \
		<(ls "$SHOP/three" | grep html | grep -vx $page.html | LC_ALL=C sort) | grep .'
done
ok "  with allocations" allocates
ok "  and waits" grep -q ';Locks$MonitorA;held by;' "$SHOP/three/flame-lock.folded"
is "  the session has a profile of each" "$(cd "$SHOP/three/session" && echo tree*)" "tree tree-alloc tree-lock"
ok "  --replay -e lock" replay -e lock "$SHOP/three/session"
ok "  draws the same" same "$SHOP/three" flame-lock
ok "-e lock alone" as_noted 17-g1 lock
facts
is "  is the first event" "$(json '"\(.event) \(.unit) \(.more_events | length)"')" "lock ns 0"
ok "-e cpu" "$DFG" -q -d 1 -e cpu -f folded -o "$SHOP/cpu" 17-g1
diff_lock() { "$BUILD/bin/dfg-diff" --event lock -f folded -o "$SHOP/diff" "$@"; }
diff_lock --json "$SHOP/three" "$one" >"$SHOP/out"
is "dfg-diff --event lock: of sessions" "$? $(json '"\(.event) \(.unit)"')" "0 lock ns"
is "  of all ns" "$(json .before.samples)" "$(sum "$SHOP/three/flame-lock.folded")"
is "  on both sides" "$(json .after.samples)" "$(sum "$one/flame.folded")"
ok "  a session without them is named" dies 1 "cpu: has no events lock" diff_lock "$SHOP/three" "$SHOP/cpu"
"$BUILD/bin/dfg-merge" --event lock --json -f folded -o "$SHOP/all" "$SHOP/three" "$one" >"$SHOP/out"
is "dfg-merge --event lock: of sessions" "$? $(json '"\(.event) \(.unit)"')" "0 lock ns"
is "  the ns of both" "$(sum "$SHOP/all/flame.folded")" \
	$(($(sum "$SHOP/three/flame-lock.folded") + $(sum "$one/flame.folded")))
ok "perf cannot record them" dies 2 "--event: these need --unwind bpf or auto" "$DFG" --unwind vm -e lock 17-g1
"$BUILD/bin/dfg-top" --json -e lock -n 2 17-g1 >"$SHOP/top" 2>"$SHOP/said"
is "dfg-top -e lock" "$? $(cat "$SHOP/said")" "0 "
ok "  shows ns of methods that wait" jq -se 'last | .unit == "ns" and .samples > 1e9 and
	([.methods[] | select(.name == "Locks.wantMonitorA" and .total > 1e9)] | length == 1)' "$SHOP/top"

# ---- the JVM stays as it is --------------------------------------------------------------------
# int3, where monitors and java.util.concurrent begin and end to wait, and leave.
probed() { changed "$1" | awk '$2 != "cc" {bad = 1} {n++} END {exit bad || n < 9}'; }
goes_on() { wait_for eval "[ \$(wc -l <'$SHOP/$1/log') -gt $(($(wc -l <"$SHOP/$1/log") + 200)) ]"; }
ok "  and leaves no probe" wait_for unchanged 17-g1
"$DFG" -q -d 120 -e lock -f folded -o "$SHOP/long" 17-g1 >/dev/null 2>&1 & run=$!
ok "probes are in it while it is recorded" wait_for probed 17-g1
sleep 1
kill -KILL "$run"
wait "$run" 2>/dev/null
ok "  dfg-trigger is killed: they are gone" wait_for unchanged 17-g1
ok "  and the JVM goes on" goes_on 17-g1
ok "five recordings leave it as it was" eval 'for i in $(seq 5); do "$DFG" -q -d 1 -e lock -f folded -o "$SHOP/five" --force 17-g1 && unchanged 17-g1 || exit; done'
is "the JVM has said nothing of it" "$(grep -Evc '^(Locks|java|time)[^:]* [0-9]+$' "$SHOP/17-g1/log")" 0
shop_stop 17-g1

# ---- other JVMs --------------------------------------------------------------------------------
formats=folded
more() { row "$@" && shop_stop "$1-$2"; }
more 25 g1 -XX:+UseG1GC
if [ -n "${DFG_FULL:-}" ]; then
	more 8 g1 -XX:+UseG1GC
	for version in 11 21 26 27; do full more $version g1 -XX:+UseG1GC; done
	full more 21 serial -XX:+UseSerialGC
	full more 21 parallel -XX:+UseParallelGC
	full more 21 zgc -XX:+UseZGC
	full more 21 generational -XX:+UseZGC -XX:+ZGenerational
	full more 25 zgc -XX:+UseZGC
	full more 25 shenandoah -XX:+UseShenandoahGC
	more 25 compact -XX:+UseCompactObjectHeaders
	full more 17 int -Xint
	more 21 lightweight -XX:+UnlockExperimentalVMOptions -XX:LockingMode=2 # 1 is what it does by itself
	full more 21 monitors -XX:+UnlockExperimentalVMOptions -XX:LockingMode=0
	# As JVMs are that were built without DTrace.
	cp -a "$JVMS_HOME_17" "$SHOP/app/jdk"
	objcopy --remove-section .note.stapsdt "$SHOP/app/jdk/lib/server/libjvm.so"
	JVMS_ROOT_bare=$JVMS_ROOT_17 JVMS_HOME_bare=/mnt/jdk
	full more bare 17
	# As vendors strip them, with the debug file beside the library.
	server=$SHOP/app/jdk/lib/server
	mkdir "$server/.debug"
	cp "$JVMS_HOME_17/lib/server/libjvm.so" "$server/libjvm.so"
	objcopy --only-keep-debug "$server/libjvm.so" "$server/.debug/libjvm.so.debug"
	objcopy --strip-all --remove-section .gnu_debuglink "$server/libjvm.so"
	(cd "$server/.debug" && objcopy --add-gnu-debuglink=libjvm.so.debug ../libjvm.so)
	more bare stripped
	# Threads that wait for memory of ZGC, next to what the JVM's own recorder has. JDK 21 has two of it.
	stalls() {
		local id=$1-$2 version=$1
		shift 2
		ok "$id: a program whose memory is used up" events_start "$id" "$version" "Alloc 4 0" -XX:+UseZGC -Xmx64m "$@" \
			-XX:StartFlightRecording=duration=14s,filename=/tmp/stalls.jfr
		ok "  is recorded" trigger -q -d 5 -e lock -f folded -o "$SHOP/$id.out" "$id"
		wait_for test -s "$SHOP/$id/tmp/stalls.jfr"
		python3 tests/java/stalls.py "$SHOP/$id/tmp/stalls.jfr" "$(json .session)" "$SHOP/$id.out/flame.folded" >"$SHOP/facts"
		diag "$(head -n 1 "$SHOP/facts")"
		ok "  as long as it waited" right stalls
		shop_stop "$id"
	}
	full stalls 17 stalls
	stalls 21 stalls
	full stalls 21 generational-stalls -XX:+ZGenerational
	for version in 25 26 27; do full stalls $version stalls; done
	EVENTS_BARE=1 ok "JDK 8, without symbols" start old 8
	ok "  is recorded" trigger -q -d 2 -e cpu,lock -f folded -o "$SHOP/old.out" old
	ok "  the processor's time" grep -q 'Locks.spin' "$(json .graphs.folded)"
	is "  no waits" "$(json '.more_events[0].samples')" 0
	ok "  which is said" eval 'json ".cut[]" | grep -q "waits for locks of 1 JVMs are not recorded: " || { json .cut && false; }'
	shop_stop old
fi
tap_done
