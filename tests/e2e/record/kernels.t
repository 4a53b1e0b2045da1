#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The recorder in the kernel on kernels other than this machine's: those of Debian 12, 13 and unstable, emulated. Each
# loads the programs, walks stacks and leaves what it cannot walk to the copy (tests/unit/test_stack_recorder.c).
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/engines.sh
. tests/lib/kernels.sh
need qemu-system-x86_64 busybox cpio xz
program=$BUILD/tests/test_stack_recorder.t
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT

while read -r suite package; do
	kernel=$(kernels_get "$suite" "$package")
	ok "$suite has a kernel" test -s "$kernel"
	kernels_run "$kernel" "$program" >"$TMPDIR/out"
	diag "$(grep -ao 'kernel [0-9].*' "$TMPDIR/out")"
	is "  stacks are walked in it" "$(grep -a '^not ok\|SKIP\|^status' "$TMPDIR/out")" "status 0"
	ok "  in all of the program's checks" grep -qa '^1\.\.1[0-9]$' "$TMPDIR/out"
done <<'END'
bookworm linux-image-[0-9.-]*-cloud-amd64
trixie linux-image-[0-9.+]*deb13-cloud-amd64
sid linux-binary-[0-9.+]*deb[0-9]*-cloud-amd64
END
tap_done
