# SPDX-License-Identifier: Apache-2.0
# A root file system of Debian's packages for arm64, unpacked and not configured. Source it; for sh.
#
#   arm64_root DIR SUITE PACKAGE,...   makes it, unless it is there with these packages. Under another name until it is
#                                      whole: an interrupted run leaves nothing that looks ready.
arm64_root() {
	[ "$(cat "$1.packages" 2>/dev/null)" = "$2 $3" ] && return
	rm -rf "$1.part" "$1.debs"
	mkdir -p "$1.part"
	debootstrap --download-only --arch=arm64 --variant=minbase --include="$3" "$2" "$1.debs" \
		"${DFG_MIRROR:-http://deb.debian.org/debian}" >"$1.log" 2>&1 || { tail -n 5 "$1.log" >&2; return 1; }
	for deb in "$1.debs"/var/cache/apt/archives/*.deb; do
		dpkg-deb -x "$deb" "$1.part"
	done
	rm -rf "$1.debs" "$1"
	mv "$1.part" "$1"
	echo "$2 $3" >"$1.packages"
}
