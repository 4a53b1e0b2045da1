#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Case 86: a process of a container ends after it was listed, and a process of the host gets its pid before perf
# is there. Nothing of that one is in the container's session.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need gcc
shop_setup
for program in marked settid stuckmem; do gcc -O1 -g -o "$SHOP/$program" "tests/e2e/record/$program.c"; done
cp "$SHOP/marked" "$SHOP/stranger"
objcopy --add-section .stranger="$SHOP/hook.conf" "$SHOP/stranger" # not the same file
bundle_static "$SHOP/fs"
bundle_make "$SHOP/reuse" "$SHOP/fs" /app wait
ok "a container runs" bundle_start reuse "$SHOP/reuse"
init=$(bundle_pid reuse)

# join PID: into all cgroups of the container.
join() {
	local line dir
	while IFS=: read -r _ line dir; do
		for top in "/sys/fs/cgroup/${line#name=}" /sys/fs/cgroup/unified /sys/fs/cgroup; do
			[ "$dir" != / ] && echo "$1" 2>/dev/null >"$top$dir/cgroup.procs" && break
		done
	done <"/proc/$init/cgroup"
	cmp -s "/proc/$1/cgroup" "/proc/$init/cgroup"
}
"$SHOP/marked" OWN-STACK- >"$SHOP/ready1" & own=$!
sleep infinity & gone=$!
mkdir "$SHOP/held"
mount -t tmpfs held "$SHOP/held"
"$SHOP/stuckmem" "$SHOP/held/libjvm.so" >"$SHOP/ready2" & held=$!
wait_for test -s "$SHOP/ready1" -a -s "$SHOP/ready2"
ok "it computes" join $own
ok "it has a process that will end" join $gone
ok "it has one that looks like a JVM, and keeps who reads its memory waiting" join $held

# The reader of that memory is there, so the processes are listed; perf waits for it.
"$DFG" --help | grep -q keep-stacks && keep=--keep-stacks || keep=
# shellcheck disable=SC2086
"$DFG" -q $keep --unwind vm -d 2 -F 499 -f folded -o "$SHOP/out-dir" reuse >"$SHOP/out" 2>"$SHOP/err" & trigger=$!
below() { local p; for p in $(pgrep -P "$1"); do echo "$p"; below "$p"; done; }
# It has one capability, to read the memory of others.
reader() { for p in $(below $trigger); do grep -q 'CapEff:.*0000080000' "/proc/$p/status" 2>/dev/null && return; done; return 1; }
ok "dfg-trigger reads that memory before it records" wait_for reader
kill $gone
wait $gone 2>/dev/null
"$SHOP/settid" $gone "$SHOP/stranger" STRANGER-STACK- >"$SHOP/ready3" & later=$!
ok "meanwhile a process ends, and another one, in no container, gets its pid" wait_for grep -q ready "$SHOP/ready3"
is "  that pid" "$(readlink "/proc/$gone/exe")" "$SHOP/stranger"
ok "  it is not in the container" bash -c "! cmp -s /proc/$gone/cgroup /proc/$init/cgroup"
wait $trigger
status=$?
kill $held $own $later
diag "status $status: $(cat "$SHOP/err")"
session=$SHOP/out-dir/session
ok "the container is recorded" test -f "$session/session.json"
is "  it has its own process" "$(jq --argjson pid $own '[.processes[] | select(.pid == $pid)] | length' "$session/session.json")" 1
is "  and not the stranger: case 86" "$(jq --argjson pid "$gone" '[.processes[] | select(.pid == $pid)] | length' "$session/session.json")" 0
ok "  it has stacks of its own" grep -q OWN-STACK- "$session/perf.data"
ok "  and no byte of the stranger's: case 86" bash -c "! grep -q STRANGER-STACK- '$session/perf.data'"
copies() { for f in "$session"/elf/*; do cmp -s "$f" "$1" && echo "$f"; done | wc -l; }
is "  it has a copy of its own program" "$(copies "$SHOP/marked")" 1
is "  and none of the stranger's: case 86" "$(copies "$SHOP/stranger")" 0
is "  the graph has no frame of it: case 86" "$(grep -c '^stranger' "$SHOP/out-dir/flame.folded")" 0
ok "  but those of its own" grep -q marked_work "$SHOP/out-dir/flame.folded"
tap_done
