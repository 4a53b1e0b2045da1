#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jdk-roots.sh VERSION...: prints a line "VERSION ROOT HOME" for each JDK: the root file system it is
# in (/ for this machine's own) and its home there. What is missing is made of Debian's packages, in
# $BUILD/jdk/<suite> (a minute each; for good). DFG_JDK_ROOTS=DIR: roots made before, DIR/<suite>.
set -eu
roots=$(readlink -m "${DFG_JDK_ROOTS:-${BUILD:-$(dirname "$0")/../../build}/jdk}")
mkdir -p "$roots"
exec 9>"$roots.lock"
flock 9 # one at a time makes them
mirror=${DFG_MIRROR:-http://deb.debian.org/debian}

suite_of() {
	case $1 in
	17) echo / ;;
	21 | 25) echo trixie ;;
	8 | 11 | 26 | 27) echo sid ;;
	*) echo "jdk-roots.sh: no Debian suite is known for JDK $1" >&2 && return 1 ;;
	esac
}

# Under another name until it is whole: an interrupted run leaves nothing that looks ready.
make_root() {
	local root=$roots/$1

	[ ! -d "$root" ] || return 0
	rm -rf "$root.part"
	debootstrap --variant=minbase "$1" "$root.part" "$mirror" >"$roots/$1.log" 2>&1 &&
		mv "$root.part" "$root"
}

# JDK 8's libjvm.so has no symbols, which its debug file has: that alone is taken of its package, without what it depends on.
# A mirror that stands still, as in CI, has dates that have passed. Only a clean environment goes in:
# paths of this machine's certificates (SSL_CERT_FILE) break the installation of those in there.
install_jdk() {
	local root=$1 version=$2

	! grep -A 2 "^Package: openjdk-$version-jdk-headless$" "$root/var/lib/dpkg/status" | grep -q "ok installed" ||
		{ [ "$version" = 8 ] && [ ! -d "$root/usr/lib/debug/.build-id" ]; } || return 0
	unshare -m chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		${http_proxy:+"http_proxy=$http_proxy"} sh -ec "mount -t proc proc /proc
		apt-get update -q -o Acquire::Check-Valid-Until=false
		apt-get install -y -q --no-install-recommends openjdk-$version-jdk-headless
		[ $version != 8 ] || { apt-get download -q openjdk-8-dbg && dpkg -x openjdk-8-dbg_*.deb / && rm openjdk-8-dbg_*.deb; }" \
		>"$root.log" 2>&1
}

# All JDKs of one suite.
make_suite() {
	local suite=$1 version

	shift
	make_root "$suite" || return
	for version; do
		[ "$(suite_of "$version")" != "$suite" ] || install_jdk "$roots/$suite" "$version" || return
	done
}

for version; do
	suite=$(suite_of "$version")
	[ "$suite" != / ] || continue
	case " ${suites:=} " in *" $suite "*) ;; *) suites="$suites $suite" ;; esac
done
for suite in ${suites:-}; do
	make_suite "$suite" "$@" || { tail -n 15 "$roots/$suite.log" >&2; touch "$roots/failed.$$"; } &
done
wait
[ ! -e "$roots/failed.$$" ] || { rm "$roots/failed.$$"; exit 1; }

for version; do
	suite=$(suite_of "$version")
	[ "$suite" = / ] || suite=$roots/$suite
	echo "$version $suite /usr/lib/jvm/java-$version-openjdk-amd64"
done
