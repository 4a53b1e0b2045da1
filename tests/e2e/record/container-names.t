#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every name people use finds the container: Docker's, podman's, those of containerd's namespaces, and the
# pods of a real CRI. The engines are of the test's own, at paths that dfg does not know, and are not asked.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/docker.sh
. tests/lib/engines.sh
. tests/lib/shop.sh
. tests/lib/setup.sh
. tests/lib/cri.sh
need containerd dockerd docker podman protoc curl
shop_setup
POD=(podman --root "$SHOP/p/root" --runroot "$SHOP/p/run" --tmpdir "$SHOP/p/tmp" --storage-driver vfs
	--cgroup-manager cgroupfs --events-backend file --runtime runc)
export XDG_RUNTIME_DIR=
stop_all() {
	"${POD[@]}" rm -af -t 0 >/dev/null 2>&1
	docker_stop
	ctr_stop
	cri_stop
	shop_teardown
}
trap stop_all EXIT
engines_sid golang-github-kubernetes-cri-api-dev || tap_cannot "no protocol file of the CRI"
bundle_static "$SHOP/fs"
mkdir -p "$SHOP/fs"/{usr,etc,srv,var,run} "$SHOP/ptmp"
chmod 1777 "$SHOP/ptmp"
for d in bin sbin lib lib64; do ln -s "usr/$d" "$SHOP/fs/$d"; done
cp "$SHOP/fs/app" "$SHOP/fs/pause"

listed() { "$DFG" --list --json >"$SHOP/list" 2>"$SHOP/err"; }
label_of() { jq -r --arg id "$1" '.containers[] | select(.id == $id).label' "$SHOP/list"; }
# One line, exit status 3.
refuses() {
	"$DFG" -d 1 "$1" >"$SHOP/out" 2>"$SHOP/err"
	[ $? = 3 ] && [ "$(wc -l <"$SHOP/err")" = 1 ] && grep -qF "$2" "$SHOP/err" || { cat "$SHOP/err"; return 1; }
}
says() { grep -qF "$1" "$SHOP/err"; }
recorded() { json 'if .recordings then .recordings[] else . end | .container | [.namespace, .pod, .name] | join("/")' | sort | tr '\n' ' '; }
finds() { trigger -d 1 "$1"; [ "$(json .container.id)" = "$2" ] || { json .; cat "$SHOP/err"; return 1; }; }

# ---- Kubernetes' pods ----
cri_start < <(cri_config)
is "containerd starts" $? 0
cri_image dfg.test/shop:1 "$SHOP/fs"
image='image { image: "dfg.test/shop:1" }'
java="$image $(pod_command "$JAVA" -Xmx256m -cp /srv Shop 1 20)
	$(pod_mount /usr /usr) $(pod_mount /etc /etc) $(pod_mount "$SHOP/app" /srv) $(pod_mount "$SHOP/ptmp" /tmp false)"
cri_pod cart-1 >/dev/null
app=$(cri_container cart-1 app "$java")
proxy=$(cri_container cart-1 proxy "$image")
cri_pod pay-1 >/dev/null
other=$(cri_container pay-1 app "$image")
ok "a pod's containers are listed" listed
is "  by namespace, pod and name" "$(label_of "$app") $(label_of "$proxy") $(label_of "$other")" \
	"shop/cart-1/app shop/cart-1/proxy shop/pay-1/app"
is "  but not the pause containers" "$(jq '[.containers[] | select(.namespace == "shop")] | length' "$SHOP/list")" 3
# In a mount namespace without the engine's directories, as in a pod.
in_pod() {
	unshare -m sh -c 'mount -t tmpfs none "$1" && shift && exec setpriv --bounding-set -all,+sys_ptrace,+dac_read_search,+setuid,+setgid \
		--inh-caps -all "$@"' sh "$CRI_DIR" "$DFG" --list --json >"$SHOP/list" 2>"$SHOP/err"
}
ok "  with the rights of the DaemonSet, too" in_pod
is "    by all their names" "$(label_of "$app")" shop/cart-1/app
wait_for eval 'listed; [ "$(jq -r --arg id "$app" ".containers[] | select(.id == \$id).jvms" "$SHOP/list")" = 1 ]'
ok "dfg-trigger namespace/pod, whose other container has no JVM" trigger -d 2 -F 499 -f folded,pprof shop/cart-1
is "  records all its containers" "$(recorded)" "shop/cart-1/app shop/cart-1/proxy "
ok "  a graph for each" test -s "$(json '.recordings[] | select(.container.name == "app").graphs.folded')" -a \
	-e "$(json '.recordings[] | select(.container.name == "proxy").graphs.folded')"
PROFILE=$(json '.recordings[] | select(.container.name == "app").graphs.pprof')
SESSION=$(json '.recordings[] | select(.container.name == "app").session')
ok "  into one directory" trigger -d 1 -f folded -o "$SHOP/out-dir" shop/cart-1
is "    by their names" "$(ls "$SHOP/out-dir" | tr '\n' ' ')" "shop.cart-1.app shop.cart-1.proxy "
ok "  and links by name" test -e "$DFG_ROOT/by-name/shop.cart-1.app"

