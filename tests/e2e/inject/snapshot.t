#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Snapshots of real JVMs: from outside and by the agent, held against each other, against HotSpot's
# own list (jcmd Compiler.codelist), and against a program whose inlining is known.
# JVMs: those in /usr/lib/jvm, one of each version; others by DFG_TEST_JAVA="/path/bin/java ...".
. "$(dirname "$0")/../../lib/tap.sh"
need_root
need java javac fallocate perl

so=$BUILD/payload/libdfg-agent.so
[ -f "$so" ] || tap_cannot "no $so"
[ -x "$BUILD/tools/snapfrom" ] && [ -x "$BUILD/tools/snapdump" ] || tap_cannot "no snapshot tools"
dir=$(mktemp -d)
pid=
trap '[ -n "$pid" ] && kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT
inline="-XX:CompileCommand=quiet -XX:CompileCommand=inline,Inlined.inner -XX:CompileCommand=inline,Inlined.middle"

# start OPTIONS CLASS: a JVM whose output is in $dir/out.
start() {
	rm -f "$dir/out" # "warm" of the JVM before must not be taken for this one's
	# shellcheck disable=SC2086
	"$java" $1 -cp "$dir" $2 900 >"$dir/out" 2>"$dir/err" &
	pid=$!
	wait_for grep -q warm "$dir/out"
}
stop() {
	kill $pid
	wait $pid 2>/dev/null
	pid=
}
snap() { "$BUILD/tools/snapfrom" $pid "$1.snap" >"$1.result" && "$BUILD/tools/snapdump" "$1.snap" >"$1"; }
head_field() { sed -n "s/^head .*\b$2=\([^ ]*\).*/\1/p" "$1"; }
end_field() { sed -n "s/^end .*\b$2=\([^ ]*\).*/\1/p" "$1"; }
# address, size, kind and name of all code, without regions
codes() { awk '$1 == "code" {print $2, $3, $4, $5, $6}' "$1" | sort; }
# Of lines in two files: how many are in the first alone, of how many.
alone() { echo "$(comm -23 "$1" "$2" | wc -l) $(wc -l <"$1")"; }
# The JIT goes on: at most one in twenty differs, and until it has come to rest both are taken again.
same() {
	local n all
	read -r n all <<<"$(alone "$1" "$2")"
	[ "$all" -gt "${3:-50}" ] && [ $((n * 20)) -le "$all" ] || {
		comm -23 "$1" "$2" | head -n 5
		return 1
	}
}

# A chain of Inlined.outer's C2 code, as names and lines from the leaf outwards.
chains() {
	awk '/^code/ {on = / compiled Inlined\.outer / && / level=4 /} on && $1 == "region"' "$1" |
		sed 's/^ *region [^ ]* //; s/@-*[0-9]*:/:/g' | sort -u
}

inlined() { snap "$dir/s" && chains "$dir/s" | grep -q '^Inlined.inner.*Inlined.middle.*Inlined.outer'; }

test_inlining() {
	start "$inline $1" Inlined || return
	wait_for inlined
	ok "$jvm: a snapshot$2" snap "$dir/s"
	is "$jvm: nothing is skipped$2" "$(end_field "$dir/s" skipped)" 0
	is "$jvm: the release$2" "$(head_field "$dir/s" jdk)" "$feature"
	chains "$dir/s" >"$dir/chains"
	diag "$(cat "$dir/chains")"
	ok "$jvm: all that is compiled into Inlined.outer ends there$2" \
		test -s "$dir/chains" -a "$(grep -vc 'Inlined.outer:[0-9]*$' "$dir/chains")" = 0
	ok "$jvm: inner in middle in outer, at their lines$2" \
		grep -qx 'Inlined.inner:1[01] Inlined.middle:15 Inlined.outer:21' "$dir/chains"
	is "$jvm: no other order$2" \
		"$(grep -cE 'outer.* Inlined|middle.* Inlined.inner' "$dir/chains")" 0
	is "$jvm: whether C2's code tells what is inlined between safepoints$2" \
		"$(grep -c '^code.* compiled .* level=4 .*between' "$dir/s")" \
		"$([ -z "$2" ] && echo 0 || grep -c '^code.* compiled .* level=4 ' "$dir/s")"
	ok "$jvm: source files$2" grep -q '^method [0-9a-f]* Inlined.inner Inlined.java$' "$dir/s"
}

