#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All tests, on a Debian 12 with nothing installed:  sudo sh tests/run.sh
#
# Installs what is missing, builds, and runs unit, golden, fuzz-corpus and lint tests with gcc, with
# clang, and under ASan+UBSan, then the end-to-end tests in real engines. Ends with prove's lines.
set -eu
cd "$(dirname "$0")/.."

[ "$(id -u)" = 0 ] || { echo "run.sh: needs root, for containers and perf: sudo sh $0" >&2; exit 1; }

missing=
for p in $(sed 's/#.*//' packages.txt | awk 'NF { print $2 }'); do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
if [ -n "$missing" ]; then
	echo "# installing from Debian:$missing"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

make -j"$(nproc)" all
make -j"$(nproc)" check-clang
make -j"$(nproc)" check-asan
make -j"$(nproc)" check
make check-e2e
