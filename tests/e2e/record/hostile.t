#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A container costs only itself: what one does, the others have their graphs, the run ends in time, and no
# session has the memory of another container. Cases 79, 80, 94 and 95 of docs/security.md.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
shop_setup
need cc
mkdir "$SHOP/bin" "$SHOP/memory"
mount -t tmpfs memory "$SHOP/memory" # for mappings that a userfaultfd withholds
cc -O1 -o "$SHOP/bin/hostile" tests/e2e/record/hostile.c
cc -O1 -o "$SHOP/bin/stuckmem" tests/e2e/record/stuckmem.c

# hostile NAME PROGRAM ARG…: a container of one of the programs, root in it.
hostile() {
	local id=$1 dir=$SHOP/$1
	shift
	mkdir -p "$dir"
	BUNDLE_USER=0:0 BUNDLE_HOOK='' BUNDLE_CAPS="CAP_SYS_PTRACE" BUNDLE_JQ=.
	BUNDLE_MOUNTS=("$SHOP/bin:/mnt:ro" "$SHOP/memory:/tmp:exec")
	bundle_make "$dir" host "$@"
	bundle_start "$id" "$dir" || { cat "$dir/log"; return 1; }
}
of() { jq -r --arg c "$1" ".recordings[] | select(.container.id == \$c) | $2" "$SHOP/out"; }
ok "a container of somebody's" shop_start victim

# ---- whose memory is in a session

ok "a container that always has a young process" hostile young /mnt/hostile young
ok "another one with a key on its stack" hostile secret /mnt/hostile secret
trigger -q -d 2 -F 499 -f folded --unwind vm secret # a walked stack has no byte of it
session=$(json .session)
ok "the key can be found in its own recording" grep -qaF PRIVATE-KEY "$session/perf.data"
trigger -q -d 2 -F 499 -f folded --unwind vm young
ok "case 79: a container with a young process is recorded" test "$(json .samples)" -gt 0
session=$(json .session)
is "case 79: its session has no byte of the other's" "$(grep -raclF PRIVATE-KEY "$session" | wc -l)" 0
is "case 79: and no process of others" "$(jq '[.whole_machine, (.processes | length > 0)] | @csv' -r "$session/session.json")" false,true
is "case 79: what was recorded of the whole machine is gone" "$(find "$DFG_ROOT/tmp" -mindepth 1 2>/dev/null | wc -l)" 0

# ---- JVMs that are none

for i in 1 2 3; do
	mkdir "$SHOP/memory/$i"
	ok "a container of a JVM whose memory never answers" hostile "stuck-$i" /mnt/stuckmem "/tmp/$i/libjvm.so"
done
# The longest time and the best nice value that any process of the run has.
watch_nice() {
	local lowest=99 n
	while kill -0 "$1" 2>/dev/null; do
		for n in $(pstree_of "$1" | xargs -r ps -o ni= -p 2>/dev/null); do
			[ "$n" -ge "$lowest" ] 2>/dev/null || lowest=$n
		done
		sleep 0.05
	done
	echo "$lowest"
}
pstree_of() {
	local kids
	echo "$1"
	kids=$(pgrep -P "$1") || return 0
	for kid in $kids; do pstree_of "$kid"; done
}
# Seconds that a run has after its duration, by the threads that are runnable now (record/run_find.c).
slack() { awk -v cpus="$(nproc)" '{ n = int($4) / cpus; print int(15 * (n < 1 ? 1 : n > 8 ? 8 : n)) }' /proc/loadavg; }
began=$(date +%s) slack=$(slack)
nice -n 5 "$DFG" -q -d 1 -F 199 -f folded --json victim stuck-1 stuck-2 stuck-3 >"$SHOP/out" 2>"$SHOP/err" & run=$!
is_nice() { [ "$(ps -o ni= -p $run)" -eq 5 ]; }
wait_for is_nice # the shell's child becomes nice
lowest=$(watch_nice $run)
wait $run
is "case 80: three such containers beside one: status 0" $? 0
took=$(($(date +%s) - began))
diag "$took s for a recording of 1 s; $(cat "$SHOP/err")"
# On a quiet machine 8 s: it was 76 to 98 s.
ok "case 80: the run ends in time" test "$took" -le $((1 + slack + 25))
ok "case 80: the other has its graph" grep -q 'Shop.*_\[j\]' "$(of victim .graphs.folded)"
for i in 1 2 3; do
	ok "case 80: so has each of them" test -s "$(of stuck-$i .graphs.folded)"
