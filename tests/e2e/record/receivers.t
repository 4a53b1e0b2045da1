#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stubs that select a method by an object's class (vtable and itable stubs): the class is a frame above them. JDK 17 and 25; DFG_FULL=1:
# others, and layouts of objects.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/jvms.sh
. tests/lib/events.sh
need python3
events_setup Receivers.java

# Of how many samples each class is, with the class in how many, by stub: "itable A 201".
receivers() { sed -n 's/.*;\([iv]table\) stub;Receivers\$\(.\) (receiver) \([0-9]*\)$/\1 \2 \3/p' "$1"; }
stubs() { awk '/;[iv]table stub[; ]/ {n += $NF} END {print n + 0}' "$1"; }
# record ID: until some hundred samples are in stubs: a busy machine needs longer.
recorded() {
	local seconds
	for seconds in 4 12 40; do
		rm -rf "${SHOP:?}/$1.out"
		trigger -q -d $seconds -F 1499 --by thread --full -f folded -o "$SHOP/$1.out" "$1" || return
		[ "$(stubs "$SHOP/$1.out/flame.folded")" -lt 250 ] || return 0
	done
	echo "$(stubs "$SHOP/$1.out/flame.folded") samples in stubs"
	return 1
}
# Near their part of the objects: a stub may take longer for one class than for another.
as_many() {
	receivers "$1" | awk '{n[$2] += $3; all += $3}
		function off(class, part) {return (n[class] / all - part) ^ 2 > .15 ^ 2 || !n[class]}
		END {for (c in n) print c, n[c]; exit !all || off("A", .6) || off("B", .2) || off("C", .1) || off("D", .1)}'
}
nearly_all() {
	[ $((20 * $(receivers "$1" | awk '{n += $3} END {print n + 0}'))) -ge $((19 * $(stubs "$1"))) ] || { stubs "$1" && receivers "$1" && false; }
}
row() { # VERSION NAME [JVM OPTION…]
	local id=$1-$2 version=$1
	shift 2
	ok "$id: calls of objects of many classes" events_start "$id" "$version" Receivers "$@"
	ok "  are recorded" recorded "$id"
	ok "  with the class, by class" eval 'receivers "$SHOP/$id.out/flame.folded" | grep -q ^vtable'
	ok "  and by interface" eval 'receivers "$SHOP/$id.out/flame.folded" | grep -q ^itable'
	ok "  where they select a method" nearly_all "$SHOP/$id.out/flame.folded"
	diag "$(receivers "$SHOP/$id.out/flame.folded" | awk '{n[$2] += $3; all += $3} END {print all, "A", n["A"] / all, "B", n["B"] / all, "C", n["C"] / all, "D", n["D"] / all}') of $(stubs "$SHOP/$id.out/flame.folded")"
	ok "  about as often as there are objects" as_many "$SHOP/$id.out/flame.folded"
	shop_stop "$id"
}

for v in $versions; do row "$v" g1 -XX:+UseG1GC; done
rm -rf "$SHOP/again"
ok "--replay" "$DFG" -q --replay --by thread --full -f folded -o "$SHOP/again" "$SHOP/17-g1.out/session"
ok "  draws the same" cmp "$SHOP/17-g1.out/flame.folded" "$SHOP/again/flame.folded"
if [ -n "${DFG_FULL:-}" ]; then
	full row 8 parallel -XX:+UseParallelGC
	full row 11 wide -XX:-UseCompressedOops
	full row 17 z -XX:+UseZGC
	full row 17 wide -XX:-UseCompressedClassPointers
	row 21 zgen -XX:+UseZGC -XX:+ZGenerational
	full row 25 z -XX:+UseZGC
	full row 25 shenandoah -XX:+UseShenandoahGC
	row 25 compact -XX:+UseCompactObjectHeaders
	full row 27 z -XX:+UseZGC
fi
tap_done
