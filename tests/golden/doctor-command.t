#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-doctor as a command: whom it looks at, what it prints and returns. Its findings:
# tests/unit/test_doctor.c and its like.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh
. tests/lib/command.sh
. tests/lib/container-state.sh
need jq
[ "$(id -u)" = 0 ] || tap_cannot "not root"
top=$(mktemp -d)
trap 'kill $pids; rm -rf "$top"' EXIT
pids=
export DFG_ROOT=$top/root

# record ID ANNOTATIONS: of a container that is one process, with its pid in $pid.
record() {
	sleep 60 >"$top/none" 2>&1 &
	pid=$!
	pids="$pids $pid"
	container_state "$DFG_ROOT" "$1" "$pid" "$2"
}
doctor() { command_run "$BUILD/bin/dfg-doctor" "$@"; }
# status STATUS: or 1 where something is missing on this machine.
status() { if jq -e 'any(.findings[]; .state == "no")' "$top/out" >"$top/none"; then echo "status 1"; else echo "status $1"; fi; }

record shop ''
web=$pid
sleep 60 &
other=$!
pids="$pids $other"

# ---- the machine ----
doctor --json
says "a machine without anything missing has status 0" "$(status 0)"
is "the status is in the object" "status $(jq .status "$top/out")" "$(status 0)"
is "so is the version" "$(jq -r .dfg "$top/out")" "$(cat VERSION)"
is "without a name there is no container" "$(jq 'has("container")' "$top/out")" false
is "machine and containers started later are looked at" "$(jq -r '[.findings[].about] | unique | join(" ")' "$top/out")" "budgets engines machine"
is "all of the machine is looked at" \
	"$(jq -r '[.findings[] | select(.about == "machine") | .what] - ["pids", "ptrace", "stacks", "counters"] | join(" ")' "$top/out")" \
	"rights kernel perf events walks buffers symbols disk"
is "dfg's directory is the one of DFG_ROOT" \
	"$(jq -r '.findings[] | select(.what == "disk") | .why' "$top/out" | grep -c " free in $DFG_ROOT")" 1
doctor --json --root "$top/elsewhere"
is "or of --root" "$(jq -r '.findings[] | select(.what == "disk") | .why' "$top/out" | grep -c " free in $top/elsewhere")" 1
DFG_ROOT=relative doctor --json
is "a DFG_ROOT that is not absolute does not count" \
	"$(jq -r '.findings[] | select(.what == "disk") | .why' "$top/out" | grep -c " free in /var/lib/dfg")" 1
doctor
is "lines are for people" "$(head -n 1 "$top/out")" "this machine, $(getconf _NPROCESSORS_ONLN) processors"
is "with a heading for each subject" "$(grep -v '^  ' "$top/out" | sed -n '2,$p')" "
containers started later"
doctor --limits
is "what one container may cost is listed when it is asked for" "$(grep -v '^  ' "$top/out" | tail -n 1)" "what one container may cost"

# ---- a container ----
doctor --json shop
says "a container without a JVM has status 4" "$(status 4)"
is "the status is in the object" "status $(jq .status "$top/out")" "$(status 4)"
is "so is the container" "$(jq -c .container "$top/out")" '{"id":"shop","name":"shop","pod":"","namespace":""}'
is "it is looked at after the machine" "$(jq -r '[.findings[] | select(.about == "container") | .what] | join(" ")' "$top/out")" \
	"processes mounts isolation java"
is "no JVM is a note" "$(jq -r '.findings[] | select(.what == "java") | "\(.state) \(.why) → \(.advice)"' "$top/out")" \
	"note no JVM runs in it → its graph has native and kernel frames"
doctor shop
is "its heading has its name" "$(grep -c '^container shop$' "$top/out")" 1
doctor nobody
says "a wrong name is the only message" "dfg-doctor: no running container \"nobody\"; see dfg-trigger --list" "status 3"
is "nothing is printed" "$(cat "$top/out")" ""

# ---- a process ----
doctor --pid "$web"
is "a process of a container is in it" "$(grep -c '^container shop$' "$top/out")" 1
doctor --pid "$other"
is "another is alone" "$(grep -c "^process $other\$" "$top/out")" 1
is "it is in no container" "$(grep -c 'none: the process is in no container → JVMs are read from outside$' "$top/out")" 1
doctor --pid x
says "a word is no pid" 'dfg-doctor: "x" is not a pid' "status 2"
doctor --pid 4194304
is "a pid may not exist" "$(sed -n '$p' "$top/err")" "status 3"
tap_done