# Each compiled method has a frame, an entry, and a way out.
test_frames() {
	local n prologues exits
	n=$(grep -c '^code .* compiled ' "$dir/s")
	prologues=$(grep '^code .* compiled ' "$dir/s" | grep ' complete=' | grep -c ' sub=')
	exits=$(awk '/^code/ {n += on; on = / compiled /} /^  exit/ {on = 0} END {print n + on}' "$dir/s")
	diag "$n compiled, $prologues prologues, $exits without an exit"
	ok "$jvm: each compiled method has its prologue" test "$n" -gt 20 -a "$prologues" = "$n"
	ok "$jvm: next to all have an exit" test $((exits * 20)) -le "$n"
	is "$jvm: and a deoptimisation handler" \
		"$(grep '^code .* compiled ' "$dir/s" | grep -vc ' deopt=')" 0
	is "$jvm: one interpreter" "$(grep -c '^code .* interpreter ' "$dir/s")" 1
}

# compile id, level, start and end, from either side. HotSpot says where the code ends with the
# address in front of it in some releases, and its text for what is native differs: not compared.
code_list() {
	"$bin/jcmd" $pid Compiler.codelist >"$dir/list" 2>/dev/null
	# JDK 8 has no such command.
	[ "$(wc -l <"$dir/list")" -gt 50 ] || return 0
	snap "$dir/s"
	perl -ne 'print "$1 $2 $4 $3\n" if /^(\d+) (\d) \d (\S+?)\(.*\[0x0*([0-9a-f]+), 0x/' \
		<"$dir/list" | awk '$2 > 0' | sort >"$dir/theirs"
	perl -ne 'print "$4 $3 $1 $2\n" if /^code ([0-9a-f]+) \S+ compiled (\S+) .*level=(\d) id=(\d+)/' \
		<"$dir/s" | sort >"$dir/ours"
	perl -i -ne '@f = split; print "$f[0] $f[1] $f[3]\n"' "$dir/theirs" "$dir/ours"
	sort -o "$dir/theirs" "$dir/theirs"
	sort -o "$dir/ours" "$dir/ours"
	same "$dir/ours" "$dir/theirs" 20 && same "$dir/theirs" "$dir/ours" 20
}
test_codelist() {
	wait_for code_list
	[ "$(wc -l <"$dir/list")" -gt 50 ] || return
	ok "$jvm: HotSpot lists what the snapshot has, at its level" same "$dir/ours" "$dir/theirs" 20
	ok "$jvm: and the snapshot what HotSpot lists" same "$dir/theirs" "$dir/ours" 20
}

# ask NAME: the agent's answer in this file of the share
ask() {
	seq=$((seq + 1))
	echo "dfg1 dump seq=$seq host_pid=$pid out=$1" >"$ctl/new"
	mv "$ctl/new" "$ctl/request.$pid"
	wait_for grep -aq "#dfg1 end seq=$seq " "$share/$1"
}
# Both take a snapshot; whether they are the same.
both_sides() {
	local side
	rm -f "$file"
	fallocate -l 8M "$file"
	ask "${file##*/}"
	tr -d '\0' <"$file" | grep -ao '#dfg1 end .*' >"$dir/trailer"
	"$BUILD/tools/snapdump" "$file" >"$dir/agent" 2>"$dir/complaints"
	snap "$dir/s"
	cp "$dir/s" "$dir/host"
	for side in agent host; do
		codes "$dir/$side" >"$dir/$side.codes"
		grep '^  region' "$dir/$side" | sort -u >"$dir/$side.regions"
		grep '^stub' "$dir/$side" | sort >"$dir/$side.stubs"
	done
	same "$dir/agent.codes" "$dir/host.codes" 200 && same "$dir/agent.regions" "$dir/host.regions" 200 &&
		cmp "$dir/agent.stubs" "$dir/host.stubs"
}
# The agent's map and a snapshot after it have the same code.
map_same() {
	: >"$share/map"
	ask map
	snap "$dir/s"
	awk '/^[0-9a-f]+ [0-9a-f]+ / {print $1, $2}' "$share/map" | sort >"$dir/map.codes"
	codes "$dir/s" | cut -d' ' -f1,2 | sort >"$dir/host.ranges"
	same "$dir/map.codes" "$dir/host.ranges" 200
}

