#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-doctor tells beforehand what dfg-trigger will do, and changes nothing.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
shop_setup
DOCTOR=$BUILD/bin/dfg-doctor

doctor() {
	"$DOCTOR" --json "$@" >"$SHOP/out" 2>"$SHOP/err"
	status=$?
}
# state ABOUT WHAT, why ABOUT WHAT, advice ABOUT WHAT
finding() { json ".findings[] | select(.about == \"$2\" and .what == \"$3\") | .$1"; }
state() { finding state "$@"; }
says() { finding why "$1" "$2" | grep -qF -- "$3" || { finding why "$1" "$2"; return 1; }; }
# "agent" or "host", as dfg-trigger calls what doctor foretells.
foretold() { finding why jvm source | sed -n "s/^the agent.*/agent/p; s/^read from outside.*/host/p"; }

doctor
is "the machine: status 0" "$status" 0
is "  nothing is missing" "$(json '[.findings[] | select(.state == "no")] | length')" 0
for what in rights kernel perf events stacks walks buffers symbols disk; do
	is "  $what" "$(state machine $what)" ok
done
is "  the payload is at hand" "$(state engines payload)" ok
is "  no container" "$(json .container)" null
is "  dfg's directory was not made" "$(ls "$DFG_ROOT" 2>/dev/null)" ""
ok "as text" "$DOCTOR"
is "  a line each, in columns" "$("$DOCTOR" | grep -cvE '^$|^[a-z].*|^  (ok  |note|no  )  [a-z-]+ +[^ ]')" 0
ok "  on one screen" test "$("$DOCTOR" | wc -l)" -le 24
is "  no terminal codes" "$("$DOCTOR" | grep -c $'\033')" 0

doctor --nonsense
is "usage: status 2" "$status" 2
doctor a b
is "two containers: status 2" "$status" 2
doctor nope
is "an unknown name: status 3" "$status" 3
is "  is all that is told" "$(wc -l <"$SHOP/err"):$(wc -c <"$SHOP/out")" 1:0
doctor --pid 4194304
is "an unknown process: status 3" "$status" 3

ok "a container with the hook" shop_start shop
pid=$(bundle_pid shop)
doctor shop
is "status 0" "$status" 0
is "  its name" "$(json .container.name)" shop
is "  its JVM" "$(finding pid jvm java)" "$pid"
ok "  version and collector" says jvm java "$(java -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p')"
is "  mounts" "$(state container mounts)" ok
is "  metadata" "$(state jvm metadata)" ok
is "  attach" "$(state jvm attach)" ok
is "  stack depth" "$(state jvm stacks)" ok
is "  inlining" "$(state jvm inlining)" note
source=$(foretold)
is "nothing was loaded" "$(cat /proc/"$pid"/task/*/comm | grep -c dfg-agent)" 0
is "  or put into its /tmp" "$(find "$SHOP/shop/tmp" -name '.*' -mindepth 1)" ""
is "  or printed by the JVM" "$(grep -v '^$' "$SHOP/shop/log")" ""

ok "dfg-trigger" trigger -d 1 shop
is "  does what was foretold" "$(json '.jvms[0].source')" "$source"
ok "the agent comes in" trigger -d 1 --source agent shop
doctor shop
is "  and is seen" "$(state jvm agent)" ok
is "  as the source" "$(foretold)" agent
is "  inlining: older code is not exact" "$(state jvm inlining)" note
doctor --pid "$pid"
is "by pid: the same container" "$status:$(json .container.id)" 0:shop

kill -STOP "$pid"
doctor shop
kill -CONT "$pid"
is "a stopped JVM does not hold it up" "$status" 0
shop_stop shop

# Without hook: foretold, not done.
SHOP_HOOK=none
ok "a container that cannot be attached to" shop_start closed -XX:+DisableAttachMechanism
mounts=$(cat "/proc/$(bundle_pid closed)/mountinfo")
doctor closed
is "  status 0" "$status" 0
is "  mounts" "$(state container mounts)" note
ok "  attach: why not" says jvm attach DisableAttachMechanism
is "  source" "$(foretold)" host
is "it was not joined" "$(cat "/proc/$(bundle_pid closed)/mountinfo")" "$mounts"
ok "dfg-trigger" trigger -d 1 closed
is "  does what was foretold" "$(json '.jvms[0].source')" host
shop_stop closed

ok "a JVM with other flags" shop_start flags -Xrs -XX:+UseSerialGC -XX:+PreserveFramePointer -Xint
doctor flags
is "  status 0" "$status" 0
ok "  attach: why not" says jvm attach -Xrs
ok "  collector" says jvm java Serial
ok "  interpreter" says jvm java "interpreter only"
ok "  frame pointers" says jvm stacks PreserveFramePointer
is "  source" "$(foretold)" host
shop_stop flags

ok "a JVM that takes no agents" shop_start nodyn -XX:-EnableDynamicAgentLoading
doctor nodyn
ok "  attach: why not" says jvm attach EnableDynamicAgentLoading
is "  source" "$(foretold)" host

sh -c 'ulimit -n 64; exec "$@"' - "$DOCTOR" --json nodyn >"$SHOP/out"
is "few descriptors" "$(state container processes)" note
shop_stop nodyn

SHOP_JQ='.process.args = ["/bin/sleep", "infinity"]'
bundle_dir=$SHOP/native
mkdir -p "$bundle_dir"
BUNDLE_JQ=$SHOP_JQ BUNDLE_HOOK='' bundle_make "$bundle_dir" host true
ok "a container without JVM" bundle_start native "$bundle_dir"
doctor native
is "  status 4" "$status" 4
is "  says so" "$(state container java)" note
setpriv --reuid 1000 --regid 1000 --clear-groups "$DOCTOR" native >"$SHOP/out" 2>"$SHOP/err"
is "not root: status 5" $? 5
ok "  says sudo" grep -q sudo "$SHOP/err"
bundle_stop native
tap_done
