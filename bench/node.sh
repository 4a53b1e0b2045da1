#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `kubectl dfg trigger` costs a node, apart from what it costs the JVMs (bench/overhead.sh): the recording as
# the plugin asks for it, of a JVM that keeps two processors busy. Bytes of the session and of the profile that is
# fetched, and processor time of all of dfg's processes, perf among them. Then the same is merged as if COUNT
# nodes had sent it.
#
#	bench/node.sh
#
# Root, perf, a JDK, python3.	DURATION (30)  HZ (99)  COUNT (1000)  JAVA (java)
set -eu -o pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build} DURATION=${DURATION:-30} HZ=${HZ:-99} COUNT=${COUNT:-1000} JAVA=${JAVA:-java}
DIR=$(mktemp -d /tmp/dfg-node.XXXXXX)
pid=
trap 'set +e; [ -z "$pid" ] || kill "$pid"; rm -rf "$DIR"' EXIT

# measured COMMAND…: processor time (s), clock (s), highest resident size of a process (MiB)
measured() {
	python3 -c 'import resource, subprocess, sys, time
began = time.time()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%6.2f s processor, %6.1f s, %4.0f MiB" % (used.ru_utime + used.ru_stime, time.time() - began, used.ru_maxrss / 1024))' "$@"
}
bytes() { du -bsc "$@" | awk 'END {printf "%.3f MB", $1 / 1e6}'; }

# node NAME SOURCE.java ARG…
node() {
	local name=$1 source=$2 main i by
	shift 2
	main=$(basename "$source" .java)
	"${JAVA}c" -d "$DIR/classes" "$source"
	(cd "$DIR/classes" && exec "$JAVA" -Djava.io.tmpdir="$DIR" -Xmx512m -cp . "$main" "$@") >/dev/null 2>&1 &
	pid=$!
	sleep 10
	echo "$name: $(measured "$BUILD/bin/dfg-trigger" -q --keep-stacks --root "$DIR/root" --source host -d "$DURATION" -F "$HZ" \
		-f pprof --json -o "$DIR/$name" --pid "$pid")"
	kill "$pid"
	wait "$pid" 2>/dev/null || :
	pid=
	echo "  session $(bytes "$DIR/$name/session"), of it perf.data $(bytes "$DIR/$name/session/perf.data"), fetched $(bytes "$DIR/$name/flame.pb.gz")"
	mkdir "$DIR/$name/nodes"
	for i in $(seq "$COUNT"); do cp "$DIR/$name/flame.pb.gz" "$DIR/$name/nodes/$i.pb.gz"; done
	for by in container,thread none; do
		echo "  $COUNT of them merged, --by $by: $(printf '%s\n' "$DIR/$name"/nodes/* |
			measured "$BUILD/bin/dfg-merge" -q --by "$by" -f svg,html,folded -o "$DIR/out" -)"
	done
}

echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs; $DURATION s at $HZ Hz"
mkdir "$DIR/classes"
node shop examples/demo/Shop.java 2
node javac bench/Load.java 3600