test_agent() {
	local share=$dir/share ctl=$dir/ctl file seq=0
	rm -rf "$share" "$ctl"
	mkdir "$share" "$ctl"
	start "-agentpath:$so=dir=$share,ctl=$ctl,dns=1 -XX:+PreserveFramePointer" Busy || return
	file=$share/java-$pid.snap
	wait_for both_sides
	ok "$jvm: the agent answers" grep -aq "#dfg1 end seq=$seq status=0" "$file"
	diag "$(cat "$dir/trailer")"
	is "$jvm: its records are well-formed" "$(cat "$dir/complaints")" ""
	is "$jvm: the trailer counts them" "$(sed 's/.*entries=\([0-9]*\).*/\1/' "$dir/trailer")" \
		"$(grep -c '^code' "$dir/agent")"
	is "$jvm: and is behind them" "$(tail -c "+$(($(sed 's/.*bytes=\([0-9]*\).*/\1/' "$dir/trailer") + 1))" \
		"$file" | tr -d '\0' | head -c 9)" "#dfg1 end"
	is "$jvm: dns=1 and +PreserveFramePointer show" "$(($(head_field "$dir/agent" flags) & 3))" 3
	ok "$jvm: the same code from outside" same "$dir/agent.codes" "$dir/host.codes" 200
	ok "$jvm: stubs have names" test "$(grep -cE ' (call_stub|libm|dsin|.*arraycopy)' "$dir/host.stubs")" -gt 5
	is "$jvm: the agent finds the same" "$(diff "$dir/agent.stubs" "$dir/host.stubs")" ""
	ok "$jvm: the same regions" same "$dir/agent.regions" "$dir/host.regions" 200
	: >"$share/empty.snap"
	ask empty.snap
	ok "$jvm: a file of no size grows" grep -aq "#dfg1 end seq=$seq status=0" "$share/empty.snap"
	wait_for map_same
	ok "$jvm: any other name is a map" grep -aq "^#dfg1 end seq=$seq status=0" "$share/map"
	ok "$jvm: of the same code" same "$dir/map.codes" "$dir/host.ranges" 200
	test_codelist
	test_frames
	stop
}

# The names Java gave its threads, longer than the kernel's and of any script; from either side.
thread_names() {
	sed -n 's/^thread [0-9]* //p' "$1" |
		grep -E '^(request-handler-number-[12]|short|main|lone-.-half|[^ -~])' | sort | tr '\n' ' '
}
named="lone-?-half main request-handler-number-1 request-handler-number-2 short"
named="$named überlanger-Name-für-einen-Faden 線程-🔥-名前 "
all_named() { snap "$dir/s" && [ "$(thread_names "$dir/s")" = "$named" ]; }
test_threads() {
	local LC_ALL=C.UTF-8 share=$dir/named id
	rm -rf "$share"
	mkdir "$share"
	start "-agentpath:$so=dir=$share,ctl=$share,dns=1 $1" Named || return
	wait_for all_named
	snap "$dir/s"
	is "$jvm: names of threads$2" "$(thread_names "$dir/s")" "$named"
	id=$(sed -n 's/^thread \([0-9]*\) request-handler-number-2$/\1/p' "$dir/s")
	ok "$jvm: they are of this process's threads$2" test -d "/proc/$pid/task/${id:-none}"
	fallocate -l 8M "$share/x.snap"
	echo "dfg1 dump seq=1 host_pid=$pid out=x.snap" >"$share/new"
	mv "$share/new" "$share/request.$pid"
	wait_for grep -aq '#dfg1 end seq=1 status=0' "$share/x.snap"
	"$BUILD/tools/snapdump" "$share/x.snap" >"$dir/agent"
	is "$jvm: by the agent too$2" "$(thread_names "$dir/agent")" "$named"
	stop
}

knows_fib() { snap "$dir/s" && grep -q '^method [0-9a-f]* Busy.fib Busy.java$' "$dir/s"; }
test_interpreted() {
	local with
	start -Xint Busy
	[ -n "$(pgrep -P $$ java)" ] || return
	snap "$dir/s"
	with=$(($(head_field "$dir/s" flags) & 4))
	is "$jvm: -Xint: all methods are known" "$with" 4
	# On a busy machine it may not have begun yet.
	[ $with = 0 ] || ok "$jvm: -Xint: also those that nothing counts" wait_for knows_fib
	is "$jvm: -Xint: no compiled code" "$(grep -c '^code .* compiled ' "$dir/s")" 0
	stop
}

javac --release 8 -g:source,lines -nowarn -d "$dir" "$TOP/tests/java/Busy.java" \
	"$TOP/tests/java/Inlined.java" "$TOP/tests/java/Named.java" >/dev/null 2>&1 || tap_cannot "javac failed"

declare -A seen
for java in ${DFG_TEST_JAVA:-/usr/lib/jvm/*/bin/java}; do
	[ -x "$java" ] || continue
	bin=$(dirname "$java")
	jvm=$("$java" -version 2>&1 | sed -n 's/.*build \([0-9][^ ,)]*\).*/JDK \1/p' | tail -n 1)
	[ -n "${seen[$jvm]}" ] && continue
	seen[$jvm]=1
	feature=$("$java" -version 2>&1 | sed -n 's/.* version "\(1\.\)*\([0-9]*\).*/\2/p')
	test_inlining "" ""
	stop
	test_inlining "-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints" ", DebugNonSafepoints"
	stop
	test_agent
	test_interpreted
	test_threads "" ""
	test_threads -XX:-UseCompressedOops ", plain references"
done
tap_done
