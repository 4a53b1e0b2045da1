#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Case 91: the children of a recording that read bytes of containers, seen from outside while each waits in its
# jail. What such a child cannot do once it is taken over is tried by tests/unit/test_jail.c.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need cc python3
shop_setup
cc -shared -fPIC -D_GNU_SOURCE -o "$SHOP/stop.so" tests/e2e/record/stop-jailed.c || exit 1

# jailed COMMAND…: dfg's own output into $SHOP/err, a line for each of its children into $SHOP/jailed.
jailed() {
	python3 tests/e2e/record/jailed.py env LD_PRELOAD="$SHOP/stop.so" "$@" >"$SHOP/jailed" 2>"$SHOP/err"
}
wrong() { grep -v ': is jailed$' "$SHOP/jailed" | sort -u; }
seen() { grep -q "^$1: is jailed$" "$SHOP/jailed"; }

shop_start one && shop_start two || exit 1
is "two containers are recorded" "$(jailed "$DFG" -q -d 2 -F 199 -o "$SHOP/out" --source host one two; echo $?)" 0
is "  no child lacks anything of its jail" "$(wrong)" ""
roles=(discovery "memory reading" "ELF reading" splitting drawing)
[ "$(jq -r .recorder "$SHOP/out/one/session/session.json")" != bpf ] || roles+=("table building" listing)
for role in "${roles[@]}"; do
	ok "  $role is done in a jail" seen "$role"
done
is "both are drawn" "$(ls "$SHOP"/out/*/flame.svg | wc -l)" 2
ok "a recording is drawn again" jailed "$DFG" -q --replay "$SHOP/out/one/session" -o "$SHOP/again"
is "  in a jail" "$(wrong; seen drawing && echo yes)" yes
ok "two are compared" jailed "$BUILD/bin/dfg-diff" "$SHOP/out/one" "$SHOP/out/two" -o "$SHOP/diff"
is "  in a jail" "$(wrong; seen drawing && echo yes)" yes
ok "dfg-doctor looks at a JVM" jailed "$BUILD/bin/dfg-doctor" one
for role in discovery "memory reading" "stack reading" "ELF reading"; do
	ok "  $role is done in a jail" seen "$role"
done
is "  no child lacks anything of its jail" "$(wrong)" ""
diag "$(sort "$SHOP/jailed" | uniq -c)"
tap_done
