#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The recorder in the kernel on kernels other than this machine's: those of Debian 12, 13 and unstable, emulated. Each
# loads the programs, walks stacks and leaves what it cannot walk to the copy (tests/unit/test_stack_recorder.c).
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/engines.sh
. tests/lib/kernels.sh
need qemu-system-x86_64 qemu-system-aarch64 qemu-aarch64-static aarch64-linux-gnu-gcc debootstrap busybox cpio xz
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
ok "the recorder is built for arm64" sh tests/arm64.sh "$BUILD/arm64/tests/test_stack_recorder.t"

while read -r machine suite package; do
	kernel=$(kernels_get "$machine" "$suite" "$package")
	ok "$suite has a kernel for $machine" test -s "$kernel"
	program=$BUILD/tests/test_stack_recorder.t
	[ "$machine" = amd64 ] || program=$BUILD/$machine/tests/test_stack_recorder.t
	kernels_run "$machine" "$kernel" "$program" >"$TMPDIR/out"
	diag "$(grep -ao 'kernel [0-9].*' "$TMPDIR/out")"
	is "  stacks are walked in it" "$(grep -a '^not ok\|SKIP\|^status' "$TMPDIR/out")" "status 0"
	ok "  in all of the program's checks" grep -qa '^1\.\.1[0-9]$' "$TMPDIR/out"
done <<'END'
amd64 bookworm linux-image-[0-9.-]*-cloud-amd64
amd64 trixie linux-image-[0-9.+]*deb13-cloud-amd64
amd64 sid linux-binary-[0-9.+]*deb[0-9]*-cloud-amd64
arm64 bookworm linux-image-[0-9.-]*-cloud-arm64
arm64 trixie linux-image-[0-9.+]*deb13-cloud-arm64
arm64 sid linux-binary-[0-9.+]*deb[0-9]*-cloud-arm64
END
tap_done
