# SPDX-License-Identifier: Apache-2.0
# Engines of Debian's unstable suite, unpacked beside the system's. Source it after tap.sh.
#
#   engines_sid PACKAGE...   unpacks the packages, without what they depend on, below $ENGINES, which
#                            it sets; downloaded once per build folder. Those that are used here are
#                            static, or content with Debian 12's libc.
engines_sid() {
	ENGINES=$BUILD/engines/root
	(lock engines && engines_unpack "$@")
}

engines_unpack() {
	local p line
	mkdir -p "$ENGINES"
	[ -s "$BUILD/engines/Packages" ] || engines_list sid "$BUILD/engines/Packages" || return 1
	for p; do
		[ -e "$BUILD/engines/$p.version" ] && continue
		line=$(awk -v RS= -v p="$p" 'index($0, "Package: " p "\n") == 1' "$BUILD/engines/Packages")
		engines_deb "$line" "$BUILD/engines/$p.deb" &&
			dpkg -x "$BUILD/engines/$p.deb" "$ENGINES" &&
			sed -n 's/^Version: //p' <<<"$line" >"$BUILD/engines/$p.version" || return 1
		rm "$BUILD/engines/$p.deb"
	done
}

ENGINES_MIRROR=${DFG_MIRROR:-http://deb.debian.org/debian}
# engines_list SUITE FILE [MACHINE]: the suite's list of packages.
engines_list() {
	engines_get "$ENGINES_MIRROR/dists/$1/main/binary-${3:-$(dpkg --print-architecture)}/Packages.xz" "$2.xz" && xz -dkf "$2.xz"
}

# engines_deb ENTRY FILE: the package of an entry of such a list.
engines_deb() {
	engines_get "$ENGINES_MIRROR/$(sed -n 's/^Filename: //p' <<<"$1")" "$2" "SHA256:$(sed -n 's/^SHA256: //p' <<<"$1")"
}

# A clean environment: the caller's proxies and certificates are not apt's.
engines_get() {
	env -i PATH="$PATH" /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$@" >/dev/null
}
