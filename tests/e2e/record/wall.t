#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The wall clock (-e wall) of real JVMs: all the time of each thread has a cause, as much as the program itself says, and who woke whom is
# right. JDK 17 and 25; DFG_FULL=1: 11 and 21, too; FULL=1: all.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/jvms.sh
. tests/lib/events.sh
need python3
EVENTS_JDKS="11 17 21 25"
events_setup Wall.java

# as_the_program_says ID EVENTS [virtual]
as_the_program_says() {
	local id=$1 kind=${3:-}
	rm -rf "${SHOP:?}/$id.out"
	trigger -q -d 6 -e "$2" --by thread --full -f folded,html,svg,pprof -o "$SHOP/$id.out" "$id" || return
	sleep 1 # the ledger's last lines
	python3 tests/java/wall.py "$SHOP/$id/tmp/ledger" "$(json .session)" "$SHOP/out" "$(json '(.more_events[0] // .).graphs.folded')" $kind >"$SHOP/facts"
}
facts() {
	grep '^#' "$SHOP/facts" | while read -r line; do diag "$line"; done
	ok "  every thread's causes are all of its time" right sums
	ok "  and nothing more" right parts
	ok "  each as long as the program says" right causes
	ok "  by a stack that is known, mostly" right proved
	ok "  a thread that sleeps all the time, too" right idle
	ok "  one that runs as long as its counter says" right running
	ok "  woken by those that did it" right wakers
	ok "  and not by others" right others
	ok "  or a timer's victim" right sleepers
	ok "  the longest waits come first" right waits
	ok "  what they wait for is known" right subjects
	ok "  and who held it" right holders
	ok "  a lock of java.util.concurrent, too" right owners
	ok "  and what that one did meanwhile" right meanwhile
	ok "  nothing is lost" right lost
}
# How often the thread has waited that sleeps all the time.
switches() {
	local task
	for task in /proc/"$(bundle_pid "$1")"/task/*; do
		[ "$(cat "$task/comm")" != idler ] || awk '/ctxt_switches/ {n += $2} END {print n}' "$task/status"
	done
}

for v in $versions; do
	ok "$v: threads that wait by a plan" events_start "$v" "$v" "Wall /tmp"
	ok "  are recorded" as_the_program_says "$v" wall
	facts
	[ "$v" = 17 ] || shop_stop "$v"
done
one=$SHOP/17.out
is "files" "$(cd "$one" && echo *)" "flame.folded flame.html flame.pb.gz flame.svg session"
is "the cause is below the thread" "$(cut -d';' -f1-2 "$one/flame.folded" | grep -xc 'idler;sleep')" 1
ok "  above it the program" grep -q '^wanter;monitor;.*;Wall.wants_\[.\];.*;woken by;.*;Wall.holds_\[.\];.*;holder [0-9]*$' "$one/flame.folded"
ok "  also of who slept all the time" grep -q '^idler;sleep;.*;java.lang.Thread.sleep' "$one/flame.folded"
rm -rf "$SHOP/again"
ok "--replay" "$DFG" -q --replay --by thread --full -f folded,html -o "$SHOP/again" "$one/session"
ok "  draws the same" cmp "$one/flame.folded" "$SHOP/again/flame.folded"
ok "  with the timeline and the waits" cmp "$one/flame.html" "$SHOP/again/flame.html"
merged() { "${DFG%trigger}merge" -q --json --event wall -f folded,html -o "$SHOP/merged" "$@" >"$SHOP/merged.json"; }
ok "dfg-merge has the longest waits and what they say" eval \
	'merged "$one/session" && jq -e ".wall.finding != \"\" and (.wall.waits | length > 10) and .unit == \"ns\"" "$SHOP/merged.json"'
time_of() { jq .samples "$SHOP/merged.json"; }
time=$(time_of)
ok "  of a profile (pprof) the time" merged "$one/flame.pb.gz"
is "  as long" "$(time_of)" "$time"
in_browser() {
	PYTHONPATH=tests/tools PYTHONDONTWRITEBYTECODE=1 python3 tests/e2e/record/wall_page.py "$one/flame.html" "$SHOP/merged/flame.html" >"$SHOP/page" || { cat "$SHOP/page" && false; }
}
command -v chromium >/dev/null || need chromium-browser
ok "  its page in a browser: a timeline, who woke whom" in_browser
ok "-e cpu,wall" as_the_program_says 17 cpu,wall
ok "  each thread's causes are all of its time" right sums
is "  are two pictures" "$(json '[.event, .more_events[0].event] | join(",")')" cpu,wall
live() { "${DFG%trigger}top" -e wall -n 3 -d 2 "$@" 17 >"$SHOP/live"; }
ok "dfg-top -e wall" live
ok "  has the causes of each thread's time" grep -Eq '^ +[0-9.]+ %  wanter .*[0-9]+ % monitor' "$SHOP/live"
ok "  also of those that sleep all the time" grep -Eq '^ +[0-9.]+ %  idler +100 % sleep' "$SHOP/live"
ok "  in JSON, too" live --json
ok "  of each refresh all the time" jq -es 'length == 3 and all(.[]; .seconds as $s | .threads[] | select(.name == "idler") |
	([.causes[]] | add) / 1e9 / $s | . > 0.9 and . < 1.1)' "$SHOP/live"
ok "nor has perf" dies 2 "need --unwind bpf or auto" "$DFG" -e wall --unwind vm 17

# ---- virtual threads ----
for v in $versions; do
	[ "$v" -ge 21 ] || continue
	ok "$v: virtual threads that wait by a plan" \
		events_start "virtual$v" "$v" "Wall /tmp virtual" -Djdk.virtualThreadScheduler.parallelism=8
	ok "  are recorded" as_the_program_says "virtual$v" wall virtual
	grep '^#' "$SHOP/facts" | while read -r line; do diag "$line"; done
	ok "  every thread's causes are all of its time" right sums
	ok "  each as long as the program says" right causes
	ok "  by a stack that is known, mostly" right proved
	ok "  with all frames of those that are in the heap" right whole
	ok "  what they wait for is known" right subjects
	ok "  nothing is lost" right lost
	[ "$v" = 25 ] || shop_stop "virtual$v"
done
one=$SHOP/virtual25.out
ok "--replay" "$DFG" -q --replay --by thread --full -f folded -o "$SHOP/again" "$one/session" --force
ok "  draws the same" cmp "$one/flame.folded" "$SHOP/again/flame.folded"
ok "dfg-top -e wall" eval '"${DFG%trigger}top" -e wall -n 3 -d 2 virtual25 >"$SHOP/live"'
ok "  has virtual threads, too" grep -Eq '^ +[0-9.]+ %  sleeper +[0-9]+ % sleep' "$SHOP/live"
shop_stop virtual25

# ---- a quota ----
cpu_stat() {
	local v1=/sys/fs/cgroup/cpu/$(sed -n 's/^[0-9]*:cpu\(,cpuacct\)\?://p' "/proc/$1/cgroup") v2=/sys/fs/cgroup/$(sed -n 's/^0:://p' "/proc/$1/cgroup")
	[ -e "$v1/cpu.stat" ] && echo "$v1/cpu.stat" || echo "$v2/cpu.stat"
}
ok "a container that may use a fifth of a processor" eval \
	'EVENTS_JQ=".linux.resources.cpu = {quota: 20000, period: 100000}" events_start few 17 "Wall /tmp burner"'
burner=$(dirname "$(grep -lx burner /proc/"$(bundle_pid few)"/task/*/comm)")
nice -n -15 python3 tests/java/counters.py watch "$(cpu_stat "$(bundle_pid few)")" "$burner/schedstat" "$SHOP/stat" &
watcher=$!
wait_for test -s "$SHOP/stat"
ok "  is recorded" eval '"$DFG" -q -d 6 -e wall -f folded --json -o "$SHOP/few.out" few >"$SHOP/few.json"'
kill $watcher
python3 tests/java/counters.py compare "$SHOP/stat" "$SHOP/few.out/session" "$SHOP/few.json" >"$SHOP/facts"
grep '^#' "$SHOP/facts" | while read -r line; do diag "$line"; done
ok "  it is throttled as long as its control group says" right throttled
ok "  and runs as long as the scheduler says" right running
shop_stop few

# ---- nobody is woken ----
before=$(switches 17)
"$DFG" -q -d 3 -e wall -f folded -o "$SHOP/second" 17 >"$SHOP/said"
is "a thread that sleeps is not woken" "$? $(switches 17)" "0 $before"
ok "the summary has the causes of threads" grep -Eq '^  threads +[0-9]+ [a-z]+: [0-9]+ % [a-z]+' "$SHOP/said"
ok "  and the longest waits" grep -Eq '^  wait +[0-9.]+ ms  at [0-9.]+ s, [a-zA-Z_-]+: [a-z]+' "$SHOP/said"
tap_done