# The table of texts: each follows the tag, which is a "2", and its length.
labels() { gzip -dc "$1" | tr -c '[:graph:]' '\n' | sed 's/2$//' | grep -xE 'pid|tid|thread|container|pod|namespace|host|cart-1|shop|app' | sort -u | tr '\n' ' '; }
all="app cart-1 container host namespace pid pod shop thread tid "
is "  pprof has the labels" "$(labels "$PROFILE")" "$all"
ok "  a replay" "$DFG" -q --replay "$SESSION" -f pprof -o "$SHOP/again"
is "    has them, too" "$(labels "$SHOP/again/flame.pb.gz")" "$all"
ok "  a merge" "$BUILD/bin/dfg-merge" -q -f pprof -o "$SHOP/merged" "$SESSION" "$SHOP/again/flame.pb.gz"
is "    has them, too" "$(labels "$SHOP"/merged/*.pb.gz)" "$all"

finds_app() { finds "$1" "$app"; }
ok "one container: namespace/pod/container" finds_app shop/cart-1/app
ok "  pod/container" finds_app cart-1/app
ok "  its id" finds_app "${app:0:13}"
ok "  its name, where no other has it" finds proxy "$proxy"
ok "a name that two have (case 68)" refuses app "shop/cart-1/app"
ok "  names the other, too" says "shop/pay-1/app"
ok "no such pod" refuses shop/none "no running container \"shop/none\""
ok "no such container" refuses shop/cart-1/none "no running container"
doctor() { "$BUILD/bin/dfg-doctor" --json "$@" >"$SHOP/doctor" 2>"$SHOP/err"; }
doctor shop/cart-1/app
is "dfg-doctor finds it" "$(jq -r '.container | .namespace + "/" + .pod + "/" + .name' "$SHOP/doctor")" shop/cart-1/app
doctor shop/cart-1
is "  and takes one at a time" "$?" 3
ok "    naming them" says "shop/cart-1/app, shop/cart-1/proxy"
ok "dfg-top takes a pod" eval '"$BUILD/bin/dfg-top" -n 1 -d 1 --json shop/cart-1 | jq -e ".threads[] | select(.name | startswith(\"shop/cart-1/app/\"))"'

# ---- containers that say they are others, while those run ----
group_of() { awk -F: 'length($3) > length(best) {best = $3; c = $2} END {print (c == "" ? "unified" : c) best}' "/proc/$1/cgroup"; }
# moved PID NAME: into a cgroup of this name below its own, as its own root may do it.
moved() {
	local dir
	dir=/sys/fs/cgroup/$(group_of "$1" | sed 's/^name=//')
	[ -d "$dir" ] || dir=/sys/fs/cgroup/$(group_of "$1" | sed 's/^unified//')
	mkdir "$dir/$2" && echo "$1" >"$dir/$2/cgroup.procs"
}
BUNDLE_HOOK_ARGS=(--root "$DFG_ROOT" --payload "$PAYLOAD" --conf "$SHOP/hook.conf")
forger() { BUNDLE_HOOK=$HOOK BUNDLE_ANNOTATIONS=$2 bundle_make "$SHOP/$1" "$SHOP/fs" /app wait && bundle_start "$1" "$SHOP/$1"; }
forged_of() { jq -r --arg id "$1" '.containers[] | select(.id == $id) | .label + " " + (.forged | tostring)' "$SHOP/list"; }
ok "a runc container whose annotation says that it is a pause container" forger hides io.kubernetes.cri-o.ContainerType=sandbox
ok "  one that says that it is another pod" forger poses io.kubernetes.cri.sandbox-name=cart-1
ok "  and one that says nothing" forger quiet ""
ok "they are listed" listed
is "  each by its id, with a mark where it lies: case 87" "$(forged_of hides), $(forged_of poses), $(forged_of quiet)" \
	"hides true, poses true, quiet false"
is "  in the list for people, too" "$("$DFG" --list | grep -c '(claims to be another)$')" 2
ok "the pod is recorded as before" trigger -d 1 -f folded shop/cart-1
is "  without the forger: case 87" "$(recorded)" "shop/cart-1/app shop/cart-1/proxy "
ok "the one that hides is found: case 87" finds hides hides
ok "a container's cgroup is named after another container: case 89" moved "$(bundle_pid quiet)" "$app"
listed
is "  which keeps its process: case 89" "$(jq -r --arg id "$app" '.containers[] | select(.id == $id).pid' "$SHOP/list")" "$(cri_pid "$app")"
is "  and is listed once" "$(jq --arg id "$app" '[.containers[] | select(.id == $id)] | length' "$SHOP/list")" 1
ok "  and is recorded" trigger -d 1 -f folded "$app"
is "    without the other's process: case 89" \
	"$(jq --argjson pid "$(bundle_pid quiet)" '[.processes[] | select(.pid == $pid)] | length' "$(json .session)/session.json")" 0
