# SPDX-License-Identifier: Apache-2.0
# Runs commands with a perf that is made up (fakeperf.h), as root. Source it after tap.sh.
. "$TOP/tests/lib/container-state.sh"
fakeperf=$BUILD/tools/fakeperf
started=()
declare -A pids # of commands, by name
need python3 unshare
need_root
[ -d /usr/local/sbin ] || tap_cannot "no /usr/local/sbin, where programs are looked for first"
unshare --mount true 2>/dev/null || tap_cannot "no mount namespace"

# Makes $work, which is removed at the end, and a process that is recorded, $target, whose code has
# names; $work/golden is a recording of it.
fakeperf_begin() {
	work=$(mktemp -d)
	trap fakeperf_end EXIT
	export DFG_ROOT=$work/root DFG_HOST=db1 DFG_UNWIND=vm
	sleep 1000 &
	target=$!
	started+=("$target")
	"$fakeperf" make "$target" "$work/golden"
	"$fakeperf" map >"/tmp/perf-$target.map"
}

# A process that looks like a JVM, $jvm, but has no HotSpot in it.
fakeperf_jvm() {
	head -c 4096 /dev/zero >"$work/libjvm.so"
	python3 -c 'import mmap, os, signal, sys
f = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(f, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
open(sys.argv[1] + ".mapped", "w")
signal.pause()' "$work/libjvm.so" &
	jvm=$!
	started+=("$jvm")
	wait_for test -e "$work/libjvm.so.mapped"
}

# fakeperf_container ID PID: a container with this process
fakeperf_container() { container_state "$DFG_ROOT" "$1" "$2" ''; }

# fakeperf_start NAME KIND RECORDING COMMAND…: the command in the background, with a perf of this
# kind (fakeperf.h); its output is in $work/NAME.out and NAME.err
fakeperf_start() {
	local name=$1 bin=$work/bin/$1
	mkdir -p "$bin"
	printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$fakeperf" "$2" "$3" >"$bin/perf"
	chmod 755 "$bin/perf"
	PATH=$BUILD/bin:$PATH unshare --mount sh -c 'mount --bind "$1" /usr/local/sbin && shift && exec "$@"' \
		sh "$bin" "${@:4}" >"$work/$name.out" 2>"$work/$name.err" </dev/null &
	pids[$name]=$!
	started+=("$!")
}

# end_of NAME: waits for the command's $status
end_of() {
	wait "${pids[$1]}"
	status=$?
}

fakeperf_end() {
	kill -KILL "${started[@]}" 2>/dev/null
	wait "${started[@]}" 2>/dev/null
	rm -f "/tmp/perf-$target.map"
	rm -rf "$work"
}
