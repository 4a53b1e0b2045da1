#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Containers that are at their very beginning, at their end, or hold on to whoever looks at them.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
. tests/bundle.sh
. tests/shop.sh
need cc
shop_setup
trap 'kill -9 $stuck 2>/dev/null; shop_teardown' EXIT
java_named() { grep -q 'Shop\..*_\[[ji0]\]' "$(json .graphs.folded)"; }

# A JVM in its first moments: no libjvm.so yet, or no code in it.
for delay in 0 0.05 0.15; do
	id=young$$-$delay
	shop_create "$id" -XX:+UseSerialGC
	sleep $delay
	ok "started $delay s before" trigger -q -d 3 -F 199 -f folded "$id"
	is "  its JVM was found" "$(json '.jvms | length')" 1
	ok "  its code has names" java_named
	is "  it lives" "$(bundle_pid "$id" | xargs ps -o comm= -p)" java
	is "  it has printed nothing" "$(cat "$SHOP/$id/log")" ""
	shop_stop "$id"
done

# Gone when the recording has ended, and before anything else is asked: perf, with a shot behind it.
gone() {
	local id=gone$$ pid perf
	shop_start "$id" || return
	pid=$(bundle_pid "$id") perf=$(command -v perf)
	mkdir -p "$SHOP/gone"
	cp "$(readlink -f "$perf")" "$SHOP/gone/perf"
	cat >"$SHOP/gone/shot" <<-END
		#!/bin/sh
		$SHOP/gone/perf "\$@" & perf=\$!
		trap 'kill -INT \$perf' INT
		wait \$perf
		wait \$perf
		kill -9 $pid
	END
	chmod +x "$SHOP/gone/shot"
	unshare -m sh -c "mount --bind $SHOP/gone/shot $perf && exec \"$DFG\" -q --json -d 2 -F 199 -f folded $id" \
		>"$SHOP/out" 2>"$SHOP/err"
	status=$?
	[ ! -d "/proc/$pid" ] || echo "it lives" >>"$SHOP/err"
	return $status
}
ok "a container that ends with the recording" gone
ok "  its code has names" java_named
ok "  one line says so at most" test "$(wc -l <"$SHOP/err")" -le 1

# Files and memory that are on a file system whose server answers nothing.
mkdir "$SHOP/stuck"
cc -O1 -o "$SHOP/stuckfs" tests/e2e/stuckfs.c
"$SHOP/stuckfs" "$SHOP/stuck" >"$SHOP/ready" & stuck=$!
for _ in $(seq 50); do [ -s "$SHOP/ready" ] || sleep 0.1; done
ok "a process whose file system does not answer" trigger -q -d 2 -F 199 -f folded --pid "$stuck"
ok "  it is in the graph" test "$(json .samples)" -gt 0
ok "  its files cannot be had" grep -q "files of process $stuck cannot be read.*stopped after" "$SHOP/err"
ok "  nor can its names" grep -q "code of $stuck: .*stopped after" "$SHOP/err"
is "  both are said, once" "$(wc -l <"$SHOP/err")" 2
ok "  it lives" kill -0 "$stuck"
diag "$(cat "$SHOP/err")"
kill -9 $stuck
umount -l "$SHOP/stuck"
tap_done