ok "a JVM's container starts" shop_start systemd
ok "  its init moves into a cgroup below, as systemd does: case 88" moved "$(bundle_pid systemd)" init.scope
listed
is "  it is listed with its JVM: case 88" "$(jq -r '.containers[] | select(.id == "systemd").jvms' "$SHOP/list")" 1
ok "  and recorded" trigger -d 2 -f folded systemd
is "    with the JVM: case 88" "$(json '.jvms[0].pid')" "$(bundle_pid systemd)"
for id in hides poses quiet systemd; do bundle_stop $id; done

# ---- containerd's namespaces, in the same containerd ----
CTR=("$CRI_BIN/ctr" -a "$CRI_SOCKET")
ctr_stop() {
	local n
	[ -n "${CRI_DIR:-}" ] || return 0
	for n in names-a names-b; do
		"${CTR[@]}" -n $n tasks kill -s KILL worker; "${CTR[@]}" -n $n containers delete worker
	done >/dev/null 2>&1
	wait "${ctrs[@]}" 2>/dev/null
	rmdir /sys/fs/cgroup/{,*/}names-[ab] 2>/dev/null
}
ctrs=()
listed_in() { listed; jq -e --arg n "$1" '.containers[] | select(.id == "worker" and .namespace == $n)' "$SHOP/list"; }
while "$DFG" --list --json; do :; done >"$SHOP/lists" 2>/dev/null &
lister=$!
for n in names-a names-b; do
	"${CTR[@]}" -n $n run --rootfs "$SHOP/fs" worker /app wait >"$SHOP/ctr.$n" 2>&1 &
	ctrs+=($!)
	ok "ctr run, namespace $n" wait_for listed_in $n
done
kill $lister
wait $lister 2>/dev/null
is "while they are made, the runtime is not taken for one of them" \
	"$(jq -r '.containers[] | select(.id == "worker").namespace' "$SHOP/lists" 2>/dev/null | sort -u | tr '\n' ' ')" "names-a names-b "
is "containers of ctr, in two namespaces" "$(jq -r '.containers[] | select(.id == "worker").namespace' "$SHOP/list" | sort | tr '\n' ' ')" "names-a names-b "
ok "  by namespace and id" finds names-b/worker worker
pid=$("${CTR[@]}" -n names-b tasks ls | awk '$1 == "worker" {print $2}')
is "    that one" "$(jq -r '.processes[0].pid' "$(json .session)/session.json")" "$pid"
ok "  by id alone: which?" refuses worker "names-a/worker, names-b/worker"
ctr_stop
cri_stop

# ---- Docker, podman ----
DOCKER_JSON='{}'
docker_start || { ok "dockerd starts" false; tap_done; exit; }
docker_image tiny "$SHOP/fs"
run() { docker_cli run -d --stop-timeout 0 "$@" tiny /app wait; }
web=$(run --name web --network none)
shares=$(run --name shares --network container:web)
kubelets=$(run --name k8s_app_old-1_shop_uid_0 --network none)
labelled=$(run --name k8s_app --network none --label io.kubernetes.pod.name=old-1 --label io.kubernetes.pod.namespace=shop --label io.kubernetes.container.name=app)
DOCKER_HOST= listed
is "Docker's names, without asking Docker" "$(label_of "$web") $(label_of "$shares")" "web shares"
is "  in the kubelet's form, too" "$(label_of "$kubelets")" "shop/old-1/app"
is "  labels, which are an image's or its user's, are no names: case 87" "$(forged_of "$labelled")" "k8s_app true"
ok "  find the container" finds web "$web"
docker_cli rename web front
ok "  the new one, too" finds front "$web"
ok "  not the old one" refuses web "no running container"

pod_run() { env -u DOCKER_CONFIG "${POD[@]}" run -d --name "$1" ${2:+--annotation "$2"} --network none --cgroups enabled --cgroup-parent "/$BOX" --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --security-opt label=disable --rootfs "$SHOP/fs" /app wait 2>"$SHOP/podman.err"; }
cart=$(pod_run cart)
[ -n "$cart" ] || diag "$(cat "$SHOP/podman.err")"
ok "podman's name" finds cart "$cart"
"${POD[@]}" rename cart basket 2>/dev/null
ok "  the new one, too" finds basket "$cart"
ok "  not the old one" refuses cart "no running container"
posing=$(pod_run k8s_app_old-1_shop_uid_1 io.kubernetes.pod.name=old-1)
hiding=$(pod_run hidden io.kubernetes.cri-o.ContainerType=sandbox)
listed
is "podman's annotations and names put it in no pod: case 87" "$(forged_of "$posing")" "k8s_app_old-1_shop_uid_1 true"
is "  nor hide it: case 87" "$(forged_of "$hiding")" "hidden true"
ok "  and the pod of this name is the other one" finds shop/old-1 "$kubelets"
twin=$(pod_run front)
[ -n "$twin" ] || diag "$(cat "$SHOP/podman.err")"
ok "a name that both have (case 68)" refuses front "${web:0:16} (front)"
ok "  names the other, too" says "${twin:0:16} (front)"
tap_done
