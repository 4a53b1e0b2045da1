# SPDX-License-Identifier: Apache-2.0
# podman with stores of the test's own. Source it after tap.sh, bundle.sh and shop.sh.
#
#   podman_setup [COMMAND…]   POD: podman (or what COMMAND runs) with runc, and below $SHOP/p/empty a root file
#                             system in which the host's /usr and /etc fit
#   podman_run NAME [--hooks-dir DIR] -- [OPTION…] COMMAND…   a container of it, detached
#   podman_shop NAME [--hooks-dir DIR]      with a Shop in it
#   podman_pid NAME
#   podman_stop               removes all containers
#   podman_journey FILE [--hooks-dir DIR]   checks (setup.sh): FILE is installed in the directory of hooks, a Shop
#                             gets the mounts and is recorded, FILE is removed, and nothing is left.
#                             POD_HOST: a process in podman's mount namespace, when it is another one
podman_setup() {
	local d
	[ $# -gt 0 ] || set -- podman
	POD=("$@" --root "$SHOP/p/root" --runroot "$SHOP/p/run" --tmpdir "$SHOP/p/tmp" --storage-driver vfs
		--cgroup-manager cgroupfs --events-backend file --runtime runc)
	mkdir -p "$SHOP"/p/{tmp,work,empty/{proc,sys,dev,tmp,run,var,root,usr,etc,app}}
	chmod 1777 "$SHOP/p/work"
	for d in bin sbin lib lib64; do ln -s "usr/$d" "$SHOP/p/empty/$d"; done
	export XDG_RUNTIME_DIR=
}

podman_run() {
	local name=$1 global=()
	shift
	while [ "$1" != -- ]; do global+=("$1"); shift; done
	shift
	"${POD[@]}" "${global[@]}" run -d --name "$name" --network none --read-only --cgroup-parent "/${BOX:-libpod_parent}" \
		--ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --user 1000:1000 --security-opt label=disable \
		-v /usr:/usr:ro -v /etc:/etc:ro "$@" >/dev/null
}
podman_shop() {
	podman_run "$@" -- -v "$SHOP/app:/app:ro" -v "$SHOP/p/work:/tmp" --rootfs "$SHOP/p/empty" \
		"$JAVA" -Xmx256m -cp /app Shop 2 20
}
podman_pid() { "${POD[@]}" inspect -f '{{.State.Pid}}' "$1"; }
podman_stop() { "${POD[@]}" rm -af -t 0 >/dev/null 2>&1; }

podman_journey() {
	local file=$1 id
	shift
	ok "podman $("${POD[@]}" version -f '{{.Client.Version}}'): install" setup install podman --file "$file"
	ok "  twice" setup install podman --file "$file"
	ok "  status" setup status podman --file "$file"
	ok "  a container starts" podman_shop web "$@"
	ok "  and works" shop_works "$(podman_pid web)"
	ok "  with the mounts" has_mounts "$(podman_pid web)"
	id=$("${POD[@]}" inspect -f '{{.Id}}' web)
	ok "  dfg-trigger draws it" graph "${id:0:12}"
	is "  podman diff: nothing of ours" "$("${POD[@]}" diff web 2>/dev/null | grep -c dfg)" 0
	ok "  remove, while it runs" setup remove podman --file "$file"
	is "    no file is left" "$(ls "${file%/*}")" ""
	podman_stop
	is "    the share is gone" "$(grep -c "$DFG_ROOT/containers" "/proc/${POD_HOST:-self}/mountinfo")" 0
	ok "    a container starts" podman_shop bare "$@"
	ok "    without mounts" has_no_mounts "$(podman_pid bare)"
	podman_stop
}
