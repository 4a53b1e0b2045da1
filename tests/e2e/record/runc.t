#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The main journey in runc: hook at start, agent by each trigger, graph, replay without root.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
shop_setup

folded() { cat "$(json .graphs.folded)"; }
# Share of samples, in percent, whose stack matches.
share() { folded | awk -v re="$1" '{n = $NF} $0 ~ re {hit += n} {all += n} END {printf "%d", all ? 100 * hit / all : 0}'; }
at_least() { [ "$1" -ge "$2" ] || { echo "$1 is less than $2"; return 1; }; }

# A whole snapshot, then deltas.
deltas_in() {
	"$BUILD/tools/snapdump" "$1"/maps/* >"$SHOP/dump" &&
		[ "$(sed -n 's/^head flags=\([0-9]*\).*/\1/p' "$SHOP/dump" | awk '{print int($1 / 8) % 2}' | uniq | tr -d '\n')" = 01 ]
}

ok "a container starts with the hook" shop_start shop
pid=$(bundle_pid shop)
ok "  and has been compiled" at_work "$pid" 800
is "its JVM is no root" "$(stat -c %u "/proc/$pid")" 1000
ok "its root is read-only" bash -c "! touch /proc/$pid/root/x 2>/dev/null"
before=$(find "$SHOP/shop/rootfs" "$SHOP/shop/tmp" -type f ! -path '*/hsperfdata*' | sort)

ok "dfg-trigger --source host" trigger -d 1 --source host shop
is "the host reads" "$(json '.jvms[0].source')" host
is "  and loads no agent" "$(cat /proc/"$pid"/task/*/comm | grep -c dfg-agent)" 0
# Where the hook prepared the container the agent is loaded, unless this JVM would print a warning.
if [ "$(json '.jvms[0].version | split(".")[0] | tonumber')" -lt 21 ]; then
	ok "dfg-trigger" record shop
else
	ok "dfg-trigger" trigger -d 1 shop
	is "the host reads" "$(json '.jvms[0] | .source + ": " + .note')" "host: no agent is resident in the JVM"
	ok "dfg-trigger --source agent" record --source agent shop
fi
is "the agent named the code" "$(json '.jvms[0] | .source + .note')" agent
ok "it was asked again while recording" at_least "$(json '.jvms[0].snapshots')" 3
is "into one file" "$(find "$(json .session)/maps" -type f | wc -l)" 1
ok "  of deltas" deltas_in "$(json .session)"
is "host pid" "$(json '.jvms[0].pid')" "$pid"
is "pid inside" "$(json '.jvms[0].nspid')" 1
is "uid" "$(json '.jvms[0].uid')" 1000
ok "a JVM version" test -n "$(json '.jvms[0].version')"
ok "methods" at_least "$(json '.jvms[0].methods')" 200
ok "samples" at_least "$(json .samples)" 150
ok "nearly all Java stacks reach the thread's root" at_least "$(json '.complete * 1000 | floor')" 990
ok "code from before the first contact lacks debug info, and the summary says so" \
	at_least "$(json '.without_debug_info * 1000 | ceil')" 1
ok "few frames have no name" at_least 20 "$(json '.unknown_frames * 1000 | floor')"
for m in Shop.parseOrder Shop.priceOrder Shop.signInvoice java.io.FileOutputStream.write; do
	ok "$m is in the graph" grep -q "$m" "$(json .graphs.folded)"
	ok "$m is in the picture" grep -q "$m" "$(json .graphs.svg)"
done
ok "inlined and interpreted methods are frames of their own" \
	at_least "$(share '\[thread start\];Shop.*lambda.*;Shop.serve_\[.\];Shop.handleRequest_\[.\];')" 60
ok "most of it is Shop's work, as Java" at_least "$(share 'shop-worker.*Shop.*_\[j\]')" 40
ok "kernel frames on top of native and Java, in one stack" \
	at_least "$(share '\[thread start\];.*Shop.*_\[j\].*FileOutputStream.*;[_A-Za-z]*write;.*_\[k\]')" 1
ok "  with --full, the JVM below" eval '"$DFG" -q --replay --by thread --full -f folded -o "$SHOP/full" "$(json .session)" >/dev/null &&
	grep -qE "^shop-worker-[0-9]+;.*JavaCalls::call_helper.*;Shop.*_\[j\]" "$SHOP/full/flame.folded"'
ok "the SVG is well-formed" xmllint --noout --huge "$(json .graphs.svg)"
is "nothing was left in the container's root and /tmp" \
	"$(find "$SHOP/shop/rootfs" "$SHOP/shop/tmp" ! -path '*/hsperfdata*' -type f | sort)" "$before"
is "no output of the JVM" "$(grep -cv '^$' "$SHOP/shop/log")" 0

