#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The recorder in the kernel on kernels other than this machine's, emulated: each loads the programs, walks stacks and
# leaves what it cannot walk to the copy (tests/unit/test_stack_recorder.c), and has probes (test_stack_probes.c; all of
# a process are one link from 6.10 on), or says that it is too old. Those of Debian 11 and 12, and one of arm64 with
# pages of 16 KiB; FULL=1: Debian 11 to 13 and unstable; with KERNELS_UBUNTU=1 also those of Ubuntu's archive that lie
# between (5.15 to 6.8), and one with pages of 64 KiB.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/engines.sh
. tests/lib/kernels.sh
need qemu-system-x86_64 qemu-system-aarch64 qemu-aarch64-static aarch64-linux-gnu-gcc debootstrap busybox cpio xz zstd
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
ok "the recorder is built for arm64" sh tests/arm64.sh "$BUILD"/arm64/tests/test_stack_{recorder,probes}.t

# MACHINE SUITE PACKAGE, and what a kernel says that is refused.
kernels() {
	cat <<'END'
amd64 bullseye linux-image-[0-9.-]*-cloud-amd64 it needs Linux 5.17
amd64 bookworm linux-image-[0-9.-]*-cloud-amd64
arm64 trixie linux-image-[0-9.+]*deb13-arm64-16k
END
	full cat <<'END'
amd64 trixie linux-image-[0-9.+]*deb13-cloud-amd64
amd64 sid linux-binary-[0-9.+]*deb[0-9]*-cloud-amd64
arm64 bookworm linux-image-[0-9.-]*-cloud-arm64
arm64 trixie linux-image-[0-9.+]*deb13-cloud-arm64
arm64 sid linux-binary-[0-9.+]*deb[0-9]*-cloud-arm64
END
	[ "${KERNELS_UBUNTU:-}" = 1 ] || return
	cat <<'END'
amd64 jammy-updates linux-image-unsigned-5\.15\.[0-9.-]*-generic it needs Linux 5.17
amd64 jammy-updates linux-image-unsigned-5\.17\.[0-9.-]*-oem
amd64 jammy-updates linux-image-unsigned-5\.19\.[0-9.-]*-generic
amd64 jammy-updates linux-image-unsigned-6\.0\.[0-9.-]*-oem
amd64 jammy-updates linux-image-unsigned-6\.2\.[0-9.-]*-generic
amd64 jammy-updates linux-image-unsigned-6\.5\.[0-9.-]*-generic
amd64 noble-updates linux-image-unsigned-6\.8\.[0-9.-]*-generic
arm64 resolute-updates linux-image-unsigned-[0-9.-]*-generic-64k
END
}

declare -A checks=([test_stack_recorder]='[1-4][0-9]' [test_stack_probes]='[5-9][0-9]') # how many each has
while read -r machine suite package refusal; do
	kernel=$(kernels_get "$machine" "$suite" "$package")
	ok "$suite has a kernel for $machine" test -s "$kernel"
	[ "$machine" = amd64 ] && tests=$BUILD/tests || tests=$BUILD/$machine/tests
	for program in test_stack_recorder test_stack_probes; do
		kernels_run "$machine" "$kernel" "$tests/$program.t" >"$TMPDIR/out"
		diag "$(grep -ao 'kernel [0-9].*' "$TMPDIR/out" || tail -n 20 "$TMPDIR/out")"
		said=$(grep -a '^not ok\|SKIP\|^status' "$TMPDIR/out")
		if [ "$refusal" ]; then
			is "  $program is refused" "$said" "1..0 # SKIP $refusal"$'\n'"status 0"
			continue
		fi
		is "  $program passes in it" "$said" "status 0"
		ok "  in all of its checks" grep -qa "^1\\.\\.${checks[$program]}\$" "$TMPDIR/out"
	done
done < <(kernels)
tap_done
