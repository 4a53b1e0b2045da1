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
	local mirror=${DFG_MIRROR:-http://deb.debian.org/debian} p line
	mkdir -p "$ENGINES"
	[ -s "$BUILD/engines/Packages" ] ||
		{ engines_get "$mirror/dists/sid/main/binary-$(dpkg --print-architecture)/Packages.xz" \
			"$BUILD/engines/Packages.xz" && xz -dkf "$BUILD/engines/Packages.xz"; } || return 1
	for p; do
		[ -e "$BUILD/engines/$p.version" ] && continue
		line=$(awk -v RS= -v p="$p" 'index($0, "Package: " p "\n") == 1' "$BUILD/engines/Packages")
		engines_get "$mirror/$(sed -n 's/^Filename: //p' <<<"$line")" "$BUILD/engines/$p.deb" \
			"SHA256:$(sed -n 's/^SHA256: //p' <<<"$line")" &&
			dpkg -x "$BUILD/engines/$p.deb" "$ENGINES" &&
			sed -n 's/^Version: //p' <<<"$line" >"$BUILD/engines/$p.version" || return 1
		rm "$BUILD/engines/$p.deb"
	done
}

# A clean environment: the caller's proxies and certificates are not apt's.
engines_get() {
	env -i PATH="$PATH" /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$@" >/dev/null
}
