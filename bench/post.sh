#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What drawing costs when stacks are unwound from copies (--unwind vm).
#
#	bench/post.sh [replay|memory|end|snapshot]...		default: all
#
#	replay    processor time and memory of --replay, to FORMATS (svg,folded), for recordings of
#	          different lengths, and the functions that take it
#	memory    the same for one recording that goes on with the same samples, TIMES (1 8) as long:
#	          what is kept of a recording, apart from the stacks in it
#	end       from the end of a recording of 30 s at 99 Hz to the last picture, and its parts;
#	          what of it is for the page
#	snapshot  how long snapshots of a JVM with many compiled methods take
#
# Root; needs perf, jq, python3, a JDK; tools/snapfrom of the build for snapshots by the host.
#	LENGTHS  seconds of the recordings (10 30 60)      STACK  bytes (16384)
#	HZ       (999)        RUNS  the best one counts (3)       JAVA  (java)
#	CPU      the processor that "replay" runs on, for figures per core (any, several at once)
# "memory" is the highest RssAnon of any of its processes: what it has beside the mapping of the
# recording, which the kernel takes back when it wants. Goal: does not grow with the recording.
set -eu -o pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
[ $# -gt 0 ] || set -- replay memory end snapshot
JAVA=${JAVA:-java} STACK=${STACK:-16384} HZ=${HZ:-999} RUNS=${RUNS:-3}
FORMATS=${FORMATS:-svg,folded}
read -ra LENGTHS <<<"${LENGTHS:-10 30 60}"
DFG=$BUILD/bin/dfg-trigger
DIR=$(mktemp -d /tmp/dfg-post.XXXXXX)
pid=
cleanup() {
	set +e # all of it, whatever fails
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || :
	"$BUILD/libexec/dfg-hook" --release --root "$DIR/root" >/dev/null 2>&1 || :
	awk -v d="$DIR/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r umount -l
	rm -rf "$DIR"
}
trap cleanup EXIT

# measured COMMAND...: "processor-ms wall-ms peak-anonymous-KiB" of it and its children
measured() {
	python3 - "$@" <<'END'
import resource, subprocess, sys, time


def family(pid):
    yield pid
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            for child in f.read().split():
                yield from family(int(child))
    except OSError:
        pass


def anonymous(pid):
    try:
        with open(f"/proc/{pid}/status") as f:
            return next((int(x.split()[1]) for x in f if x.startswith("RssAnon")), 0)
    except OSError:
        return 0


started, peak = time.monotonic(), 0
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
while p.poll() is None:
    peak = max([peak] + [anonymous(x) for x in family(p.pid)])
    time.sleep(0.005)
wall = time.monotonic() - started
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round(1000 * (used.ru_utime + used.ru_stime)), round(1000 * wall), peak)
sys.exit(p.returncode)
END
}

# Two threads that compute
load() {
	javac -nowarn -d "$DIR" bench/Load.java
	"$JAVA" -Djava.io.tmpdir="$DIR" -cp "$DIR" Load 3600 >/dev/null 2>&1 &
	pid=$!
	sleep 12
}

unload() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null || :
	pid=
}

# record SECONDS HZ: the session in $DIR/out, the summary in $DIR/json; the load stands still
record() {
	kill -CONT "$pid"
	rm -rf "$DIR/out"
	"$DFG" --json -q --keep-stacks --pid "$pid" --unwind vm --stack "$STACK" --source host -F "$2" -d "$1" \
		--root "$DIR/root" -o "$DIR/out" >"$DIR/json"
	kill -STOP "$pid"
}

# draw TITLE SAMPLES: a line of the table on $DIR/out
draw() {
	local i cpu wall anon best_cpu="" best_wall best_anon
	rm -rf "$DIR/again"
	mkdir "$DIR/again"
	for ((i = 0; i < RUNS; i++)); do
		read -r cpu wall anon < <(measured ${CPU:+taskset -c "$CPU"} "$DFG" --replay "$DIR/out/session" \
			-q -f "$FORMATS" -o "$DIR/again")
		[ -n "$best_cpu" ] && [ "$best_cpu" -le "$cpu" ] ||
			best_cpu=$cpu best_wall=$wall best_anon=$anon
	done
	printf '%8s %8d %8d %8d %8d %10d %12d\n' "$1" \
		$(($(stat -c %s "$DIR/out/session/perf.data") / 1000000)) "$2" "$best_cpu" "$best_wall" \
		$(($2 * 1000 / best_cpu)) "$best_anon"
}

table() {
	printf '%8s %8s %8s %8s %8s %10s %12s\n' "$1" MB samples cpu_ms wall_ms samples/s memory_KiB
}

replay() {
	local seconds
	load
	table seconds
	for seconds in "${LENGTHS[@]}"; do
		record "$seconds" "$HZ"
		draw "$seconds" "$(jq .samples "$DIR/json")"
	done
	perf record -q -e cpu-clock -F 4999 -o "$DIR/perf" -- \
		"$DFG" --replay "$DIR/out/session" -q -f "$FORMATS" -o "$DIR/again" >/dev/null
	perf report -i "$DIR/perf" --stdio --sort dso,sym 2>/dev/null | grep -v '^#' | grep -m 25 .
	unload
}

memory() {
	local times samples
	load
	record 10 "$HZ"
	samples=$(jq .samples "$DIR/json")
	mv "$DIR/out/session/perf.data" "$DIR/once"
	table times
	for times in ${TIMES:-1 8}; do
		bench/longer.py "$DIR/once" "$times" "$DIR/out/session/perf.data"
		draw "$times" $((samples * times))
	done
	unload
}

# drawn FORMATS: milliseconds by the clock
drawn() {
	local i wall best=""
	for ((i = 0; i < RUNS; i++)); do
		read -r _ wall _ < <(measured "$DFG" --replay "$DIR/out/session" -q -f "$1" -o "$DIR/again")
		[ -n "$best" ] && [ "$best" -le "$wall" ] || best=$wall
	done
	echo "$best"
}

end() {
	local all pictures
	load
	record 30 99
	mkdir -p "$DIR/again"
	all=$(drawn svg,html,folded)
	pictures=$(drawn svg,folded)
	jq -r --argjson all "$all" --argjson page $((all - pictures)) \
		'"end of the recording to the last picture: \(.post_ms) ms, " +
		"of it drawing about \($all) ms (\($page) ms for the page), the rest perf, files and the " +
		"last snapshot; \(.samples) samples; the first snapshot, before, took " +
		"\([.jvms[].dump_ms] | add | round) ms"' "$DIR/json"
	unload
}

# 25 methods in each class, compiled one by one.
snapshot() {
	CLASSES=${CLASSES:-640} bench/agent-dump.sh "$JAVA"
}

echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs, Linux $(uname -r), $("$JAVA" -version 2>&1 | tail -n 1)"
for part; do
	case $part in
	replay | memory | end | snapshot) "$part" ;;
	*) echo "post.sh: no part \"$part\"" >&2; exit 2 ;;
	esac
done
echo "load average $(cut -d' ' -f1-3 /proc/loadavg)"
