#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests, on a Debian 12 with nothing installed:
#
#   sudo sh tests/run.sh            unit, golden, fuzz-corpus and lint tests, then the journeys in runc, crun,
#                                   Docker, containerd and podman with JDK 17 and 25, and in a browser
#   sudo sh tests/run.sh --full     adds clang with ASan+UBSan, TSan, an analyzer, arm64 in an emulation, JDK 8 to 27, engines of
#                                   other Debian suites, many containers, packages
#
# Installs what is missing and builds. Ends with prove's lines.
set -eu
cd "$(dirname "$0")/.."

case ${1:-} in
'') groups="demo test" jdks="25" ;;
--full) groups="demo test full compare wrk" jdks="8 11 17 21 25 26 27" DFG_FULL=1 ;;
*) echo "run.sh: unknown argument '$1': expected nothing or --full" >&2; exit 2 ;;
esac
[ "$(id -u)" = 0 ] || { echo "run.sh: needs root, for containers and perf: sudo sh $0" >&2; exit 1; }
export DFG_FULL="${DFG_FULL:-}"

sh packages.sh $groups

# Root file systems with other JDKs and, with FULL=1, the images of examples/compare are mostly downloads: they are made
# while the rest is built. Where that fails, the tests that need them make them again, and say what is wrong.
{
	tests/lib/jdk-roots.sh $jdks
	[ -z "${FULL:-}" ] || LOAD=wrk sh examples/compare/run.sh --images build/compare-images
} >/dev/null 2>&1 &
roots=$!
make -j"$(nproc)" all
make -j"$(nproc)" check
if [ -n "$DFG_FULL" ]; then
	make -j"$(nproc)" check-asan
	make -j"$(nproc)" check-tsan
	make check-analyze
	make check-arm64
fi
wait "$roots" || true
make check-e2e
