#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The agent in real JVMs: each way of asking, each way in which an answer can fail, and the map held
# against HotSpot's own (jcmd Compiler.perfmap) and against the same reader from outside.
# JVMs: those in /usr/lib/jvm, one of each version; others by DFG_TEST_JAVA="/path/bin/java ...".
. "$(dirname "$0")/../../lib/tap.sh"
need_root
need java javac gcc perl fallocate

so=$BUILD/payload/libdfg-agent.so
[ -f "$so" ] || tap_cannot "no $so"
dir=$(mktemp -d)
share=$dir/share
ctl=$dir/ctl
pid=
seq=0
trap '[ -n "$pid" ] && kill -9 $pid 2>/dev/null; umount "$dir/small" 2>/dev/null; rm -rf "$dir"' EXIT

trailer() { tr -d '\0' <"$1" | grep '^#dfg1 end'; }
field() { trailer "$1" | sed -n "s/.* $2=\([0-9]*\).*/\1/p"; }
threads() { cat /proc/$pid/task/*/comm | grep -cx dfg-agent; }
signal() { sed -n 's/.*signal=\([0-9]*\) .*/\1/p' "$share/agent.$pid"; }
alive() { kill -0 $pid && [ "$(cut -d' ' -f3 /proc/$pid/stat)" != Z ]; }
# Lines are as many as the trailer says, and all but the trailer are lines of a map.
well_formed() {
	[ "$(field "$1" entries)" = "$(tr -d '\0' <"$1" | grep -c -v '^#')" ] &&
		[ "$(field "$1" bytes)" = "$(tr -d '\0' <"$1" | grep -v '^#' | wc -c)" ] &&
		! tr -d '\0' <"$1" | grep -v '^#' | grep -qvE '^[0-9a-f]+ [0-9a-f]+ [^ ].*$' &&
		[ "$(tail -c 1 "$1" | tr -d '\0\n' | wc -c)" = 0 ]
}
no_overlap() {
	tr -d '\0' <"$1" | grep -v '^#' | perl -e 'no warnings "portable"; my %r;
		while (<>) { my ($s, $n) = split; $r{hex $s} = hex $n }
		my $end = 0;
		for (sort { $a <=> $b } keys %r) { exit 1 if $_ < $end; $end = $_ + $r{$_} }'
}
# Asks for $1 by a request file.
ask() {
	seq=$((seq + 1))
	echo "dfg1 dump seq=$seq host_pid=$pid out=$1" >"$ctl/new"
	mv "$ctl/new" "$ctl/request.$pid"
}
# agrees NAME COMMAND...: a check that the map it prints has next to no entry that differs from the agent's of the
# moment before. The JIT goes on: until it has come to rest, both are taken again.
agrees() {
	local name=$1 status
	shift
	wait_for agree_now "$@"
	status=$?
	ok "$name" eval 'cat "$dir/differ"; [ $status = 0 ]'
}
agree_now() {
	local both only_ours only_other differ
	rm -f "$share/now.map"
	fallocate -l 1M "$share/now.map"
	ask now.map
	wait_for trailer "$share/now.map" && "$@" >"$dir/other.map" || return
	eval "$("$TOP/tests/tools/mapdiff" <(tr -d '\0' <"$share/now.map") "$dir/other.map" 2>"$dir/differ")" || return
	echo "both=$both only_ours=$only_ours only_other=$only_other differ=$differ" >>"$dir/differ"
	[ "$both" -gt 300 ] && [ $((only_ours + only_other)) -le $((both / 20)) ] &&
		[ "$differ" -le 2 ]
}
hotspots_own() {
	jcmd $pid Compiler.perfmap >/dev/null && cat "/tmp/perf-$pid.map" && rm -f "/tmp/perf-$pid.map"
}
jcmd() { "$bin/jcmd" "$@"; }
load() { jcmd $pid JVMTI.agent_load "$so" "\"$1\""; }
attach_works() { jcmd $pid help 2>&1 | grep -q "$1"; }

test_maps() {
	fallocate -l 1M "$share/perf-$pid.map"
	ask "perf-$pid.map"
	ok "$jvm: a request file is answered" wait_for trailer "$share/perf-$pid.map"
	is "$jvm: whole" "$(field "$share/perf-$pid.map" status)" 0
	ok "$jvm: lines and counts agree" well_formed "$share/perf-$pid.map"
	ok "$jvm: no two ranges overlap" no_overlap "$share/perf-$pid.map"
	is "$jvm: nothing is skipped" "$(field "$share/perf-$pid.map" skipped)" 0
	ok "$jvm: a hot method is named" grep -aq ' Busy\.fib$' "$share/perf-$pid.map"
	ok "$jvm: the interpreter is named" grep -aq ' Interpreter$' "$share/perf-$pid.map"
	diag "$(trailer "$share/perf-$pid.map")"
	agrees "$jvm: the same map from outside" "$dir/hostmap" $pid
	! attach_works Compiler.perfmap || agrees "$jvm: the same map as HotSpot's own" hotspots_own
}

test_ways() {
	fallocate -l 1M "$share/by-signal"
	seq=$((seq + 1))
	echo "dfg1 dump seq=$seq host_pid=$pid out=by-signal" >"$dir/request"
	rm -f "$ctl/request.$pid"
	ln "$dir/request" "$ctl/request.$pid"
	sleep 0.2
	is "$jvm: a file that nothing announces is not seen" "$(trailer "$share/by-signal")" ""
	/bin/kill -q 99999 -"$(signal)" $pid
	ok "$jvm: the signal makes it look" wait_for trailer "$share/by-signal"
	is "$jvm: and it takes nothing from the signal" "$(field "$share/by-signal" seq)" $seq
	: >"$share/stale"
	echo "dfg1 dump seq=1 host_pid=$pid out=stale" >"$ctl/new"
	mv "$ctl/new" "$ctl/request.$pid"
	sleep 0.2
	is "$jvm: an old number is not served again" "$(stat -c %s "$share/stale")" 0
	attach_works JVMTI.agent_load || return
	: >"$share/load1"
	: >"$share/load2"
	load "dir=$share,request=seq:$((seq + 1)):$pid:load1" >"$dir/log1" 2>&1 &
	load "dir=$share,request=seq:0:$pid:load2" >"$dir/log2" 2>&1
	wait $!
	ok "$jvm: two loads at once, one answered" wait_for trailer "$share/load1"
	ok "$jvm: and the other" wait_for trailer "$share/load2"
	load "dir=$share" >"$dir/log3" 2>&1
	is "$jvm: three loads return 0" "$(cat "$dir"/log[123] | grep -c 'return code: 0')" 3
	is "$jvm: one thread still" "$(threads)" 1
	seq=$((seq + 1))
}

test_wrong() {
	local big=$dir/small/big before
	echo precious >"$dir/victim"
	ln -s "$dir/victim" "$share/link"
	mkfifo "$share/fifo"
	mkdir "$share/directory"
	for name in ../victim absent link fifo directory . .. ../share/load; do
		ask "$name"
		sleep 0.1
	done
	is "$jvm: nothing is written through a link or a path (case 60)" "$(cat "$dir/victim")" precious
	ok "$jvm: no file is made" test ! -e "$share/absent"
	rm -rf "$share/link" "$share/fifo" "$share/directory"
	: >"$share/after"
	ask after
	ok "$jvm: wrong names do no harm" wait_for trailer "$share/after"

	mkdir -p "$dir/small"
	mount -t tmpfs -o size=16k none "$dir/small"
	ln -sfn "$dir/small" "$dir/full"
	: >"$big"
	if attach_works JVMTI.agent_load; then
		load "dir=$dir/full,request=seq:0:$pid:big" >/dev/null 2>&1
		ok "$jvm: a full share is answered (case 62)" wait_for trailer "$big"
		is "$jvm: with the status that says so" "$(field "$big" status)" 2
		ok "$jvm: and whole lines" well_formed "$big"
	fi
	umount "$dir/small"
	mv "$share" "$dir/gone"
	ask after
	sleep 0.2
	ok "$jvm: a share that is gone does no harm" alive
	mv "$dir/gone" "$share"
	: >"$share/back"
	ask back
	ok "$jvm: and may come back" wait_for trailer "$share/back"
}

test_jvm() {
	bin=$(dirname "$1")
	seq=0
	# "warm" of the JVM before must not be taken for this one's.
	rm -rf "$share" "$ctl" "$dir/out" "$dir/stop"
	mkdir "$share" "$ctl"
	"$1" -agentpath:"$so"=dir="$share",ctl="$ctl" -cp "$dir" Busy "$dir/stop" >"$dir/out" 2>"$dir/err" &
	pid=$!
	ok "$jvm: starts with the agent" wait_for grep -q warm "$dir/out"
	is "$jvm: one thread" "$(threads)" 1
	test_maps
	test_ways
	test_wrong
	touch "$dir/stop"
	wait $pid
	is "$jvm: ends as it would" $? 0
	is "$jvm: its output is its own" "$(paste -sd' ' "$dir/out")" "warm done"
	# From JDK 21 on, each library that is attached is warned of; ours was there from the start.
	is "$jvm: so is its standard error" "$(grep -v '^WARNING: ' "$dir/err")" ""
	pid=
}

# Loaded into a JVM that runs, without a control directory.
test_attach() {
	bin=$(dirname "$1")
	rm -rf "$share" "$ctl" "$dir/stop" "$dir/out"
	mkdir "$share"
	"$1" -cp "$dir" Busy "$dir/stop" >"$dir/out" 2>"$dir/err" &
	pid=$!
	wait_for grep -q warm "$dir/out"
	attach_works JVMTI.agent_load || {
		kill $pid
		return
	}
	fallocate -l 1M "$share/first"
	load "dir=$share,ctl=$ctl,signal=50,request=seq:1:$pid:first" >/dev/null 2>&1
	ok "$jvm: attached, the load is answered" wait_for trailer "$share/first"
	ok "$jvm: attached, whole" grep -aq ' Busy\.fib$' "$share/first"
	is "$jvm: attached, the signal asked for" "$(signal)" 50
	fallocate -l 1M "$share/perf-4711.map"
	/bin/kill -q 4711 -50 $pid
	ok "$jvm: attached, a signal alone is answered" wait_for trailer "$share/perf-4711.map"
	mkdir "$ctl"
	seq=5
	: >"$share/late"
	ask late
	/bin/kill -q 4711 -50 $pid
	ok "$jvm: attached, a control directory that comes later is found" wait_for trailer "$share/late"
	: >"$share/later"
	ask later
	ok "$jvm: attached, and watched from then on" wait_for trailer "$share/later"
	kill $pid
	wait $pid 2>/dev/null
	pid=
}

javac --release 8 -nowarn -d "$dir" "$TOP/tests/java/Busy.java" >/dev/null 2>&1 ||
	javac -nowarn -d "$dir" "$TOP/tests/java/Busy.java" || tap_cannot "javac failed"
gcc -D_GNU_SOURCE -I"$TOP/include" -I"$TOP" -I"$TOP/host" -o "$dir/hostmap" "$TOP/tests/e2e/inject/hostmap.c" \
	"$BUILD/lib/host-record.a" "$BUILD/lib/host-discover.a" "$BUILD/lib/hotspot.a" "$BUILD/lib/common.a" -lcap -lseccomp ||
	tap_cannot "hostmap does not build"

declare -A seen
for java in ${DFG_TEST_JAVA:-/usr/lib/jvm/*/bin/java}; do
	[ -x "$java" ] || continue
	jvm=$("$java" -version 2>&1 | sed -n 's/.*build \([0-9][^ ,)]*\).*/JDK \1/p' | tail -n 1)
	[ -n "${seen[$jvm]}" ] && continue
	seen[$jvm]=1
	test_jvm "$java"
	test_attach "$java"
done
tap_done
