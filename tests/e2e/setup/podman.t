#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-setup and podman 5, of Debian 13: in a mount namespace whose root is that, as a host's is (a chroot
# is left by who enters a container's mount namespace, as the hook does).
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
bundle_own_namespace "$@"
. tests/lib/shop.sh
. tests/lib/setup.sh
. tests/lib/podman.sh
need debootstrap
setup_setup
trap 'podman_stop; kill "$keeper"; shop_teardown' EXIT
SHOP_HOOK=none

read -r _ lower home < <(BUILD=$BUILD tests/lib/jdk-roots.sh 25) || tap_cannot "no root file system of Debian 13"
root=$SHOP/trixie
mkdir -p "$SHOP"/{upper,work,trixie}
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$SHOP/upper,workdir=$SHOP/work" "$root" || tap_cannot "an overlay"
for d in proc sys dev; do mount --rbind "/$d" "$root/$d"; done
# The same paths there as here.
mkdir -p "$root/$SHOP"
mount --bind "$SHOP" "$root/$SHOP"
unshare -m sh -c 'cd "$0" && pivot_root . mnt && umount -l /mnt && exec sleep infinity' "$root" &
keeper=$!
inside() {
	nsenter --mount="/proc/$keeper/ns/mnt" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		DFG_ROOT="$DFG_ROOT" ${http_proxy:+"http_proxy=$http_proxy"} "$@"
}
wait_for inside test ! -e "$SHOP/trixie/bin"
inside sh -ec 'apt-get update -q -o Acquire::Check-Valid-Until=false
	apt-get install -y -q --no-install-recommends podman runc \
		linux-perf libbpf1 libjansson4 libseccomp2 libdw1t64' >"$SHOP/apt" 2>&1 || { tail -n 3 "$SHOP/apt"; tap_cannot "podman of Debian 13"; }
podman_setup inside PODMAN_IGNORE_CGROUPSV1_WARNING=1 podman
JAVA=$home/bin/java
# dfg-trigger has to be where the hook was.
printf '%s\n' '#!/bin/bash' "keeper=$keeper" "$(declare -f inside)" "inside $SHOP/dfg/bin/dfg-trigger \"\$@\"" >"$SHOP/trigger"
chmod +x "$SHOP/trigger"
DFG=$SHOP/trigger POD_HOST=$keeper
# Where podman looks when nobody tells it where.
podman_journey "$root/usr/share/containers/oci/hooks.d/50-dfg.json"
tap_done
