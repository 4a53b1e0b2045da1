#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A JVM in a container -> a flame graph, on a Debian 12 with nothing installed.
#
#   sudo sh examples/demo/run.sh [SECONDS]
#
# Installs what is missing, builds dfg, starts Shop.java with runc (user 1000, read-only root, no
# capability, own pid and mount namespaces) and dfg's hook, and records it: hook -> injector -> agent ->
# shared volume -> perf -> graph. No daemon, no registry, no image: the container's /usr is this machine's,
# read-only. It can be run again; the container is deleted at the end.
set -eu
cd "$(dirname "$0")/../.."
. examples/common.sh
seconds=${1:-10}
id=dfg-demo
work=/var/tmp/dfg-demo

need_root
build_dfg demo

say "starting Shop.java in a runc container: uid 1000, read-only root, no capabilities"
runc delete -f $id >/dev/null 2>&1 || true
rm -rf $work
rootfs $work/rootfs
shop $work/rootfs/app
sed -e "s|@JAVA@|$java|" -e "s|@HOOK@|$build/libexec/dfg-hook|" \
	-e "s|@PAYLOAD@|$build/libexec/payload.squashfs|" examples/demo/config.json >$work/config.json
trap 'runc delete -f $id >/dev/null 2>&1 || true; rm -rf $work' EXIT INT TERM
runc run -d --bundle $work $id </dev/null >$work/shop.log 2>&1 || {
	echo "run.sh: the container does not start; runc and the hook said:" >&2
	cat $work/shop.log >&2
	exit 1
}
sleep 3 # let the compilers see the hot methods

say "dfg-trigger $id -d $seconds"
build/bin/dfg-trigger -d "$seconds" $id

say "open the .svg in a browser"
