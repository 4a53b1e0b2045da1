#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A JVM whose code comes and goes is watched, from outside and by the agent: the whole snapshot and the
# deltas after it amount to what a snapshot says that is taken when the JVM is quiet.
# JVMs: those in /usr/lib/jvm, one of each version; others by DFG_TEST_JAVA="/path/bin/java ...".
. "$(dirname "$0")/../../lib/tap.sh"
need_root
need java javac fallocate

so=$BUILD/payload/libdfg-agent.so
tools=$BUILD/tools
[ -f "$so" ] && [ -x "$tools/snapapply" ] || tap_cannot "no $so, or no $tools/snapapply"
dir=$(mktemp -d)
share=$dir/share
ctl=$dir/ctl
pid=
trap '[ -n "$pid" ] && kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT

start() {
	# "churns" of the JVM before must not be taken for this one's.
	rm -rf "$share" "$ctl" "$dir/stop" "$dir/out"
	mkdir "$share" "$ctl"
	"$1" -agentpath:"$so"=dir="$share",ctl="$ctl" -cp "$dir" Passing "$dir/stop" 900 >"$dir/out" 2>"$dir/err" &
	pid=$!
	wait_for grep -q churns "$dir/out"
}
settle() {
	touch "$dir/stop"
	wait_for grep -q quiet "$dir/out"
	wait_for rests
}
# code FILE: what of a snapshot can be compared. Not what HotSpot patches in code that stays: the entry of what
# was made not entrant, and calls.
code() {
	"$tools/snapdump" "$1" 2>"$dir/wrong" >"$1.text" || { cat "$dir/wrong" && return 1; }
	grep -vE '^(head|end|method|thread|stub|  call)' "$1.text" | sed -E 's/ (push|sub)=[0-9]+//g'
	# Stubs come in no order, and a delta repeats those of vtables when one is new.
	grep '^stub' "$1.text" | sort -u
}
# The compiler has nothing left to do.
rests() {
	"$tools/snapfrom" $pid "$dir/one" && sleep 0.5 && "$tools/snapfrom" $pid "$dir/two" &&
		code "$dir/one" >"$dir/one.code" && code "$dir/two" >"$dir/two.code" && cmp "$dir/one.code" "$dir/two.code"
}
# The series in $1, applied, and a fresh snapshot.
same_as_fresh() {
	"$tools/snapapply" "$1" "$dir/applied" && "$tools/snapfrom" $pid "$dir/fresh" >/dev/null || return 1
	code "$dir/applied" >"$dir/applied.code" && code "$dir/fresh" >"$dir/fresh.code" || return
	diff "$dir/applied.code" "$dir/fresh.code" | head -n 20
	cmp "$dir/applied.code" "$dir/fresh.code"
}
# enough FILE: deltas in which code came and went
enough() {
	"$tools/snapdump" "$1" >"$dir/so-far" 2>/dev/null
	[ "$(grep -c '^head' "$dir/so-far")" -gt 8 ] && [ "$(grep -c '^code.*Passing\$Victim' "$dir/so-far")" -gt 4 ] &&
		grep -q '^gone' "$dir/so-far"
}
check() {
	local by=$1 file=$2

	ok "$jvm: $by: its records" "$tools/snapdump" "$file"
	"$tools/snapdump" "$file" >"$dir/text"
	ok "$jvm: $by: several deltas" test "$(grep -c '^head' "$dir/text")" -gt 4
	is "$jvm: $by: one whole snapshot, the first" \
		"$(sed -n 's/^head flags=\([0-9]*\).*/\1/p' "$dir/text" | awk '{print int($1 / 8) % 2}' | uniq | tr -d '\n')" 01
	ok "$jvm: $by: code that comes" test "$(grep -c '^code.*Passing\$Victim' "$dir/text")" -gt 4
	ok "$jvm: $by: code that goes" grep -q '^gone' "$dir/text"
	is "$jvm: $by: times in order" \
		"$(grep -oE '^(head|end).* time=[0-9]+' "$dir/text" | sed 's/.*=//' | sort -nc 2>&1)" ""
	ok "$jvm: $by: all of it is what a fresh snapshot says" same_as_fresh "$file"
}

from_outside() {
	local watch

	start "$1"
	mkfifo "$dir/fifo"
	"$tools/snapfrom" $pid "$dir/series" 100 <"$dir/fifo" >"$dir/log" &
	watch=$!
	exec 9>"$dir/fifo"
	wait_for enough "$dir/series"
	settle
	exec 9>&-
	wait $watch
	is "$jvm: from outside" $? 0
	rm "$dir/fifo"
	check "from outside" "$dir/series"
	kill $pid
	wait $pid 2>/dev/null
}

trailer() { tr -d '\0' <"$1" | tail -c 200 | grep -ao '#dfg1 end.*'; }
field() { trailer "$1" | sed -n "s/.* $2=\([0-9]*\).*/\1/p"; }
# ask NAME WORDS: a request, and its answer after the others.
ask() {
	seq=$((seq + 1))
	fallocate -l 1M "$share/$1"
	echo "dfg1 dump seq=$seq host_pid=$pid out=$1$2" >"$ctl/new"
	mv "$ctl/new" "$ctl/request.$pid"
	wait_for trailer "$share/$1" || return 1
	head -c "$(field "$share/$1" bytes)" "$share/$1" >>"$dir/series"
}

by_agent() {
	local seq=0

	start "$1"
	: >"$dir/series"
	ask 0.snap " keep=60"
	ok "$jvm: the agent" test $? = 0
	wait_for eval 'sleep 0.2; ask "$seq.snap" " since=$seq keep=60" && enough "$dir/series"'
	settle
	ask last.snap " since=$seq"
	ok "$jvm: the agent, the last one" test $? = 0
	check "by the agent" "$dir/series"
	: >"$dir/series"
	ask again.snap " since=$seq keep=1"
	ok "$jvm: forgotten: a whole one again" grep -q '^head flags=[0-7] ' <("$tools/snapdump" "$dir/series")
	sleep 1.5
	: >"$dir/series"
	ask late.snap " since=$seq"
	ok "$jvm: remembered for a second: a whole one after it" \
		grep -q '^head flags=[0-7] ' <("$tools/snapdump" "$dir/series")
	is "$jvm: nothing was printed" "$(cat "$dir/out" "$dir/err")" "churns
quiet"
	kill $pid
	wait $pid 2>/dev/null
	pid=
}

javac -nowarn --release 8 -d "$dir" "$TOP/tests/java/Passing.java" 2>/dev/null || tap_cannot "javac failed"
declare -A seen
for java in ${DFG_TEST_JAVA:-/usr/lib/jvm/*/bin/java}; do
	[ -x "$java" ] || continue
	jvm=$("$java" -version 2>&1 | sed -n 's/.*build \([0-9][^ ,)]*\).*/JDK \1/p' | tail -n 1)
	[ -n "${seen[$jvm]}" ] && continue
	seen[$jvm]=1
	from_outside "$java"
	by_agent "$java"
done
tap_done
