# SPDX-License-Identifier: Apache-2.0
# JVMs in containers of every kind. Source it after tap.sh, bundle.sh and shop.sh.
#
#   case_make NAME AGENT [KNOB=VALUE…] [JVM OPTION…]   a container with Shop in it, in the background;
#                       knobs are shop.sh's, AGENT what is said where an agent is asked for: "agent",
#                       "host" where it is read by the host all the same, or words of the reason why there can be none. Names in CASES, words in AGENT;
#                       the container's own name is case_id NAME
#   case_at_work NAME   its JVMs work; case_pids NAME: their pids
#   case_state NAME     what must not change: its JVMs, files that attaching leaves, what was printed
#   case_output NAME    what it has printed
#   case_agents NAME    how many agents are in it
#   case_sources NAME SOURCE…   the last summary (shop.sh's trigger) has these for its JVMs
#   case_stacks NAME    nearly all of its Java stacks are whole and Shop's methods are in them
#   case_table TITLE    the summary as lines
#
# Each has a tenth of a processor: twenty start in seconds, and leave room for what looks at them.
declare -A AGENT CASE_PIDS
CASES=()
case_id() { echo "case-$1"; }
CASE_CPU='.linux.resources.cpu = {quota: 10000, period: 100000}'

# ---- how they are made (values of SHOP_JQ) ----

CASE_NO_TMP='.mounts |= map(select(.destination != "/tmp"))'
CASE_HOST_PIDS='.linux.namespaces |= map(select(.type != "pid"))'
# case_tmp OPTION: a tmpfs as /tmp
case_tmp() {
	echo ".mounts |= map(if .destination == \"/tmp\" then {destination, type: \"tmpfs\", source: \"tmpfs\",
		options: [\"mode=1777\", \"$1\"]} else . end)"
}
# case_script TEXT: a shell script; "$@" in it is Shop's command line.
case_script() {
	echo ".process.args = [\"/bin/sh\", \"-c\", $(jq -n --arg s "$1" '$s'), \"sh\"] + .process.args"
}
# case_pids_of NAME: the pid namespace of another
case_pids_of() {
	echo ".linux.namespaces |= map(if .type == \"pid\" then {type, path: \"/proc/$(bundle_pid "$(case_id "$1")")/ns/pid\"}
		else . end)"
}
# case_bare DIR: a root file system of a JVM and the libraries that it needs, and nothing else.
case_bare() {
	local home=${JAVA%/bin/java} lib
	mkdir -p "$1"/{proc,sys,dev,mnt} "$1$home"
	cp -rL "$home"/{bin,conf,lib} "$1$home" 2>/dev/null # some links lead to packages that are not there
	ldd "$JAVA" "$home"/lib/{libjava,libnio,libnet,server/libjvm}.so |
		awk '$3 ~ /^\// {print $3} $1 ~ /^\/.*ld-/ {print $1}' | sort -u |
		while read -r lib; do
			mkdir -p "$1${lib%/*}"
			cp -L "$lib" "$1$lib"
		done
}

case_make() {
	local name=$1
	AGENT[$name]=$2
	CASES+=("$name")
	shift 2
	(
		while [[ ${1:-} == SHOP_*=* ]]; do
			declare "$1"
			shift
		done
		SHOP_JQ="${SHOP_JQ:-.} | $CASE_CPU"
		SHOP_MAIN="Shop 1 20" shop_create "$(case_id "$name")" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx48m "$@"
	) >"$SHOP/$name.make" 2>&1 &
}

# ---- what is looked at ----

case_find_pids() {
	local p
	for p in $("${RUNTIME[@]}" ps -f json "$(case_id "$1")" 2>/dev/null | jq '.[]?'); do
		if [ "$(cat "/proc/$p/comm" 2>/dev/null)" = java ]; then echo "$p"; fi
	done
}
case_pids() { echo "${CASE_PIDS[$1]}"; }

# Its methods are compiled after half a second of processor time.
case_at_work() {
	WAIT_SECONDS=300 wait_for case_used "$1" || { cat "$SHOP/$1.make" "$SHOP/$(case_id "$1")/log"; return 1; }
}
case_used() {
	local used
	CASE_PIDS[$1]=$(case_find_pids "$1" | tr '\n' ' ')
	# shellcheck disable=SC2086
	used=$(cat $(printf '/proc/%s/stat ' ${CASE_PIDS[$1]}) 2>/dev/null | awk '{print $14 + $15}' | sort -n | head -1)
	[ "${used:-0}" -ge 60 ]
}

case_state() {
	local p
	for p in ${CASE_PIDS[$1]}; do
		awk -v ORS=' ' '/^(Pid|TracerPid)/ || /^State.*[TtZ] /' "/proc/$p/status"
		echo
	done
	find "$SHOP/$(case_id "$1")/tmp" -name '.*_pid*'
	case_output "$1"
}
case_output() { cat "$SHOP/$(case_id "$1")/log"; }
case_agents() {
	local p
	for p in ${CASE_PIDS[$1]}; do cat "/proc/$p"/task/*/comm; done | grep -c dfg-agent
}

case_summary() { jq -r --arg n "$(case_id "$1")" "(.recordings // [.])[] | select(.container.name == \$n) | $2" "$SHOP/out"; }
case_sources() {
	local name=$1
	shift
	case_summary "$name" '.jvms[] | "\(.pid) \(.source), \(.methods) methods. \(.note)"'
	[ "$(case_summary "$name" '[.jvms[] | select(.source == "none" or .methods > 100) | .source] | sort | join(" ")')" = "$*" ]
}
case_stacks() {
	case_summary "$1" '"\(.java_samples) Java samples, \(.complete) complete"'
	[ "$(case_summary "$1" '.java_samples * (1 - .complete) <= 1 + .java_samples / 100')" = true ] &&
		grep -q 'Shop.handleRequest_\[[ji0]\];.*Order_\[[ji0]\]' "$(case_summary "$1" .graphs.folded)"
}
case_table() {
	local name
	for name in "${CASES[@]}"; do
		case_summary "$name" "[\"$1\", \"$name\", ([.jvms[].source] | join(\"+\")), .java_samples,
			(.complete * 10000 | round / 100), .jvms[0].note] | map(tostring) | join(\" | \")"
	done
}
