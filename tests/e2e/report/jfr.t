#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-merge and dfg-diff on recordings of the JDK's own Flight Recorder: the events, stacks and threads are those that
# `jfr print` shows, and a recording of dfg can be compared with one.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
need_root
need perf java javac jcmd jq python3
work=$(mktemp -d /tmp/dfg-jfr.XXXXXX)
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8
DIFF=$BUILD/bin/dfg-diff MERGE=$BUILD/bin/dfg-merge DFG=$BUILD/bin/dfg-trigger
javac -d "$work" tests/java/Flight.java || tap_cannot "javac failed"
WAIT_SECONDS=300

# flight HOME: records until there is enough, over two chunks since another recording starts meanwhile: $work/one.jfr, and with
# a dfg recording of the same JVM in $work/dfg.
flight() {
	local trigger

	rm -rf "$work/dfg" "$work/one.jfr"
	"$1/bin/java" -XX:StartFlightRecording=name=one,settings=profile -cp "$work" Flight 600 >"$work/out" 2>&1 &
	pid=$!
	at_work "$pid" 300
	"$DFG" -q --json --root "$work/root" --source host -d 300 -f folded -o "$work/dfg" --pid "$pid" >"$work/json" &
	trigger=$!
	"$1/bin/jcmd" "$pid" JFR.start name=two settings=profile >"$work/two"
	at_work_again "$pid" 300
	kill -INT "$trigger"
	"$1/bin/jcmd" "$pid" JFR.dump name=one filename="$work/one.jfr" >>"$work/two"
	wait "$trigger"
	kill "$pid"
	wait "$pid" 2>/dev/null
	pid=
}

# same HOME KIND EVENTS: what differs between dfg's text and jfr's
same() {
	"$1/bin/jfr" print --json --stack-depth 100 --events "$3" "$work/one.jfr" >"$work/printed"
	"$MERGE" -q --event "$2" --by thread --full -f folded -o "$work/merged" "$work/one.jfr" >"$work/said"
	python3 -B tests/java/flight.py "$work/merged/flame.folded" "$work/printed" >"$work/differs" || echo failed
	sed 1d "$work/differs"
}
events() { sed 's/ .*//;q' "$work/differs"; }

for home in /usr/lib/jvm/*; do
	[ -x "$home/bin/jfr" ] && [ ! -L "$home" ] || continue
	version=$("$home/bin/java" -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p')
	flight "$home"
	ok "Java $version: two chunks" [ "$("$home/bin/jfr" summary "$work/one.jfr" | awk '/Chunks/ {print $2}')" -ge 2 ]
	is "  execution samples are those of jfr" "$(same "$home" cpu jdk.ExecutionSample)" ''
	ok "    and not few" [ "$(events)" -gt 20 ]
	is "  as many as the summary of jfr has" "$("$home/bin/jfr" summary "$work/one.jfr" | awk '$1 == "jdk.ExecutionSample" {print $2}')" \
		"$(awk '{n += $NF} END {print n}' "$work/merged/flame.folded")"
	ok "    of a thread by its whole name" grep -q '^computes-é世;java.lang.Thread.run_' "$work/merged/flame.folded"
	ok "  what else there is, is said" grep -Eq '^  other events .*[0-9]+ alloc, [0-9]+ lock: choose with --event' "$work/said"
	is "  locks are those of jfr" "$(same "$home" lock jdk.JavaMonitorEnter,jdk.ThreadPark)" ''
	ok "    and not few" [ "$(events)" -gt 10 ]
	is "  allocations are those of jfr" "$(same "$home" alloc jdk.ObjectAllocationSample)" ''
	ok "    and not few" [ "$(events)" -gt 20 ]
	ok "    in bytes, three digits of them" grep -Eq '^  alloc .* [kMG]B · ' "$work/said"
	is "  native methods are those of jfr" "$(same "$home" native jdk.NativeMethodSample)" ''

	"$DIFF" --json -o "$work/diff" "$work/dfg" "$work/one.jfr" >"$work/json"
	is "  a recording of dfg has the same methods" "$(jq '[.methods[] | select(.method == "Flight.compute")][0] |
		.total.before > 0.2 and .total.after > 0.2' "$work/json")" true
	is "  a recording is as itself" "$("$DIFF" --event alloc --json -o "$work/diff" "$work/one.jfr" "$work/one.jfr" |
		jq -c '[.event, .unit, ([.methods[] | .self.change, .total.change | fabs] | add)]')" '["alloc","bytes",0]'
	head -c $(($(stat -c %s "$work/one.jfr") - 1000)) "$work/one.jfr" >"$work/cut"
	ok "  one that was cut off is drawn" "$MERGE" -q -f folded,svg,html -o "$work/merged" "$work/cut"
	ok "    and says so" grep -q '^  damaged ' <("$MERGE" -q -f folded -o "$work/merged" "$work/cut")
done
is 'text does not tell its event' "$("$MERGE" --event alloc -o "$work/merged" "$work/merged/flame.folded" 2>&1)" \
	"dfg-merge: draw: $work/merged/flame.folded: --event alloc: text does not tell its event; give a session, pprof or JFR"
tap_done
