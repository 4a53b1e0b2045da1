#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks walked in the kernel (--unwind bpf): one recorder for several containers, deep stacks, little to write; and
# perf where the kernel refuses.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need setpriv cc
[ -e "$BUILD/bpf/walk.skel.h" ] || tap_cannot "built without clang, bpftool and libbpf"
shop_setup
"$BUILD/bin/dfg-doctor" --json | jq -e '.findings[] | select(.what == "walks" and .state == "ok")' >"$SHOP/doctor" ||
	tap_cannot "this kernel walks no stacks"

at_least() { [ "$1" -ge "$2" ] || { echo "$1 is less than $2"; return 1; }; }
# Of recording NUMBER, or the only one.
of() { json "(.recordings // [.])[$1] | $2"; }
# Frames of the deepest stack.
deepest() { awk -F ';' 'NF > n {n = NF} END {print n + 0}' "$(of 0 .graphs.folded)"; }

# A recursion that a copy of the stack does not hold, and a program that starts others.
cat >"$SHOP/app/Deep.java" <<'END'
public class Deep {
	static int deep(int n) {
		if (n > 0)
			return deep(n - 1) + 1;
		long end = System.nanoTime() + 20_000_000;
		int sum = 0;
		while (System.nanoTime() < end)
			sum += end % 7;
		return sum;
	}
	public static void main(String[] args) {
		for (int round = 0;; round++)
			deep(5000);
	}
}
END
javac -d "$SHOP/app" "$SHOP/app/Deep.java"
cat >"$SHOP/app/burn.c" <<'END'
#include <unistd.h>
volatile unsigned sum;
static __attribute__((noinline)) void burn_some(void)
{
	for (unsigned i = 0; i < 10000000; i++)
		sum += i;
}
int main(int argc, char **argv)
{
	if (argc > 1) /* goes on as another program, with the same pid */
		return execl(argv[1], argv[1], (char *)0);
	burn_some();
	return 0;
}
END
cc -O1 -o "$SHOP/app/burn" "$SHOP/app/burn.c"

ok "two containers" eval 'shop_start one && shop_start two'
ok "dfg-trigger --unwind bpf" record --unwind bpf one
is "the recorder" "$(of 0 .recorder)" bpf
is "is in the session, too" "$(jq -r .recorder "$(of 0 .session)/session.json")" bpf
ok "most stacks are walked" at_least 200 "$(of 0 '.fallback * 1000 | floor')"
ok "a sample takes some hundred bytes" at_least 8192 "$(of 0 '.bytes_per_sample | floor')"
ok "nearly all Java stacks reach the thread's root" at_least "$(of 0 '.complete * 1000 | floor')" 990
is "code is named" "$(of 0 '.stale * 100 | floor')" 0
for m in Shop.parseOrder Shop.priceOrder java.io.FileOutputStream.write; do
	ok "$m is in the graph" grep -q "$m" "$(of 0 .graphs.folded)"
done
ok "kernel frames on top of Java and native ones, in one stack" \
	grep -q 'Shop\..*FileOutputStream.*writeBytes.*;[^;]*_\[k\]' "$(of 0 .graphs.folded)"
cp "$(of 0 .graphs.folded)" "$SHOP/folded"
ok "it is drawn again, without root's rights" eval '"$DFG" -q --replay -f folded -o "$SHOP/again" "$(of 0 .session)" >/dev/null'
ok "  the same" cmp "$SHOP/again/flame.folded" "$SHOP/folded"

ok "both at once" record --unwind bpf one two
for i in 0 1; do
	is "  by the same recorder" "$(of $i .recorder)" bpf
	ok "  complete" at_least "$(of $i '.complete * 1000 | floor')" 990
	ok "  with its own samples" at_least "$(of $i .samples)" 100
done
shop_stop two

