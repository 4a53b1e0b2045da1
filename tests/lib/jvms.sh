# SPDX-License-Identifier: Apache-2.0
# JVMs of many versions under many options, each in a container with its own libc. Source it after
# tap.sh, bundle.sh and shop.sh.
#
#   jvms_setup VERSION…          shop_setup, Known instead of Shop, the JDKs' roots
#   jvms_row VERSION NAME OPTION…  a container with Known in it: recorded by the agent's snapshots and
#                                by the host's; what came out is in $SHOP/NAME.{agent,host} (summary),
#                                .known.{agent,host} (known.py), .output, .alive
#   jvms_run                     all rows that jvms_row was given, JVMS_AT_ONCE (3) at a time
JVMS=()

jvms_setup() {
	local version root home

	need debootstrap python3
	shop_setup
	javac --release 8 -Xlint:-options -d "$SHOP/app" "$TOP/tests/java/Known.java"
	"$TOP/tests/lib/jdk-roots.sh" "$@" >"$SHOP/jdks" || tap_cannot "the JDKs' root file systems"
	while read -r version root home; do
		[ "$root" != / ] || root=host
		eval "JVMS_ROOT_$version=$root JVMS_HOME_$version=$home"
	done <"$SHOP/jdks"
}

# known.py asks this javap, which runs in the row's own container: class files are read by the JDK
# that they belong to.
javap_of() {
	mkdir -p "$SHOP/$1/jdk/bin"
	cat >"$SHOP/$1/jdk/bin/javap" <<-END
		#!/bin/sh
		exec ${RUNTIME[*]} exec $1 $2/bin/javap -J-XX:TieredStopAtLevel=1 "\$@"
	END
	chmod 755 "$SHOP/$1/jdk/bin/javap"
}

jvms_record() {
	local id=$1 source=$2 seconds

	# Few samples say little: a busy machine, and a program that is still being compiled, get more
	# time, not a failure.
	for seconds in 2 6 15 40; do
		rm -rf "$SHOP/$id.$source.out"
		"$DFG" --json -q -d $seconds -F 499 -f folded --by thread --full --unwind vm --source "$source" \
			-o "$SHOP/$id.$source.out" "$id" >"$SHOP/$id.$source" 2>"$SHOP/$id.$source.err"
		[ "$(jq .java_samples "$SHOP/$id.$source" || echo 0)" -lt 250 ] || return 0
	done
}

# The JIT goes on between the two, most of all on a busy machine: within a twentieth of each other, in the end.
jvms_agree() {
	local a h
	a=$(jq '.jvms[0].methods' "$SHOP/$1.agent") h=$(jq '.jvms[0].methods' "$SHOP/$1.host")
	[ "${a:-0}" -gt 150 ] && [ $(((a - h) ** 2 * 400)) -le $((a * a)) ] || { echo "agent $a, host $h"; return 1; }
}

jvms_work() {
	local id=$1 home=$2 pid s round
	shift 2

	# Huge pages are looked up in /sys.
	SHOP_JQ='.mounts += [{destination: "/sys", type: "sysfs", source: "sysfs", options: ["ro"]}]' \
		SHOP_MAIN="Known mix 900" shop_start "$id" "$@" || return
	pid=$(bundle_pid "$id")
	javap_of "$id" "$home"
	for round in 1 2 3; do
		for s in agent host; do jvms_record "$id" $s; done
		! jvms_agree "$id" || break
	done
	kill -STOP "$pid" # leaves the processors to others
	for s in agent host; do
		"$TOP/tests/java/known.py" mix "$SHOP/$id.$s" "$SHOP/$id/jdk" /mnt >"$SHOP/$id.known.$s" 2>&1
	done
	kill -CONT "$pid"
	[ ! -d "/proc/$pid" ] || echo yes >"$SHOP/$id.alive"
	# What the agent's loading makes JDK 21 say, and what a JVM says of its own options.
	grep -v "^WARNING: .*agent\|^WARNING: .*\(EnableDynamicAgentLoading\|Dynamic loading\)\|\]\[pagesize\]\|was deprecated in version" \
		"$SHOP/$id/log" >"$SHOP/$id.output"
	shop_stop "$id"
}

jvms_row() { JVMS+=("$*"); }

jvms_run() {
	local row id version name home root

	for row in "${JVMS[@]}"; do
		set -- $row
		version=$1 name=$2
		shift 2
		root=JVMS_ROOT_$version home=JVMS_HOME_$version
		while [ "$(jobs -rp | wc -l)" -ge "${JVMS_AT_ONCE:-3}" ]; do wait -n; done
		SHOP_ROOT=${!root} SHOP_JAVA=${!home}/bin/java \
			jvms_work "$version-$name" "${!home}" "$@" >"$SHOP/$version-$name.log" 2>&1 &
	done
	wait
}
