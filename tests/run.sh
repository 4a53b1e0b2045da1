#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All tests, on a Debian 12 with nothing installed:  sudo sh tests/run.sh
#
# Installs what is missing, builds, and runs unit, golden, fuzz-corpus and lint tests with gcc, with
# clang, under ASan+UBSan, and for arm64 in an emulation, then the end-to-end tests in real engines.
# Ends with prove's lines.
set -eu
cd "$(dirname "$0")/.."

[ "$(id -u)" = 0 ] || { echo "run.sh: needs root, for containers and perf: sudo sh $0" >&2; exit 1; }

sh packages.sh demo test

make -j"$(nproc)" all
make -j"$(nproc)" check-clang
make -j"$(nproc)" check-asan
make check-arm64
make -j"$(nproc)" check
make check-e2e
