#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runtimes that write a map of their own code, /tmp/perf-<pid>.map: node's functions are in the graph.
# What a container puts in the map's place is not read. -f perf-map of a JVM with dfg's agent is the agent's own dump.
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
record node
is "dfg-trigger: no JVM, but a graph" "$status" 4
ok "  with node's functions, from the program's start on" \
	grep -q '^node;\[thread start\];.*Module._load.*work.js.*outerWork' <(folded)
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
	is "a map that is a $kind: the graph is drawn (case 65)" "$status" 4
	is "  and nothing is taken" "$(maps)" ""
done
shop_stop plain

# ---- -f perf-map ----

JAVA=$(readlink -f "$(command -v java)")
agents() { echo "$(json .session)/maps/agent-$pid.map"; }
member() { tar -xOf "$(json '.graphs["perf-map"]')" "perf-$pid.map"; }
is_map() { member | grep -qE '^[0-9a-f]+ [0-9a-f]+ Interpreter$' && member | grep -qE '^[0-9a-f]+ [0-9a-f]+ Shop\.'; }

ok "a JVM in a container" shop_start shop
pid=$(bundle_pid shop)
share=$DFG_ROOT/containers/shop/out
ok "-f perf-map: dfg-trigger" trigger -d 1 --source agent -f folded,perf-map shop
ok "  its file is what the agent dumped" cmp <(member) "$(agents)"
ok "  with Java methods and the interpreter" is_map
is "  which is gone from the share" "$(ls "$share" | grep '^perf-')" ""
ok "  it names no frame: the graph is the same without it" "$DFG" --replay "$(json .session)" -f folded -o "$SHOP"
ok "  " cmp "$SHOP/flame.folded" "$(json .graphs.folded)"
ok "  --replay writes the same map" "$DFG" --replay "$(json .session)" -f perf-map -o "$SHOP"
ok "  " cmp "$SHOP/perf-map.tar" "$(json '.graphs["perf-map"]')"

ok "--source host: dfg-trigger" trigger -d 1 --source host -f perf-map shop
ok "  the agent is not asked" test ! -e "$(agents)"
ok "  the host makes a map" is_map
is "  without a warning" "$(grep -c warning "$SHOP/err")" 0

ok "without that format: dfg-trigger" trigger -d 1 shop
ok "  the agent is not asked" test ! -e "$(agents)"

ok "a share in which the container took the name" mkdir "$share/perf-$pid.map"
ok "  dfg-trigger" trigger -d 1 -f perf-map shop
ok "  says that the map is the host's" grep -q "warning: the perf map of $pid is made by the host, not by the agent: " "$SHOP/err"
is "  in one line" "$(grep -c warning "$SHOP/err")" 1
ok "  and makes it" is_map
rmdir "$share/perf-$pid.map"

ok "an agent's map without a valid line: dfg-trigger" trigger -d 1 -f perf-map shop
echo 'no map' >"$(agents)"
"$DFG" --replay "$(json .session)" -f perf-map >/dev/null 2>"$SHOP/err"
is "  --replay" $? 0
ok "  says that the map is the host's" grep -q "warning: the perf map of $pid is made by the host: " "$SHOP/err"
ok "  and makes it" is_map
tap_done
