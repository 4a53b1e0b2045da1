#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What merging many recordings costs: time and memory of dfg-merge, and whether either depends on
# more than what is in them.
#
#	bench/merge.sh [SESSION]
#
# Without SESSION one is recorded: a JVM with many methods, DURATION (5) s at HZ (499), as root. It
# is merged under COUNT (1000) names of containers; and so are COUNT generated folded files, each
# with STACKS (2000) stacks, half of which no other file has. Needs python3, perf, a JDK.
#	RUNS  the best one counts (1)     JAVA  (java)
# "memory" is the highest resident size of any of its processes.
set -eu -o pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
COUNT=${COUNT:-1000} STACKS=${STACKS:-2000} DURATION=${DURATION:-5} HZ=${HZ:-499} RUNS=${RUNS:-1}
JAVA=${JAVA:-java}
DIR=$(mktemp -d /tmp/dfg-merge.XXXXXX)
pid=
trap 'set +e; [ -z "$pid" ] || kill "$pid"; rm -rf "$DIR"' EXIT

record() {
	"${JAVA}c" -d "$DIR/classes" tests/java/Busy.java
	"$JAVA" -cp "$DIR/classes" Busy >/dev/null &
	pid=$!
	sleep 2
	"$BUILD/bin/dfg-trigger" -q --keep-stacks --root "$DIR/root" --source host -d "$DURATION" -F "$HZ" -f folded \
		-o "$DIR/one" --pid "$pid" >/dev/null
	kill "$pid"
	pid=
}

# The same files under many names, each session of its own container.
generate() {
	python3 - "$1" "$DIR" "$COUNT" "$STACKS" <<'END'
import json, os, random, sys
source, to, count, stacks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
session = json.load(open(f'{source}/session.json'))
methods = [f'com.example.shop.Class{i // 10}.method{i % 10}_[j]' for i in range(3000)]
os.makedirs(f'{to}/folded')
for n in range(count):
    there = f'{to}/sessions/{n}'
    for at, _, files in os.walk(source):
        below = os.path.normpath(os.path.join(there, os.path.relpath(at, source)))
        os.makedirs(below, exist_ok=True)
        for f in files:
            if f != 'session.json':
                os.link(os.path.join(at, f), os.path.join(below, f)) if os.stat(at).st_dev == os.stat(to).st_dev \
                    else os.symlink(os.path.join(at, f), os.path.join(below, f))
    session['container'] = {'id': f'{n:064x}', 'name': f'shop-{n}'}
    json.dump(session, open(f'{there}/session.json', 'w'))
    common, own = random.Random(1), random.Random(n)
    with open(f'{to}/folded/{n}.folded', 'w') as f:
        for i in range(stacks):
            r = common if i % 2 else own
            f.write('worker;' + ';'.join(r.choices(methods, k=30)) + f' {r.randint(1, 9)}\n')
END
}

# measured NAME COMMAND...
measured() {
	python3 - "$RUNS" "$@" <<'END'
import os, resource, subprocess, sys, time
runs, name, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
best = None
for _ in range(runs):
    began, used = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    row = (cpu, time.time() - began, now.ru_maxrss)
    best = min(best, row) if best else row
print('%-44s %7.2f s processor %7.2f s %7.0f MiB' % (name, best[0], best[1], best[2] / 1024))
END
}

merge() {
	local name=$1 of=$2
	shift 2
	measured "$name" "$BUILD/bin/dfg-merge" -q -o "$DIR/out" "$@" $(printf "$of " $(seq 0 $((COUNT - 1))))
}

[ $# -gt 0 ] || { mkdir "$DIR/classes"; record; }
generate "${1:-$DIR/one/session}"
merge "$COUNT sessions" "$DIR/sessions/%d"
merge "$COUNT sessions, no containers" "$DIR/sessions/%d" --by none
merge "$COUNT sessions, with times (html)" "$DIR/sessions/%d" -f html
merge "$COUNT folded files, $STACKS stacks each" "$DIR/folded/%d.folded" --by thread
merge "$COUNT folded files, by their names" "$DIR/folded/%d.folded"
