# SPDX-License-Identifier: Apache-2.0
# dfg-setup on engines of the test's own. Source it behind tap.sh, bundle.sh and shop.sh.
#
#   setup_setup            shop_setup, and an installation of dfg in $SHOP/dfg whose dfg.conf names
#                          DFG_ROOT; SETUP is its dfg-setup
#   setup ARG…             runs it; output in $SHOP/setup, status in $status
#   has_mounts PID, has_no_mounts PID
#   shop_works PID         waits until the Shop in this process is at work
#   graph NAME             records it: by the agent, with the Shop's frames
setup_setup() {
	shop_setup
	mkdir -p "$SHOP/dfg"
	cp -r "$BUILD/bin" "$BUILD/libexec" "$SHOP/dfg"
	# The hook gives up after 250 ms, which a machine full of tests may need.
	printf '%s\n' "root = $DFG_ROOT" "budget_ms = 4000" >"$SHOP/dfg/libexec/dfg.conf"
	SETUP=$SHOP/dfg/bin/dfg-setup
	export XDG_RUNTIME_DIR= # podman
}

setup() {
	"$SETUP" "$@" >"$SHOP/setup" 2>&1
	status=$?
	[ "$status" = 0 ] || { cat "$SHOP/setup"; return "$status"; }
}

mounts() { awk '{print $5}' "/proc/$1/mountinfo" | grep -x "/dev/dfg\(-out\|-ctl\|\)" | sort | tr '\n' ' '; }
has_mounts() { [ "$(mounts "$1")" = "/dev/dfg /dev/dfg-ctl /dev/dfg-out " ]; }
has_no_mounts() { [ "$(mounts "$1")" = "" ]; }

shop_works() {
	local i
	for i in $(seq 200); do
		[ "$(awk '{print $14 + $15}' "/proc/$1/stat" 2>/dev/null || echo 0)" -ge 100 ] && return 0
		[ -d "/proc/$1" ] || return 1
		sleep 0.1
	done
	return 1
}

# On a machine full of tests, two seconds may give it no time at all.
graph() {
	drawn "$1" 2 || drawn "$1" 10 || { json .; cat "$SHOP/err"; return 1; }
}
drawn() {
	trigger -d "$2" -F 499 --source agent "$1" && [ "$(json '.jvms[0].source')" = agent ] &&
		grep -q 'Shop.*_\[j\]' "$(json .graphs.folded)"
}
