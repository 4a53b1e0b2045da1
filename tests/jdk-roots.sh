#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jdk-roots.sh VERSION...: prints a line "VERSION ROOT HOME" for each JDK: the root file system it is
# in (/ for this machine's own) and its home there. What is missing is made of Debian's packages, in
# $BUILD/jdk/<suite> (a minute each; for good). DFG_JDK_ROOTS=DIR: roots made before, DIR/<suite>.
set -eu
BUILD=${BUILD:-build}
roots=${DFG_JDK_ROOTS:-$BUILD/jdk}
mirror=${DFG_MIRROR:-http://deb.debian.org/debian}

suite_of() {
	case $1 in
	17) echo / ;;
	21 | 25) echo trixie ;;
	8 | 11 | 26) echo sid ;;
	*) echo "jdk-roots.sh: no Debian suite is known for JDK $1" >&2 && return 1 ;;
	esac
}

# Under another name until it is whole: an interrupted run leaves nothing that looks ready.
make_root() {
	local root=$roots/$1

	[ ! -d "$root" ] || return 0
	mkdir -p "$roots"
	rm -rf "$root.part"
	debootstrap --variant=minbase "$1" "$root.part" "$mirror" >"$roots/$1.log" 2>&1 &&
		mv "$root.part" "$root"
}

# A mirror that stands still, as in CI, has dates that have passed.
install_jdk() {
	local root=$1 version=$2

	[ ! -d "$root/usr/lib/jvm/java-$version-openjdk-amd64" ] || return 0
	unshare -m chroot "$root" sh -ec "mount -t proc proc /proc
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -q -o Acquire::Check-Valid-Until=false
		apt-get install -y -q --no-install-recommends openjdk-$version-jdk-headless" \
		>"$root.log" 2>&1
}

for version; do
	suite=$(suite_of "$version")
	root=/
	if [ "$suite" != / ]; then
		root=$roots/$suite
		make_root "$suite" && install_jdk "$root" "$version" ||
			{ tail -n 5 "$roots/$suite.log" >&2; exit 1; }
	fi
	echo "$version $root /usr/lib/jvm/java-$version-openjdk-amd64"
done
