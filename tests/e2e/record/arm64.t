#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JVMs of arm64, on an emulated machine: the stacks walked in its kernel against the offline unwinder's, each of the
# same interrupt (tests/tools/walkcompare.c). None may differ; how many are left to the copy depends on how busy the
# machine is. Two modes of JDK 25; FULL=1: all four, of JDK 17 and 25.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/engines.sh
. tests/lib/kernels.sh
. tests/lib/arm64-root.sh
need qemu-system-aarch64 aarch64-linux-gnu-gcc debootstrap busybox cpio xz javac
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
WAIT_SECONDS=900
ok "walkcompare is built for arm64" sh tests/arm64.sh "$BUILD/arm64/tools/walkcompare"
javac --release 17 -d "$TMPDIR" tests/java/Known.java || exit 1

# What the machine does: one JVM after the other, each of MODE and its options, until 300 stacks were compared.
cat >"$TMPDIR/run" <<'END'
java=$(/bin/busybox ls -d /usr/lib/jvm/*/bin/java | /bin/busybox head -n 1)
compare() {
	mode=$1
	shift
	echo "== $mode $*"
	$java -Xmx400m "$@" -cp /app Known "$mode" 900 >/dev/null 2>/tmp/err &
	jvm=$!
	while kill -0 $jvm && [ "$(/bin/busybox awk '{ print $14 + $15 }' /proc/$jvm/stat)" -le 600 ]; do
		/bin/busybox sleep 1
	done
	/bin/busybox cat /tmp/err
	for seconds in 5 15 60; do
		/walkcompare -F 199 -v 3 "$jvm" $seconds >/tmp/out || break
		[ "$(/bin/busybox awk '/^total/ { print $3 }' /tmp/out)" -ge 300 ] && break
	done
	/bin/busybox cat /tmp/out
	kill -9 $jvm
}
END

# jvm_of SUITE PACKAGE LIBDW KERNEL: $TMPDIR/out has what the calls of compare on its standard input have printed.
jvm_of() {
	local root=$BUILD/arm64/$2 kernel
	(lock arm64-jvm && arm64_root "$root" "$1" "$2,libbpf1,libseccomp2,$3") || return 1
	kernel=$(kernels_get arm64 "$1" "$4") || return 1
	mkdir -p "$TMPDIR/root"
	cp -a "$root"/{bin,lib,usr,etc} "$TMPDIR/root"
	rm -rf "$TMPDIR"/root/usr/{share,sbin} "$TMPDIR"/root/usr/bin/perl*
	mkdir "$TMPDIR/root/app"
	cp "$TMPDIR"/*.class "$TMPDIR/root/app"
	cp "$BUILD/arm64/tools/walkcompare" "$TMPDIR/root"
	cp "$BUILD/arm64/root/bin/busybox" "$TMPDIR/root/bin/busybox"
	{ cat "$TMPDIR/run" && cat; } >"$TMPDIR/root/run"
	kernels_boot arm64 "$kernel" "$TMPDIR/root" >"$TMPDIR/out"
	rm -rf "$TMPDIR/root"
}

modes() {
	[ -z "${FULL:-}" ] || set -- treemap exceptions 'streams -Xint' 'regex -XX:TieredStopAtLevel=1'
	printf 'compare %s\n' "$@"
}
# walked SUITE PACKAGE LIBDW KERNEL MODE…
walked() {
	local count
	count=$(modes "${@:5}" | wc -l)
	modes "${@:5}" | jvm_of "${@:1:4}"
	diag "$(grep -a '^kernel\|^==\|^total' "$TMPDIR/out")"
	is "$2: all are compared" "$(grep -ac '^total' "$TMPDIR/out")" "$count"
	is "  no stack differs" "$(awk '/^total/ { sum += $4 } END { print sum + 0 }' "$TMPDIR/out")" 0
	ok "  most are walked" awk -v count="$count" '/^total/ { all += $2; walked += $3; n++ }
		END { exit !(n == count && walked > 300 * count && walked > all / 2) }' "$TMPDIR/out"
}

walked trixie openjdk-25-jre-headless libdw1t64 'linux-image-[0-9.+]*deb13-cloud-arm64' exceptions 'streams -Xint'
full walked bookworm openjdk-17-jre-headless libdw1 'linux-image-[0-9.-]*-cloud-arm64'
tap_done
