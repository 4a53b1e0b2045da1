#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# box.sh PROGRAM [ARG...]: the first process of the pid and mount namespace in which tap.sh runs a program of
# tests/e2e, so that programs do not meet: process ids, mounts, /tmp and /dev/shm are its own, and $BOX is a name
# that no other one has. Ends it after BOX_SECONDS (1800), and kills whatever it has left. Its control groups are
# those with $BOX in their paths.
keep=("$(cd "$(dirname "$0")/../.." && pwd -P)" "$BUILD" "${DFG_JDK_ROOTS:-}") # where they are below /tmp
exec 9</tmp
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=1777 shm /dev/shm
for d in "${keep[@]}"; do
	case $d in /tmp/*) mkdir -p "$d" && mount -c --rbind "/proc/self/fd/9/${d#/tmp/}" "$d" ;; esac
done
exec 9<&-
unset TMPDIR

finish() {
	trap '' INT TERM
	kill -KILL -1 2>/dev/null # all but this one
	for _ in $(seq 100); do
		[ "$(echo /proc/[0-9]*)" != /proc/1 ] || break
		sleep 0.1
	done
	find /sys/fs/cgroup -depth -type d -path "*/$BOX*" -exec rmdir {} + 2>/dev/null
	exit "$1"
}
trap 'finish 143' INT TERM
: "${BOX_SECONDS:=1800}"
timeout -k 30 "$BOX_SECONDS" bash "$@" &
wait $!
status=$?
case $status in 124 | 137) echo "not ok - the program ends within $BOX_SECONDS s" ;; esac
finish $status