SHOP_MAIN=Deep
ok "a recursion of thousands of calls" eval 'shop_create deep && wait_for at_work "$(bundle_pid deep)" 20'
ok "  is recorded" record --unwind bpf deep
ok "  in full" at_least "$(deepest)" 5000
ok "  all but what was copied" eval 'at_least "$(of 0 ".complete * 1000 | floor")" "$(of 0 "990 - .fallback * 1000 | floor")"'
shop_stop deep
unset SHOP_MAIN

# Processes that live for some milliseconds, begin while it records, and go on as another program.
SHOP_JQ='.process.args = ["/bin/sh", "-c", "while :; do /mnt/burn /mnt/burn; done"]'
ok "a container without a JVM" eval 'shop_create shell && sleep 1'
trigger -d 4 --unwind bpf shell
is "  has a graph" "$status $(of 0 .recorder)" "4 bpf"
ok "  of what began meanwhile" grep -q '^burn;' "$(of 0 .graphs.folded)"
shop_stop shell
unset SHOP_JQ

export DFG_UNWIND=vm
ok "DFG_UNWIND=vm has perf record" record one
unset DFG_UNWIND
is "  which is said" "$(of 0 .recorder)" perf
ok "  complete" at_least "$(of 0 '.complete * 1000 | floor')" 990
for m in Shop.parseOrder Shop.priceOrder java.io.FileOutputStream.write; do
	ok "  $m is in the graph" grep -q "$m" "$(of 0 .graphs.folded)"
done
ok "  kernel frames on top of Java and native ones" \
	grep -q 'Shop\..*FileOutputStream.*writeBytes.*;[^;]*_\[k\]' "$(of 0 .graphs.folded)"
less=(setpriv --bounding-set=-bpf,-sys_admin --inh-caps=-bpf,-sys_admin)
"${less[@]}" "$DFG" -d 1 --json -o "$SHOP/less" one >"$SHOP/out" 2>"$SHOP/err"
is "without the right to load programs perf records" "$? $(of 0 .recorder)" "0 perf"
ok "  which is said, and why" grep -q 'perf records: record in the kernel: ' "$SHOP/err"
"${less[@]}" "$DFG" -d 1 --unwind bpf -o "$SHOP/none" one >"$SHOP/out" 2>"$SHOP/err"
is "  but --unwind bpf fails" "$?" 1
ok "  in one line" test "$(wc -l <"$SHOP/err")" = 1
# records ARG…: in the background, as $run
records() {
	touch "$SHOP/mark"
	trigger --unwind bpf -q -F 199 "$@" 8>&- & run=$!
}
has_begun() { find "$DFG_ROOT/tmp" -name perf.data -newer "$SHOP/mark" -size +0 | grep -q .; }
walked() { [ "$(of 0 "(.fallback < 0.7)")" = true ] || { cat "$SHOP/out" && false; }; }

# The JVM's first snapshot comes when the recording has begun: until then the agent's share is another run's.
exec 8>>"$DFG_ROOT/containers/one/lock"
flock 8
records -d 12 one
ok "a JVM that is read late is recorded" wait_for has_begun
exec 8>&-
wait $run
is "  and named" "$? $(of 0 '.jvms[0].source != "none"')" "0 true"
ok "  most of its stacks are walked" walked

# A shell that becomes a JVM while it is recorded, and starts another one.
BURN='until [ -e /tmp/go ]; do sleep 0.1; done; "$@" & exec "$@"'
SHOP_JQ=".process.args = [\"/bin/sh\", \"-c\", $(jq -n --arg s "$BURN" '$s'), \"sh\"] + .process.args" \
	ok "a container that is no JVM yet" shop_create later
records -d 20 later
ok "it is recorded" wait_for has_begun
sleep 1
touch "$SHOP/later/tmp/go"
wait $run
is "both JVMs are found" "$(of 0 '.jvms | length')" 2
ok "  and named" grep -q 'Shop.priceOrder' "$(of 0 .graphs.folded)"
ok "  most of their stacks are walked" walked
shop_stop later
tap_done
