#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package in a fresh Debian 12: installed, upgraded and removed while a container runs with it.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/image.sh
shop_setup
image_root || tap_cannot "the package, or a Debian to install it in"

# A system of its own, that changes.
mkdir "$SHOP"/{upper,work,system}
mount -t overlay overlay -o "lowerdir=$IMAGE,upperdir=$SHOP/upper,workdir=$SHOP/work" "$SHOP/system" ||
	tap_cannot "an overlay file system"
system=$SHOP/system
inside() {
	unshare -m chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		sh -ec 'mount -t proc proc /proc; mount -t sysfs sys /sys; exec "$@"' sh "$@"
}
# The package with another version, and another agent.
newer() {
	dpkg-deb -R "$DEB" "$SHOP/deb" &&
		sed -i 's/^Version: .*/&+1/' "$SHOP/deb/DEBIAN/control" &&
		rm "$SHOP/deb/usr/libexec/dfg/payload.squashfs" &&
		printf new >>"$SHOP/deb/usr/libexec/dfg/payload/libdfg-agent.so" &&
		mksquashfs "$SHOP/deb/usr/libexec/dfg/payload" "$SHOP/deb/usr/libexec/dfg/payload.squashfs" -all-root \
			-no-progress -quiet >/dev/null &&
		dpkg-deb -b "$SHOP/deb" "$system/new.deb" >/dev/null
}
agent_of() { sha256sum <"/proc/$(bundle_pid "$1")/root/dev/dfg/libdfg-agent.so"; }
start() {
	HOOK=$system/usr/libexec/dfg/dfg-hook PAYLOAD=$system/usr/libexec/dfg/payload.squashfs shop_start "$1"
}
# Whatever has the name in its path.
left() { (cd "$system" && find "$@" -path '*dfg*' ! -path 'var/lib/dpkg/*' ! -path 'var/lib/dfg*'); }

for program in trigger doctor setup top diff merge; do
	ok "dfg-$program runs there" inside "dfg-$program" --version
done
ok "what each links with is there" inside sh -c '! ldd /usr/bin/dfg-* | grep "not found"'
for page in dfg-trigger.1 dfg-doctor.1 dfg-setup.8 dfg-hook.8; do
	ok "$page is readable" zgrep -q '^\.TH' "$system/usr/share/man/man${page##*.}/$page.gz"
done
ok "what it is made of" sh -c 'zcat -f "$1"* | jq -e "(.files | length) >= 12"' sh "$system/usr/share/doc/dfg/dfg.spdx.json"
ok "bash completes" test -e "$system/usr/share/bash-completion/completions/dfg-trigger"

ok "a container starts with its hook" start before
old=$(agent_of before)
ok "the newer package is installed over it" newer
ok "  while the container runs" inside dpkg -i /new.deb
is "which keeps the agent it began with (case 59)" "$(agent_of before)" "$old"
ok "and is recorded" trigger -d 1 -o "$SHOP/graphs" --source agent before
ok "a container that starts now" start after
ok "  has the new one" test "$(agent_of after)" != "$old"

ok "an engine uses the hook" inside dfg-setup install -q podman
ok "the package is removed" inside dpkg -r dfg
is "with all its files" "$(left usr etc)" ""
ok "the containers run on (case 72)" trigger -d 1 -o "$SHOP/graphs" before after
ok "it is purged" inside dpkg -P dfg
is "and nothing is left" "$(left usr etc var; ls -d "$system/var/lib/dfg" 2>/dev/null)" ""
tap_done
