#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What many, large and long cost dfg-trigger: time, memory, descriptors.
#
#	bench/scale.sh [jvms|methods|long]...      default: all
#
# jvms     JVMS (50) in CONTAINERS (20) runc containers, one --all run of DURATION (10) seconds at HZ (99): for its
#          times, and again for memory and descriptors. Each JVM rests REST (0) ms after 100 requests, and has
#          2.5 % of a processor.
# methods  a JVM with CLASSES (4000) classes of 25 compiled methods, read by the host, then by an agent;
#          what the agent adds to the JVM's memory (RssAnon, looked at fifty times a second)
# long     LONG (600) seconds of two busy threads at LONG_HZ (999)
#
# Root, runc, perf, java, bpftool. Memory is the highest sum of proportional sizes (Pss) of dfg-trigger and its
# children (perf among them) and of the BPF maps, looked at five times a second; descriptors are those of
# dfg-trigger alone. Ready: from the start of the command until the lists with which a recording begins are
# written.
cd "$(dirname "$0")/.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
shop_setup
trap 'kill $work 2>/dev/null; shop_teardown' EXIT
[ $# -gt 0 ] || set -- jvms methods long

# Resident KiB of a process and all below it; what several share counts once. The kernel's tables of walks count
# as the kernel has them, not as processes map them.
resident() {
	local below maps
	below=$(ps -e -o pid=,ppid= | awk -v top="$1" '{parent[$1] = $2}
		END {for (p in parent) {for (q = p; q && q != top;) q = parent[q]; if (q == top) print p}}')
	maps=$(bpftool map show 2>/dev/null | awk '/memlock/ {for (i = 1; i < NF; i++) if ($i == "memlock") sum += $(i + 1)}
		END {print int(sum / 1024)}')
	# shellcheck disable=SC2046 # a file for each; one cat, so that a look is over before much has changed
	cat $(printf '/proc/%s/smaps ' $below) 2>/dev/null | awk -v maps="${maps:-0}" '
		/^[0-9a-f]+-/ {table = /bpf-map/} /^Pss:/ && !table {sum += $2} END {print sum + maps}'
}
row() { printf '%-34s %s\n' "$@"; }

# look_at PID: its memory and descriptors, into `most` and `files`; takes half a processor with 50 JVMs
look_at() {
	local now
	now=$(resident "$1")
	[ "$now" -le $most ] || most=$now
	now=$(find "/proc/$1/fd" 2>/dev/null | wc -l)
	[ "$now" -le $files ] || files=$now
}
# measured ARG…: dfg-trigger, and what it took
measured() {
	local began ready most=0 files=0 pid
	touch "$SHOP/began"
	began=$(date +%s%3N)
	ready=
	"$DFG" --json -q -f folded "$@" >"$SHOP/out" 2>"$SHOP/err" & pid=$!
	while kill -0 $pid 2>/dev/null; do
		[ -n "${times_only:-}" ] || look_at $pid
		[ -n "$ready" ] || [ -z "$(find "$DFG_ROOT" -name perf.data -newer "$SHOP/began" -size +2k)" ] || ready=$(date +%s%3N)
		sleep 0.2
	done
	wait $pid
	row "exit status" $?
	row "time of the whole command, ms" $(($(date +%s%3N) - began))
	row "ready, ms" $((ready - began))
	[ -n "${times_only:-}" ] || { row "memory, MiB" $((most / 1024)); row "descriptors" $files; }
	row "on disk, MiB" "$(du -sm "$DFG_ROOT/containers" | cut -f1)"
	jq -r '(.recordings // [.]) as $r | ($r | map(.jvms[])) as $j | [
		["recordings", ($r | length)], ["JVMs with names", ($j | map(select(.source != "none")) | length)],
		["methods, most", ($j | map(.methods) | max)],
		["snapshot, ms (median, most)", ($j | map(.dump_ms) | sort | "\(.[length / 2 | floor]), \(.[-1])")],
		["recorder; copied, most", "\($r[0].recorder); \($r | map(.fallback) | max)"],
		["samples", ($r | map(.samples) | add)], ["lost", ($r | map(.lost) | add)],
		["complete, least", ($r | map(select(.java_samples > 0).complete) | min)],
		["stale, most", ($r | map(.stale) | max)],
		["recording ended -> pictures, ms", ($r | map(.post_ms) | max)]
	][] | map(tostring) | @tsv' "$SHOP/out" | while IFS=$'\t' read -r k v; do row "$k" "$v"; done
	cat "$SHOP/err"
}

jvms() {
	local n=${JVMS:-50} c=${CONTAINERS:-20} i k
	local script='for i in $(seq $N); do "$@" & done; wait'
	for i in $(seq "$c"); do
		k=$((n / c + (i <= n % c)))
		SHOP_MAIN="Shop 1 ${REST:-0}" SHOP_JQ=".process.args = [\"/bin/sh\", \"-c\", $(jq -n --arg s "${script/\$N/$k}" '$s'), \"sh\"] + .process.args
			| .linux.resources.cpu = {quota: $((k * 2500)), period: 100000}" \
			shop_create "scale$$-$i" -Xmx32m -XX:+UseSerialGC -XX:TieredStopAtLevel=1
	done
	sleep "${WARM:-60}"
	times_only=1 measured -d "${DURATION:-10}" -F "${HZ:-99}" --all
	measured -d "${DURATION:-10}" -F "${HZ:-99}" --all
	for i in $(seq "$c"); do shop_stop "scale$$-$i"; done
}

anon() { awk '/^RssAnon/ {print $2}' "/proc/$1/status"; }
# The highest so far in $SHOP/anon, until the process or the file is gone.
watch_anon() {
	local most=0 key now
	echo 0 >"$SHOP/anon"
	while [ -e "$SHOP/anon" ]; do
		while read -r key now _; do
			if [ "$key" = RssAnon: ] && [ "$now" -gt $most ]; then echo $((most = now)) >"$SHOP/anon"; fi
		done 2>/dev/null <"/proc/$1/status" || return
		sleep 0.02
	done
}

methods() {
	local id=methods$$ jvm before
	javac -nowarn -d "$SHOP/app" tests/java/ManyMethods.java
	SHOP_MAIN="ManyMethods ${CLASSES:-4000} 1200" shop_create $id -XX:TieredStopAtLevel=1 \
		-XX:ReservedCodeCacheSize=512m -Xmx2g -Xbatch || return
	jvm=$(bundle_pid $id)
	until grep -q ready "$SHOP/$id/log"; do [ -d "/proc/$jvm" ] || return; sleep 1; done
	echo "-- by the host"
	measured -d 5 -F 99 --source host $id
	echo "-- by an agent"
	bundle_exec $id "$(dirname "$JAVA")/jcmd" 1 VM.version >/dev/null # the JVM's own part of attaching
	before=$(anon "$jvm")
	watch_anon "$jvm" & work=$!
	measured -d 5 -F 99 --source agent $id
	row "the agent: memory at most, KiB" $(($(cat "$SHOP/anon") - before))
	rm "$SHOP/anon"
	sleep 40 # it remembers its snapshots for half a minute
	row "the agent: memory idle, KiB" $(($(anon "$jvm") - before))
	shop_stop $id
}

long() {
	java -Xmx256m -cp "$SHOP/app" Shop 2 & work=$!
	sleep 3
	measured -d "${LONG:-600}" -F "${LONG_HZ:-999}" --pid $work
	kill $work
}

for part; do
	case $part in jvms | methods | long) echo "== $part" && $part ;; *) echo "no part \"$part\"" >&2 && exit 2 ;; esac
done
