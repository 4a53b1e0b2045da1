#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# image.sh ROOT [DEB]: makes a root file system for the image of dfg.yaml in the new directory ROOT: Debian
# 12 and the package (default: the one `make deb` made). Needs root and debootstrap, and no registry. Then
#
#	tar -C ROOT -c . | docker import - dfg:0.1.0
#	tar -C ROOT -c . | ctr -n k8s.io images import …	(with an OCI layout; see README.md)
set -eu
root=${1:?where to?}
deb=${2:-$(ls "$(dirname "$0")"/../../build/deb/dfg_*.deb)}
mirror=${DFG_MIRROR:-http://deb.debian.org/debian}
[ ! -e "$root" ] || { echo "image.sh: $root is there already" >&2; exit 1; }

rm -rf "$root.part" # of a run that was interrupted
trap 'rm -rf "$root.part"' EXIT
debootstrap --variant=minbase bookworm "$root.part" "$mirror"
cp "$deb" "$root.part/dfg.deb"
# Only a clean environment goes in: paths of this machine mean nothing there.
unshare -m chroot "$root.part" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
	${http_proxy:+"http_proxy=$http_proxy"} sh -ec 'mount -t proc proc /proc
	apt-get update -q -o Acquire::Check-Valid-Until=false
	apt-get install -y -q --no-install-recommends /dfg.deb
	rm -rf /dfg.deb /var/lib/apt/lists/* /var/cache/apt/archives/*.deb'
mv "$root.part" "$root"
trap - EXIT