done
is "case 80: with the reason why it has no names" \
	"$(of stuck-1 '.jvms[0].note' | grep -c 'too long\|stopped')" 1
is "case 80: no process of the run has a better nice value than its caller" "$lowest" 5

# ---- one that fails

mkdir -p "$SHOP/given/secret/session"
trigger -q -d 2 -f folded -o "$SHOP/given" secret victim
is "case 94: one of two cannot be recorded: status 1" "$status" 1
is "case 94: one line says which and why" "$(grep -c '^dfg-trigger: secret: there is a session in' "$SHOP/err")" 1
is "case 94: and that is all" "$(grep -v '^dfg-trigger: secret: ' "$SHOP/err")" ''
ok "case 94: the other has its graph" grep -q 'Shop.*_\[j\]' "$SHOP/given/victim/flame.folded"

# One whose worker is killed while it records.
touch "$SHOP/mark"
"$DFG" -q -d 10 -f folded --json victim secret >"$SHOP/out" 2>"$SHOP/err" & run=$!
bytes() { find "$DFG_ROOT/tmp" -name perf.data -size +20k -printf '%s\n'; }
# Samples are added to the file, after the lists with which it begins.
recording() {
	local before
	before=$(bytes) && [ -n "$before" ] && sleep 0.5 && [ "$(bytes)" -gt $((before + 4096)) ]
}
workers() { pgrep -P $run -x dfg-trigger; } # and later the recorder
ok "two workers are at work" wait_for eval '[ "$(workers | wc -l)" -ge 2 ]'
ok "they record" wait_for recording
kill -KILL "$(workers | sed -n 2p)"
wait $run
is "case 94: a worker that is killed: status 1" $? 1
is "case 94: one line says so" "$(cat "$SHOP/err")" "dfg-trigger: secret: its worker crashed"
ok "case 94: the other has its graph" grep -q 'Shop.*_\[j\]' "$(json '.recordings[0].graphs.folded')"
is "case 94: nothing is left of the killed one" "$(find "$DFG_ROOT/containers/secret/graphs" -newer "$SHOP/mark" -name session | wc -l)" 0

# ---- ^C

left() { pgrep -f "perf record.*$SHOP"; find "$DFG_ROOT/tmp" -mindepth 1 2>/dev/null; }
touch "$SHOP/mark"
exec {lock}>>"$DFG_ROOT/containers/victim/lock"
flock "$lock" # who asks the agent waits for it for 10 s
"$DFG" -q -d 60 --source agent victim stuck-1 {lock}>&- >"$SHOP/out" 2>"$SHOP/err" & run=$!
wait_for eval '[ "$(workers | wc -l)" -ge 2 ]' # a first child comes before the signals are caught
kill -INT $run
wait $run
is "case 95: ^C before the recording: status 1" $? 1
exec {lock}>&-
is "case 95: nothing is recorded" "$(find "$DFG_ROOT"/containers -newer "$SHOP/mark" -name session.json | wc -l)" 0
is "case 95: nothing is left" "$(left)" ""

"$DFG" -q -d 600 -f folded --json victim stuck-1 >"$SHOP/out" 2>"$SHOP/err" & run=$!
ok "a recording that goes on" wait_for recording
kill -INT $run
kill -INT $run # while it ends the recording: later it would interrupt the drawing
wait $run
is "case 95: ^C, and once more while it waits for the end: status 0" "$? $(grep -v warning: "$SHOP/err")" "0 "
ok "case 95: what there is is drawn" test "$(of victim .samples)" -gt 0
ok "case 95: of each" test "$(of stuck-1 .samples)" -gt 0
is "case 95: nothing is left" "$(left)" ""
tap_done
