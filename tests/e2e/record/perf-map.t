#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runtimes that write a map of their own code, /tmp/perf-<pid>.map: node's functions are in the graph.
# What a container puts in the map's place is not read.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need node
shop_setup
JAVA=$(readlink -f "$(command -v node)")

cat >"$SHOP/app/work.js" <<'END'
function innerWork(n) {
	let x = n;
	for (let i = 0; i < 1000; i++)
		x = (x * 31 + i) % 1000003;
	return x;
}
function outerWork(n) {
	let sum = 0;
	for (let i = 0; i < 1000; i++)
		sum += innerWork(n + i) + JSON.stringify({ a: sum }).length;
	return sum;
}
for (let i = 0; ; i++)
	outerWork(i);
END

# start ID [ARG…]: node runs work.js in a container.
start() {
	local id=$1 jq='.process.args = [.process.args[0]'
	shift
	jq="$jq$(printf ', "%s"' "$@")]"
	SHOP_JQ=$jq shop_start "$id"
}
folded() { cat "$(json .graphs.folded)"; }
# The map's place in a container, as the host sees it.
place() { echo "$SHOP/$1/tmp/perf-1.map"; }
maps() { ls "$(json .session)/maps"; }

ok "node in a container" start node --perf-basic-prof --interpreted-frames-native-stack /mnt/work.js
trigger -d 2 -F 499 node
is "dfg-trigger: no JVM, but a graph" "$status" 4
ok "  with node's functions, from the program's start on" \
	grep -q '^node;_start;.*Module._load.*work.js.*outerWork' <(folded)
is "  from its map" "$(maps)" "perf-$(bundle_pid node).map"
is "  as big as it was" "$(($(stat -c %s "$(json .session)/maps/$(maps)") > 1000))" 1
ok "--replay" "$DFG" --replay "$(json .session)" -f folded -o "$SHOP"
ok "  has them, too" grep -q outerWork "$SHOP/flame.folded"
shop_stop node

ok "node without a map" start plain /mnt/work.js
for kind in link dangling fifo directory other; do
	rm -rf "$(place plain)"
	case $kind in
	link) echo "0 ffffffffffff outerWork" >"$SHOP/plain/tmp/real" && chown 1000 "$SHOP/plain/tmp/real" &&
		ln -s real "$(place plain)" ;;
	dangling) ln -s /etc/shadow "$(place plain)" ;;
	fifo) mkfifo -m 666 "$(place plain)" ;;
	directory) mkdir -m 777 "$(place plain)" ;;
	other) echo "0 ffffffffffff outerWork" >"$(place plain)" ;; # root's
	esac
	trigger -d 1 plain
	is "a map that is a $kind: the graph is drawn" "$status" 4
	is "  and nothing is taken" "$(maps)" ""
done
tap_done
