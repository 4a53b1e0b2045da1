#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What dfg-top costs, and whether it stays as it is: bench/top.sh [WINDOWS [PID]]. Without a pid, of
# the demo's Shop, run here. Prints memory and files as they go, and the processor time of dfg-top,
# perf, its readers and watches per second at the end.
. "$(dirname "$0")/../tests/lib/tap.sh"
need_root
windows=${1:-40} pid=${2:-}
dir=$(mktemp -d /tmp/dfg-top.XXXXXX)
trap 'kill $shop 2>/dev/null; rm -rf "$dir"' EXIT
shop=
if [ -z "$pid" ]; then
	javac -d "$dir" "$TOP/examples/demo/Shop.java"
	java -Xmx256m -cp "$dir" Shop 2 >/dev/null &
	pid=$! shop=$!
	sleep 5
fi

# All processes below one, and it.
tree() {
	local p
	echo "$1"
	for p in $(pgrep -P "$1"); do tree "$p"; done
}
resident() { # KiB
	local p sum=0 n
	for p in $(tree "$1"); do
		n=$(awk '/^VmRSS/ {print $2}' "/proc/$p/status" 2>/dev/null)
		sum=$((sum + ${n:-0}))
	done
	echo $sum
}

TIMEFORMAT='%U %S %R'
{ time DFG_ROOT=$dir/root "$BUILD/bin/dfg-top" -n "$windows" --json --pid "$pid" >"$dir/out"; } 2>"$dir/time" &
runner=$!
while kill -0 "$runner" 2>/dev/null; do
	sleep 2
	top=$(pgrep -P "$runner" dfg-top | head -n 1)
	[ -n "$top" ] || continue
	printf 'window %3d   files %8d KiB   resident: dfg-top %6d KiB, with all others %7d KiB\n' \
		"$(wc -l <"$dir/out")" "$(du -sk "$dir/root" | cut -f1)" \
		"$(awk '/^VmRSS/ {print $2}' "/proc/$top/status")" "$(resident "$top")"
done
tail -n 1 "$dir/time" | awk '{printf "%.1f s user, %.1f s system in %.1f s: %.1f %% of a processor\n", $1, $2, $3, ($1 + $2) / $3 * 100}'
jq -s '{samples: map(.samples) | add, seconds: map(.seconds) | add, gap: map(.gap) | add}' -c "$dir/out"
