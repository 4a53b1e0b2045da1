#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a recording to folded text and SVG: dfg-trigger --replay against
# perf script | stackcollapse-perf.pl | flamegraph.pl, on the same perf.data and the same names.
#
#	FLAMEGRAPH_DIR=... bench/fold-speed.sh [SESSION]
#
# Without SESSION it makes one (root, perf, a JDK): 30 s of a Java program with frame pointers at
# 999 Hz (DURATION). RUNS (3): the best run of each counts. Leaves its results in OUT (a new
# directory).
set -eu -o pipefail
shopt -s inherit_errexit # a run that fails must not count as a fast one
TOP=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
FLAMEGRAPH_DIR=${FLAMEGRAPH_DIR:?the directory with stackcollapse-perf.pl and flamegraph.pl}
RUNS=${RUNS:-3}
DURATION=${DURATION:-30}
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT/ours"
dfg=$BUILD/bin/dfg-trigger
# needs make BUILD/tools/snapdump
maps=()
cleanup() { [ ${#maps[@]} = 0 ] || rm -f "${maps[@]}"; }
trap cleanup EXIT

record() {
	javac -d "$OUT" "$TOP/bench/Load.java"
	java -XX:+PreserveFramePointer -XX:-UsePerfData -Djava.io.tmpdir="$OUT" -cp "$OUT" Load $((DURATION + 30)) &
	local pid=$!
	sleep 8 # until most of it is compiled
	"$dfg" --pid $pid -F 999 -d "$DURATION" -q --root "$OUT/root" -o "$OUT/recorded" || { kill $pid; exit 1; }
	kill $pid
	wait $pid || :
	# Both sides are to name from the same: the snapshots become maps in text, in place.
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
for pid in $(jq -r '[.maps[].pid] | unique[]' "$session/session.json"); do
	maps+=("/tmp/perf-$pid.map")
	jq -r --argjson pid "$pid" '.maps | sort_by(.order)[] | select(.pid == $pid) | .file' \
		"$session/session.json" |
		(cd "$session/maps" && xargs -d '\n' "$TOP/bench/merge-maps.py") >"/tmp/perf-$pid.map"
done
# ... and the same copies of ELF files, without the debug files of this machine.
jq -r '.elf[] | "\(.path)\t\(.file)"' "$session/session.json" >"$OUT/elfs"
while IFS=$'\t' read -r path file; do
	case $path in /*) install -D -m 644 "$session/elf/$file" "$OUT/symfs$path" ;; esac
done <"$OUT/elfs"

ours() { "$dfg" --replay "$session" -q -f svg,folded -o "$OUT/ours" >/dev/null; }
theirs() {
	perf script -i "$session/perf.data" --kallsyms "$session/kallsyms" --symfs "$OUT/symfs" \
		2>/dev/null >"$OUT/script" &&
		"$FLAMEGRAPH_DIR/stackcollapse-perf.pl" --all <"$OUT/script" >"$OUT/theirs.folded" &&
		"$FLAMEGRAPH_DIR/flamegraph.pl" --color=java <"$OUT/theirs.folded" >"$OUT/theirs.svg" 2>/dev/null
}

# best COMMAND: "wall cpu" in milliseconds of the run of RUNS that took the least processor time (on
# a machine with other work the wall clock says little)
best() {
	local best="" i wall user sys cpu
	for ((i = 0; i < RUNS; i++)); do
		TIMEFORMAT='%3R %3U %3S'
		{ time "$1"; } 2>"$OUT/time" || { cat "$OUT/time" >&2; exit 1; }
		read -r wall user sys < <(tail -n 1 "$OUT/time" | tr -d .)
		cpu=$((10#$user + 10#$sys))
		[ -n "$best" ] && [ "${best#* }" -le $cpu ] || best="$((10#$wall)) $cpu"
	done
	echo "$best"
}

read -r a a_cpu < <(best ours)
read -r b b_cpu < <(best theirs)
# The same without event and period, so that both count samples.
perf script -i "$session/perf.data" --kallsyms "$session/kallsyms" --symfs "$OUT/symfs" \
	-F comm,pid,tid,time,event,ip,sym,dso 2>/dev/null |
	"$FLAMEGRAPH_DIR/stackcollapse-perf.pl" --all >"$OUT/theirs.folded"
echo "session   $session: $(stat -c %s "$session/perf.data") bytes of perf.data"
echo "dfg       $a ms, $a_cpu ms of processor time"
echo "perf+perl $b ms, $b_cpu ms of processor time"
echo "factor    $((b / a)), $((b_cpu / a_cpu)) by processor time"
echo "results   $OUT"
python3 "$TOP/bench/fold-compare.py" "$OUT/ours/flame.folded" "$OUT/theirs.folded"
