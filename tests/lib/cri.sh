# SPDX-License-Identifier: Apache-2.0
# Pods through the Container Runtime Interface of a containerd of the test's own, as a kubelet makes
# them. Source it after tap.sh and engines.sh; needs protoc and curl (a gRPC call without streams is
# one HTTP/2 request). The protocol file is Kubernetes' own, of Debian's package of it.
#
#   cri_start <CONFIG        containerd with this config.toml, in which @DIR@ is a new directory CRI_DIR
#                            for all that is its own; CRI_BIN: where its programs are (/usr/bin)
#                            CRI_CONFIG: another file that it reads from its next start on
#   cri_config               one of the second format as Debian's is: nothing of runtimes
#   cri_restart              stops containerd, which leaves pods alone, and starts it again
#   cri_image NAME DIR       makes an image of a directory; its command is /pause
#   cri METHOD REQUEST       calls it with the request in protobuf's text format; prints the response
#   cri_pod NAME             makes a sandbox in the host's network; prints its id. CRI_NAMESPACES="pid: NODE":
#                            and among its processes (for its containers, too)
#   cri_container POD NAME CONFIG   makes and starts a container in it; prints its id
#   cri_pid ID, cri_spec ID  its first process; its OCI specification
#   cri_stop                 removes all pods, stops containerd, deletes
CRI_BIN=${CRI_BIN:-/usr/bin}

cri_start() {
	CRI_DIR=$(mktemp -d /tmp/dfg-cri.XXXXXX)
	CRI_SOCKET=$CRI_DIR/c.sock
	sed "s|@DIR@|$CRI_DIR|g" >"$CRI_DIR/config.toml"
	export CRI_PROTO=$ENGINES/usr/share/gocode/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.proto
	cri_daemon
}

cri_config() {
	cat <<'END'
version = 2
root = "@DIR@/r"
state = "@DIR@/s"
[grpc]
  address = "@DIR@/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "dfg.test/shop:1"
  restrict_oom_score_adj = true
END
}

cri_daemon() {
	PATH=$CRI_BIN:$PATH "$CRI_BIN/containerd" --config "${CRI_CONFIG:-$CRI_DIR/config.toml}" \
		>>"$CRI_DIR/containerd.log" 2>&1 &
	CRI_PID=$!
	wait_for cri Version '' || { tail -n 5 "$CRI_DIR/containerd.log"; return 1; }
}

cri_restart() {
	kill "$CRI_PID"
	wait "$CRI_PID" 2>/dev/null
	cri_daemon
}

cri_image() {
	local name=$1 dir=$2 t=$CRI_DIR/image sum
	mkdir -p "$t"
	tar -C "$dir" --owner=0 --group=0 --numeric-owner -cf "$t/layer.tar" .
	sum=$(sha256sum <"$t/layer.tar")
	jq -nc --arg sum "sha256:${sum%% *}" '{architecture: "amd64", os: "linux",
		config: {Entrypoint: ["/pause", "wait"]}, rootfs: {type: "layers", diff_ids: [$sum]}}' >"$t/config.json"
	jq -nc --arg name "$name" '[{Config: "config.json", RepoTags: [$name], Layers: ["layer.tar"]}]' \
		>"$t/manifest.json"
	tar -C "$t" -cf "$CRI_DIR/image.tar" manifest.json config.json layer.tar
	"$CRI_BIN/ctr" -a "$CRI_SOCKET" -n k8s.io images import "$CRI_DIR/image.tar" >/dev/null
	rm -rf "$t" "$CRI_DIR/image.tar"
}

cri() { CONTAINER_RUNTIME_ENDPOINT=$CRI_SOCKET TMPDIR=$CRI_DIR sh "$TOP/examples/containerd/crictl" call "$1" <<<"$2"; }

cri_sandbox() {
	printf 'metadata { name: "%s" namespace: "shop" uid: "%s" } log_directory: "%s"
		linux { cgroup_parent: "/'"${BOX:-k8s.io}"'" security_context { namespace_options { network: NODE %s } } }' "$1" "$1" "$CRI_DIR" "${CRI_NAMESPACES:-}"
}
cri_field() { sed -n "s/^ *$1: \"\\(.*\\)\"\$/\\1/p"; }
cri_pod() { cri RunPodSandbox "config { $(cri_sandbox "$1") }" | cri_field pod_sandbox_id; }
cri_container() {
	local id
	id=$(cri CreateContainer "pod_sandbox_id: \"$(cri_pod_id "$1")\" sandbox_config { $(cri_sandbox "$1") }
		config { metadata { name: \"$2\" } log_path: \"$2.log\" $3 }" | cri_field container_id)
	[ -n "$id" ] && cri StartContainer "container_id: \"$id\"" >/dev/null && echo "$id"
}
cri_pod_id() {
	cri ListPodSandbox '' | awk -v n="$1" '/^items/ {id = ""} /^  id:/ {id = $2} /^    name:/ && $2 == "\"" n "\"" {print id}' |
		tr -d '"'
}
cri_bundle() { echo "$CRI_DIR/s/io.containerd.runtime.v2.task/k8s.io/$1"; }
cri_pid() { cat "$(cri_bundle "$1")/init.pid"; }
cri_spec() { cat "$(cri_bundle "$1")/config.json"; }

cri_remove_pods() {
	local id pids=()
	for id in $(cri ListPodSandbox '' | sed -n 's/^  id: "\(.*\)"$/\1/p'); do
		{
			cri StopPodSandbox "pod_sandbox_id: \"$id\"" >/dev/null
			cri RemovePodSandbox "pod_sandbox_id: \"$id\"" >/dev/null
		} &
		pids+=($!)
		[ $((${#pids[@]} % 8)) != 0 ] || wait "${pids[@]}"
	done
	[ "${#pids[@]}" = 0 ] || wait "${pids[@]}" # not for containerd
}

cri_stop() {
	local m
	[ -n "${CRI_DIR:-}" ] || return 0
	cri_remove_pods
	kill "$CRI_PID" 2>/dev/null
	wait "$CRI_PID" 2>/dev/null
	for m in $(awk -v d="$CRI_DIR/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r); do
		umount -l "$m" 2>/dev/null
	done
	rm -rf --one-file-system "$CRI_DIR"
	unset CRI_DIR
}
