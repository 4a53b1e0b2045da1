#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Containers that are at their very beginning, at their end, or hold on to whoever looks at them.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need cc
shop_setup
trap 'kill -9 $stuck $held 2>/dev/null; shop_teardown' EXIT
java_named() { grep -q 'Shop\..*_\[[ji0]\]' "$(json .graphs.folded)"; }

# A JVM in its first moments: no libjvm.so yet, or no code in it.
for delay in 0 0.05 0.15; do
	for seconds in 3 15 60; do # on a busy machine it has not done anything in 3 s
		id=young-$delay-$seconds
		shop_create "$id" -XX:+UseSerialGC
		sleep $delay
		trigger -q -d $seconds -F 199 -f folded "$id"
		! java_named || break
		[ $seconds = 60 ] || shop_stop "$id"
	done
	is "started $delay s before" "$status" 0
	is "  its JVM was found" "$(json '.jvms | length')" 1
	ok "  its code has names" java_named
	is "  it lives" "$(bundle_pid "$id" | xargs ps -o comm= -p)" java
	is "  it has printed nothing" "$(cat "$SHOP/$id/log")" ""
	shop_stop "$id"
done

# Gone when the recording has ended, and before anything else is asked: perf, with a kill after it.
gone() {
	local id=gone-$1 pid perf
	shop_start "$id" || return
	pid=$(bundle_pid "$id") perf=$(command -v perf)
	mkdir -p "$SHOP/gone"
	cp "$(readlink -f "$perf")" "$SHOP/gone/perf"
	cat >"$SHOP/gone/shot" <<-END
		#!/bin/sh
		exec 3<&0 # of what runs in the background stdin is /dev/null: perf's answers go through it
		$SHOP/gone/perf "\$@" <&3 & perf=\$!
		trap 'kill -INT \$perf' INT
		wait \$perf
		wait \$perf
		kill -9 $pid
	END
	chmod +x "$SHOP/gone/shot"
	unshare -m sh -c "mount --bind $SHOP/gone/shot $perf && exec \"$DFG\" -q --json -d $1 -F 199 -f folded $id" \
		>"$SHOP/out" 2>"$SHOP/err"
	status=$?
	[ ! -d "/proc/$pid" ] || echo "it lives" >>"$SHOP/err"
	return $status
}
gone 2 && java_named || gone 20
is "a container that ends with the recording (case 48)" "$status" 0
ok "  its code has names" java_named
ok "  one line says so at most" test "$(wc -l <"$SHOP/err")" -le 1

# Files and memory that are on a file system whose server answers nothing, and memory that a
# userfaultfd withholds.
mkdir "$SHOP/stuck" "$SHOP/held"
mount -t tmpfs held "$SHOP/held"
cc -O1 -o "$SHOP/stuckfs" tests/e2e/record/stuckfs.c
cc -O1 -o "$SHOP/stuckmem" tests/e2e/record/stuckmem.c
"$SHOP/stuckfs" "$SHOP/stuck" >"$SHOP/ready" & stuck=$!
"$SHOP/stuckmem" "$SHOP/held/libjvm.so" >"$SHOP/ready2" & held=$!
wait_for test -s "$SHOP/ready" -a -s "$SHOP/ready2"
trigger -q -d 2 -F 199 -f folded --pid "$stuck" "$held" & trigger=$!
# The children that read their memory wait by now, and can do nothing else: a user that owns nothing,
# the capability to read other processes' memory, no system call that makes use of it for others.
children() { pgrep -d , -P "${1:-0}"; }
find_readers() {
	readers=$(awk '/^Pid:/ {pid = $2} /^CapEff:.*80000$/ {cap = 1} /^Seccomp:/ {if (cap && $2 == 2) print pid; cap = 0}' \
		/proc/[0-9]*/status 2>/dev/null | grep -vxF "${old:-none}")
	[ "$(wc -w <<<"$readers")" = 2 ]
}
ok "processes whose memory does not answer are read (case 47)" wait_for find_readers
find_readers
for pid in $readers; do
	is "  by one without rights" "$(awk '/^(Uid|CapEff|NoNewPrivs|Seccomp):/ {print $2}' "/proc/$pid/status" | paste -sd ' ')" \
		"$((2100000000 + pid)) 0000000000080000 1 2"
	is "  that holds what it needs" "$(find "/proc/$pid/fd" -type l -printf '%l\n' | sed 's/:.*//; s/.*[/.]//' | sort | paste -sd ' ')" \
		"mem mem null null null snap socket socket"
done
wait $trigger
is "the recording is made all the same" $? 0
of() { jq -r --arg p "pid-$1" ".recordings[] | select(.container.id == \$p) | $2" "$SHOP/out"; }
for pid in $stuck $held; do
	ok "$pid is in the graph" test "$(of "$pid" .samples)" -gt 0
	is "  its names cannot be had, which is said once" "$(grep -c "code of $pid: .*\(too long\|stopped after\)" "$SHOP/err")" 1
	ok "  it lives" kill -0 "$pid"
done
is "  nor can the one's files" "$(grep -c "files of process $stuck cannot be read.*stopped after" "$SHOP/err")" 1
is "  and that is all" "$(wc -l <"$SHOP/err")" 3
diag "$(cat "$SHOP/err")"

# Case 95: ^C ends the wait for their memory, long before its limit.
old=$readers
trigger -q -d 2 --pid "$stuck" "$held" & trigger=$!
ok "the same again" wait_for find_readers
readers="$readers $old"
kill -INT "$(children $trigger)"
wait $trigger
is "  interrupted while it waits: nothing is recorded" $? 1
is "  which is all it says" "$(cat "$SHOP/err")" "dfg-trigger: prepare the recording: Interrupted system call"
kill -9 $stuck $held
# One that a file system holds ends when that lets it.
for pid in $readers; do
	ok "a reader is gone" wait_for test ! -d "/proc/$pid"
done
umount -l "$SHOP/stuck"
tap_done
