# SPDX-License-Identifier: Apache-2.0
# What tests of events (dfg-trigger -e) share. Source it after tap.sh, bundle.sh, shop.sh, and jvms.sh where there are several JDKs.
#
#   events_setup PROGRAM…   sets $versions, of the JDKs that are tried, and $SHOP up, with tests/java/PROGRAM.java compiled. With
#                           DFG_FULL=1 these are EVENTS_JDKS, or 8, 17 and 25; FULL=1: all
#   events_tools            needs bpftool, and pprof, which is $pprof then
#   events_start ID VERSION MAIN [JVM OPTION…]   a container with MAIN ("Alloc 4 10") in it, of a JDK; EVENTS_BARE=1: without
#                           the debug files in it, which JDK 8 has its symbols in; EVENTS_JQ: changes its config.json
#   right QUESTION          "QUESTION: right" is what a checker has written into $SHOP/facts
#   changed ID              bytes of libjvm's code in the container's JVM that are not those of the file: probes, among them that of code
#                           that is made, which each recording in the kernel has
#   unchanged ID            there are none
#   sum FILE                of folded text
#   dies STATUS TEXT COMMAND…   ends so, with such a line

EVENTS_ALL="8 11 17 21 25 26 27"
events_setup() {
	[ -e "$BUILD/bpf/walk.skel.h" ] || tap_cannot "built without clang, bpftool and libbpf"
	versions="17 25"
	[ -z "${DFG_FULL:-}" ] || versions=${EVENTS_JDKS:-8 17 25}
	[ -z "${FULL:-}" ] || versions=$EVENTS_ALL
	if declare -F jvms_setup >/dev/null; then
		# shellcheck disable=SC2046,SC2086
		jvms_setup $([ -z "${DFG_FULL:-}" ] && echo $versions || echo $EVENTS_ALL)
	else
		shop_setup
	fi
	"$BUILD/bin/dfg-doctor" --json | jq -e '.findings[] | select(.what == "walks" and .state == "ok")' >"$SHOP/doctor" ||
		tap_cannot "this kernel walks no stacks"
	javac --release 8 -Xlint:-options -d "$SHOP/app" "${@/#/tests/java/}"
	SHOP_HOOK=none
}
events_tools() {
	PATH=$PATH:/usr/sbin:/sbin
	need bpftool
	pprof=$(ls /usr/lib/go-*/pkg/tool/linux_*/pprof 2>/dev/null | tail -n 1)
	[ -n "$pprof" ] || tap_cannot "no pprof (golang-go)"
}
events_start() {
	local id=$1 root=JVMS_ROOT_$2 home=JVMS_HOME_$2 main=$3
	shift 3
	local jq="${EVENTS_JQ:-.}"
	jq+='| .mounts += [{destination: "/sys", type: "sysfs", source: "sysfs", options: ["ro"]}]'
	[ -z "${EVENTS_BARE:-}" ] || jq+='| .mounts += [{destination: "/usr/lib/debug", type: "tmpfs", source: "tmpfs"}]'
	# Huge pages are looked up in /sys.
	SHOP_JQ=$jq \
		SHOP_ROOT=${!root} SHOP_JAVA=${!home}/bin/java SHOP_MAIN=$main shop_start "$id" "$@"
}
sum() { awk '{n += $NF} END {printf "%.0f\n", n}' "$1"; }
changed() { tests/tools/changed-text.py "$(bundle_pid "$1")" libjvm.so; }
unchanged() { changed "$1" >"$SHOP/changed" && [ ! -s "$SHOP/changed" ] || { cat "$SHOP/changed" && false; }; }
right() { grep -qx "$1: right" "$SHOP/facts" || { cat "$SHOP/facts" && false; }; }
dies() {
	local want=$1 text=$2 got
	shift 2
	"$@" >/dev/null 2>"$SHOP/said"
	got=$?
	[ $got = "$want" ] && grep -q -- "$text" "$SHOP/said" || { echo "status $got: $(cat "$SHOP/said")" && false; }
}
