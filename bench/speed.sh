#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a recording to folded text and SVG, side by side on the same perf.data and the same names:
#
#	dfg      dfg-trigger --replay
#	perl     perf script | stackcollapse-perf.pl | flamegraph.pl
#	inferno  perf script | inferno-collapse-perf | inferno-flamegraph
#
#	FLAMEGRAPH_DIR=... [INFERNO_DIR=...] bench/speed.sh [SESSION]
#
# FLAMEGRAPH_DIR: a clone of github.com/brendangregg/FlameGraph. INFERNO_DIR: inferno's programs;
# bench/inferno.sh builds them; without it that line is left out.
# Without SESSION it makes one (root, perf, a JDK): a Java program with frame pointers until there
# are about SAMPLES (50000). RUNS (3): the best run of each counts. Leaves its results in OUT (a new
# directory). Goals: 60 times perl, 15 times inferno.
set -eu -o pipefail
shopt -s inherit_errexit # a run that fails must not count as a fast one
TOP=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
FLAMEGRAPH_DIR=${FLAMEGRAPH_DIR:?the directory with stackcollapse-perf.pl and flamegraph.pl}
INFERNO_DIR=${INFERNO_DIR:-}
RUNS=${RUNS:-3}
SAMPLES=${SAMPLES:-50000}
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT/ours"
dfg=$BUILD/bin/dfg-trigger
# needs make BUILD/tools/snapdump
maps=()
pid=
cleanup() {
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || :
	[ ${#maps[@]} = 0 ] || rm -f "${maps[@]}"
}
trap cleanup EXIT

# Two threads compute: at 999 Hz on free processors it takes a second for each 2000 samples.
record() {
	javac -nowarn -d "$OUT" "$TOP/bench/Load.java"
	java -XX:+PreserveFramePointer -XX:-UsePerfData -Djava.io.tmpdir="$OUT" -cp "$OUT" Load 3600 >/dev/null 2>&1 &
	pid=$!
	sleep 8 # until most of it is compiled
	"$dfg" --keep-stacks --pid $pid -F 999 -d $((SAMPLES / 2000)) -q --root "$OUT/root" -o "$OUT/recorded"
	kill -9 $pid
	wait $pid 2>/dev/null || :
	pid=
	# All are to name from the same: the snapshots become maps in text, in place, and there are no
	# debug files, which perf would not find.
	rm -f "$OUT"/recorded/session/elf/*.debug
	for f in "$OUT"/recorded/session/maps/*; do
		"$BUILD/tools/snapdump" "$f" | sed -n "s/^code \\([0-9a-f]* [0-9a-f]*\\) [a-z]* \\(.*\\) frame=.*/\\1 \\2/p" |
			tr -d "'" >"$f.text"
		mv "$f.text" "$f"
	done
}

if [ $# -gt 0 ]; then
	session=$1
else
	record
	session=$OUT/recorded/session
fi

# perf takes names of compiled code from /tmp/perf-PID.map: all snapshots of a process, as dfg uses
# them.
for jvm in $(jq -r '[.maps[].pid] | unique[]' "$session/session.json"); do
	maps+=("/tmp/perf-$jvm.map")
	jq -r --argjson pid "$jvm" '.maps | sort_by(.order)[] | select(.pid == $pid) | .file' \
		"$session/session.json" |
		(cd "$session/maps" && xargs -d '\n' "$TOP/bench/merge-maps.py") >"/tmp/perf-$jvm.map"
done
# ... and the same copies of ELF files.
jq -r '.elf[] | "\(.path)\t\(.file)"' "$session/session.json" >"$OUT/elfs"
while IFS=$'\t' read -r path file; do
	case $path in /*) install -D -m 644 "$session/elf/$file" "$OUT/symfs$path" ;; esac
done <"$OUT/elfs"

script() {
	perf script -i "$session/perf.data" --kallsyms "$session/kallsyms" --symfs "$OUT/symfs" "$@" 2>/dev/null
}

dfg() { "$dfg" --replay "$session" -q -f svg,folded -o "$OUT/ours" >/dev/null; }
perl() {
	script | "$FLAMEGRAPH_DIR/stackcollapse-perf.pl" --all >"$OUT/perl.folded" &&
		"$FLAMEGRAPH_DIR/flamegraph.pl" --color=java <"$OUT/perl.folded" >"$OUT/perl.svg" 2>/dev/null
}
inferno() {
	script | "$INFERNO_DIR/inferno-collapse-perf" --all >"$OUT/inferno.folded" &&
		"$INFERNO_DIR/inferno-flamegraph" --colors java <"$OUT/inferno.folded" >"$OUT/inferno.svg" 2>/dev/null
}

# best COMMAND: "wall cpu" in milliseconds of the run of RUNS that took the least processor time (on
# a machine with other work the wall clock says little)
best() {
	local best="" i wall user sys cpu
	for ((i = 0; i < RUNS; i++)); do
		# To replace a large file costs more than to write it (ext4 flushes the new one).
		if [ "$1" = dfg ]; then rm -f "$OUT/ours"/*; else rm -f "$OUT/$1".*; fi
		TIMEFORMAT='%3R %3U %3S'
		{ time "$1"; } 2>"$OUT/time" || { cat "$OUT/time" >&2; exit 1; }
		read -r wall user sys < <(tail -n 1 "$OUT/time" | tr -d .)
		cpu=$((10#$user + 10#$sys))
		[ -n "$best" ] && [ "${best#* }" -le $cpu ] || best="$((10#$wall)) $cpu"
	done
	echo "$best"
}

ours=$(best dfg)
samples=$(awk '{n += $NF} END {print n}' "$OUT/ours/flame.folded")
echo "$samples samples, $(stat -c %s "$session/perf.data") bytes of perf.data; load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs"
printf '%-8s %9s %9s %14s %14s\n' "" wall_ms cpu_ms times_by_wall times_by_cpu
for what in dfg perl ${INFERNO_DIR:+inferno}; do
	took=$ours
	[ "$what" = dfg ] || took=$(best "$what")
	awk -v what="$what" -v ours="$ours" -v took="$took" 'BEGIN {
		split(ours, a); split(took, b)
		printf "%-8s %9d %9d %14.1f %14.1f\n", what, b[1], b[2], b[1] / a[1], b[2] / a[2] }'
done
echo "results in $OUT; how many samples have the same stack there:"
# Without event and period, so that both count samples.
script -F comm,pid,tid,time,event,ip,sym,dso | "$FLAMEGRAPH_DIR/stackcollapse-perf.pl" --all >"$OUT/theirs.folded"
"$TOP/bench/fold-compare.py" "$OUT/ours/flame.folded" "$OUT/theirs.folded"