for t in file signal load auto; do
	ok "--trigger $t" trigger -d 1 --trigger $t shop
	is "  by the agent" "$(json '.jvms[0] | .source + .note')" agent
done
is "one agent thread" "$(cat /proc/"$pid"/task/*/comm | grep -c dfg-agent)" 1
ok "--unwind fp, where the JVM keeps none" trigger -d 1 --unwind fp shop
ok "  says that stacks are cut" at_least 500 "$(json '.complete * 1000 | floor')"
ok "--source host" trigger -d 1 --source host shop
is "  by the host" "$(json '.jvms[0].source')" host
ok "  as many methods as the agent" at_least "$(json '.jvms[0].methods')" 200
ok "--pid finds the container" trigger -d 1 --pid "$pid"
is "  by its id" "$(json .container.id)" shop
ok "a prefix finds it" trigger -d 1 sho
ok "--all finds it" trigger -d 1 --all
ok "-o puts the results elsewhere" trigger -d 1 -o "$SHOP/mine" -f folded shop
is "  only what was asked for" "$(ls "$SHOP/mine")" "flame.folded
session"

# A container that started before dfg was there, or without the hook.
SHOP_HOOK=none
ok "a container without hook" shop_start plain
ok "dfg-trigger joins it" trigger -d 1 --source agent plain
is "  by the agent" "$(json '.jvms[0] | .source + .note')" agent

# Where the JVM keeps frame pointers, they can be used: no copies of the stack.
# The libc in which a thread goes to sleep keeps none.
SHOP_MAIN="Shop 2" ok "a JVM that keeps frame pointers" shop_start frames -XX:+PreserveFramePointer
ok "  has compiled its loop" at_work "$(bundle_pid frames)" 400
ok "dfg-trigger --unwind fp" record --unwind fp frames
is "  by frame pointers" "$(jq .stack_bytes "$(json .session)/session.json")" 0
ok "  complete" at_least "$(json '.complete * 1000 | floor')" 990
ok "  inlined methods, too" grep -q 'Shop\.[^;]*_\[i\]' "$(json .graphs.folded)"
shop_stop frames

# Without --keep-stacks the profile is all that is kept, and all but perf maps can be drawn from it.
formats=svg,html,folded,pprof,speedscope,firefox,json
ok "a recording without --keep-stacks" "$DFG" -q -d 2 -F 499 -f $formats -o "$SHOP/profile" shop
is "  has no memory, no addresses, no files" "$(find "$SHOP/profile/session" -type f ! -name perf.log -printf '%f\n' | sort |
	paste -sd ' ')" "session.json tree"
ok "  and is small" test "$(du -sk "$SHOP/profile/session" | cut -f1)" -lt 4096
ok "  --replay draws it" "$DFG" -q --replay "$SHOP/profile/session" -f $formats -o "$SHOP/redrawn"
for f in "$SHOP"/profile/flame.*; do
	ok "  the same ${f##*/flame.}" cmp "$f" "$SHOP/redrawn/${f##*/}"
done
ok "  dfg-diff takes it" "$BUILD/bin/dfg-diff" "$SHOP/profile/session" "$SHOP/profile/session" -f folded -o "$SHOP/diff"
ok "  dfg-merge, too" "$BUILD/bin/dfg-merge" --by pool "$SHOP/profile/session" -f folded -o "$SHOP/merged"
ok "  and it is the same again" cmp "$SHOP/profile/flame.folded" "$SHOP/merged/flame.folded"
ok "  for perf maps it says what is missing" \
	eval '! "$DFG" -q --replay "$SHOP/profile/session" -f perf-map -o "$SHOP/none" 2>&1 | grep -qv "no snapshots; record with --keep-stacks"'

# The session outlives the container, and needs no root.
ok "a session to keep" trigger -d 1 -o "$SHOP/keep" shop
shop_stop shop
cp -r "$SHOP/keep/session" "$SHOP/replay"
chown -R 1000:1000 "$SHOP/replay"
mkdir -m 777 "$SHOP/again"
chmod 755 "$SHOP"
ok "--replay as another user" setpriv --reuid 1000 --regid 1000 --clear-groups \
	"$DFG" --replay "$SHOP/replay" -o "$SHOP/again"
ok "  gives the same stacks" cmp "$SHOP/keep/flame.folded" "$SHOP/again/flame.folded"
ok "  and the same picture" cmp "$SHOP/keep/flame.svg" "$SHOP/again/flame.svg"
shop_stop plain
"$HOOK" --gc --root "$DFG_ROOT"
is "the share is gone with the container" "$(grep -c "$DFG_ROOT/containers" /proc/self/mountinfo)" 0
tap_done
