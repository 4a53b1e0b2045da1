#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# containerd, as Kubernetes uses it: a pod made through the Container Runtime Interface, with dfg's hook, a recording,
# and containerd's configuration as it was.
#
#   sudo sh examples/containerd/run.sh [SECONDS]
#
# containerd is the example's own, with data, socket and config.toml in a scratch directory. Where crictl is not
# installed, ./crictl stands in for it, with the protocol file of Debian's package of it.
set -eu
cd "$(dirname "$0")/../.."
. examples/common.sh
example_begin containerd
seconds=${1:-5}
dir=$work/containerd
conf=$dir/config.toml

find_crictl() {
	command -v crictl >/dev/null && return
	debian_unstable golang-github-kubernetes-cri-api-dev
	export CRI_PROTO="$engines/usr/share/gocode/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.proto"
	PATH=$PATH:$PWD/examples/containerd
}

configure() {
	mkdir -p "$dir"
	cat >"$conf" <<-END
		version = 2
		root = "$dir/r"
		state = "$dir/s"
		[grpc]
		  address = "$dir/socket"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "dfg.example/shop:1"
		  restrict_oom_score_adj = true
	END
	export CONTAINER_RUNTIME_ENDPOINT="unix://$dir/socket"
}
start_containerd() {
	daemon "$dir/containerd" containerd --config "$conf"
	wait_for ctr -a "$dir/socket" version || { tail -n 5 "$dir/containerd.log" >&2; return 1; }
}

# An image of one layer without files but a program that waits, which the pod itself runs; "docker save" writes such.
import_image() {
	rootfs "$work/rootfs"
	echo '#include <unistd.h>
int main(void) { pause(); }' | cc -static -o "$work/rootfs/pause" -x c -
	tar -C "$work/rootfs" --owner=0 --group=0 -cf "$work/layer.tar" .
	echo '{"architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/pause"]}, "rootfs":
		{"type": "layers", "diff_ids": ["sha256:'"$(sha256sum <"$work/layer.tar" | cut -c1-64)"'"]}}' >"$work/config.json"
	echo '[{"Config": "config.json", "RepoTags": ["dfg.example/shop:1"], "Layers": ["layer.tar"]}]' >"$work/manifest.json"
	tar -C "$work" -c manifest.json config.json layer.tar | ctr -a "$dir/socket" -n k8s.io images import - >/dev/null
}

start_pod() {
	shop "$work/app"
	mkdir -m 1777 "$work/tmp"
	for file in pod.json container.json; do
		sed -e "s|@JAVA@|$java|; s|@DIR@|$work|; s|@CGROUP@|$cgroup|" "examples/containerd/$file" >"$work/$file"
	done
	pod=$(run crictl runp "$work/pod.json")
	at_end 'crictl rmp -f "$pod" >/dev/null 2>&1'
	id=$(run crictl create "$pod" "$work/container.json" "$work/pod.json")
	run crictl start "$id" >/dev/null
	warm dfg-example/web
}

find_crictl
say "a containerd of the example's own: $(containerd --version)"
configure
start_containerd
import_image
cp "$conf" "$work/before"

say "with dfg"
run dfg-setup install containerd --file "$conf"
stop "$dir/containerd" # and started again: the pods that there were would run on
start_containerd
start_pod
run dfg-trigger -d "$seconds" -o "$out" dfg-example/web

say "and without it"
run crictl rmp -f "$pod" >/dev/null
run dfg-setup remove containerd --file "$conf"
unchanged "$conf" "$work/before"
