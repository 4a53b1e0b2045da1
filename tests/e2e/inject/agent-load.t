#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The agent in programs that are no JVM, one for each libc: it loads, it lives, it answers, and it
# says that there are no tables.
. "$(dirname "$0")/../../lib/tap.sh"
need gcc musl-gcc

so=$BUILD/payload/libdfg-agent.so
[ -f "$so" ] || tap_cannot "no $so"
dir=$(mktemp -d)
pid=
trap '[ -n "$pid" ] && kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT

trailer() { tr -d '\0' <"$1" | grep '^#dfg1 end'; }
fields() { trailer "$1" | sed 's/ us=.*//'; }
threads() { cat /proc/$pid/task/*/comm 2>/dev/null | grep -cx dfg-agent; }
agent_tid() { sed -n 's/.* tid=//p' "$dir/share/agent.$pid"; }
sleeps() { local n; n=$(switches) && sleep 0.3 && [ "$(switches)" = "$n" ]; }
switches() { awk '/ctxt/ {n += $2} END {print n}' "/proc/$pid/task/$(agent_tid)/status"; }

for libc in gcc musl-gcc; do
	rm -rf "$dir"/*
	mkdir "$dir/share" "$dir/ctl"
	$libc -o "$dir/load" "$TOP/tests/e2e/inject/agent-load.c" -ldl 2>"$dir/log" ||
		$libc -o "$dir/load" "$TOP/tests/e2e/inject/agent-load.c" || exit 1
	mkfifo "$dir/in"
	: >"$dir/share/loaded"
	at=dir=$dir/share,ctl=$dir/ctl
	"$dir/load" "$so" "$at" "$at,request=seq:1:4711:loaded" - "dir=relative" "signal=9" \
		<"$dir/in" >"$dir/out" 2>"$dir/err" &
	pid=$!
	exec 3>"$dir/in"
	wait_for grep -q pid "$dir/out"
	is "$libc: three loads, two of bad options, errno and mask untouched (case 40)" \
		"$(paste -sd' ' "$dir/out")" "0 0 0 102 102 errno kept mask kept pid $pid"
	ok "$libc: publishes itself" wait_for test -s "$dir/share/agent.$pid"
	is "$libc: the file any host can read" "$(stat -c %a "$dir/share/agent.$pid")" 644
	is "$libc: one thread for three loads" "$(threads)" 1
	ok "$libc: the load with a request is answered" wait_for trailer "$dir/share/loaded"
	is "$libc: there are no tables here" "$(fields "$dir/share/loaded")" \
		"#dfg1 end seq=1 status=1 entries=0 skipped=0 bytes=0"

	: >"$dir/share/by-file"
	echo "dfg1 dump seq=2 host_pid=4711 out=by-file" >"$dir/ctl/new"
	mv "$dir/ctl/new" "$dir/ctl/request.$pid"
	ok "$libc: a request file is answered" wait_for trailer "$dir/share/by-file"
	is "$libc: with its number" "$(fields "$dir/share/by-file" | grep -o 'seq=[0-9]*')" seq=2

	rm "$dir/ctl/request.$pid"
	rmdir "$dir/ctl"
	truncate -s 4096 "$dir/share/perf-815.map"
	signal=$(sed -n 's/.*signal=\([0-9]*\) .*/\1/p' "$dir/share/agent.$pid")
	ok "$libc: the signal is a real-time one that is caught now" perl -e '
		my ($s, $pid) = @ARGV;
		open(my $f, "<", "/proc/$pid/status") or die;
		my ($caught) = map { /^SigCgt:\s*(\S+)/ ? hex $1 : () } <$f>;
		exit !($s >= 36 && $s <= 61 && $caught >> ($s - 1) & 1)' "$signal" "$pid"
	/bin/kill -q 815 -"$signal" "$pid"
	ok "$libc: a signal is answered where no control directory is" \
		wait_for trailer "$dir/share/perf-815.map"
	is "$libc: as number 0" "$(fields "$dir/share/perf-815.map" | grep -o 'seq=[0-9]*')" seq=0

	wait_for sleeps
	before=$(switches)
	sleep 1
	is "$libc: an idle agent does not wake" "$(switches)" "$before"
	ok "$libc: no signal reaches its thread" \
		grep -qi '^SigBlk:.*fffffffffffbfeff' "/proc/$pid/task/$(agent_tid)/status"

	exec 3>&-
	wait $pid
	is "$libc: the program ends as it would" "$? $(tail -n 1 "$dir/out")" "0 end"
	is "$libc: nothing on standard error" "$(cat "$dir/err")" ""
	pid=
done
tap_done
