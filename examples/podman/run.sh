#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# podman (as root): dfg's hook in a directory of hooks, a recording, and the directory empty again.
#
#   sudo sh examples/podman/run.sh [SECONDS]
#
# podman's stores and the directory of hooks are the example's own, in a scratch directory.
set -eu
cd "$(dirname "$0")/../.."
. examples/common.sh
example_begin podman
seconds=${1:-5}
hooks=$work/hooks.d

# The machine's podman, with other directories than its own; cgroupfs and files, as there may be no systemd.
podman() {
	XDG_RUNTIME_DIR='' command podman --root "$work/p/root" --runroot "$work/p/run" --tmpdir "$work/p/tmp" \
		--storage-driver vfs --cgroup-manager cgroupfs --events-backend file --runtime runc --hooks-dir "$hooks" "$@"
}

say "$(podman --version), with stores of the example's own"
mkdir -p "$work/p/tmp" "$hooks"
mkdir -m 1777 "$work/tmp"
rootfs "$work/rootfs"
shop "$work/app"

say "with dfg"
run dfg-setup install podman --file "$hooks/50-dfg.json"
at_end 'podman rm -f -t 0 dfg-podman >/dev/null 2>&1'
# The limits are those of a machine where root must not raise them, such as some of CI.
run podman run -d --name dfg-podman --network none --read-only --user 1000:1000 --security-opt label=disable \
	--cgroup-parent "$cgroup" --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 -v /usr:/usr:ro -v /etc:/etc:ro \
	-v "$work/app:/app:ro" -v "$work/tmp:/tmp" --rootfs "$work/rootfs" "$java" -Xmx256m -cp /app Shop 2
warm dfg-podman
run dfg-trigger -d "$seconds" -o "$out" dfg-podman

say "and without it"
run podman rm -f -t 0 dfg-podman
run dfg-setup remove podman --file "$hooks/50-dfg.json"
rmdir "$hooks" && echo "$hooks was empty"
