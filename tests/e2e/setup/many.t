#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A hundred containers at once, a few of them JVMs, by containerd and by Docker with dfg in them: all start,
# all have the mounts, nothing stays.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/docker.sh
. tests/lib/engines.sh
. tests/lib/shop.sh
. tests/lib/setup.sh
. tests/lib/cri.sh
need containerd dockerd docker protoc curl
setup_setup
trap 'cri_stop; docker_stop; shop_teardown' EXIT
engines_sid golang-github-kubernetes-cri-api-dev || tap_cannot "no protocol file of the CRI"
COUNT=${COUNT:-100} JVMS=${JVMS:-5}
shop_for_pods

# at_once COMMAND...: with the numbers 1 to COUNT, all at the same time; what each prints is in $SHOP/many/N.
at_once() {
	local i pids=() from
	rm -rf "$SHOP/many"
	mkdir "$SHOP/many"
	from=$(date +%s%N)
	for i in $(seq "$COUNT"); do
		"$@" "$i" >"$SHOP/many/$i" 2>"$SHOP/many/$i.error" || touch "$SHOP/many/$i.failed" &
		pids+=($!)
	done
	wait "${pids[@]}"
	diag "$COUNT containers in $((($(date +%s%N) - from) / 1000000)) ms"
	cat "$SHOP"/many/*.error | sort | uniq -c | head -n 5 | sed 's/^/# /'
}
failures() { find "$SHOP/many" -name '*.failed' | wc -l; }
# count COMMAND...: of the processes that PID_OF tells by what was printed
count() {
	local i n=0
	for i in $(seq "$COUNT"); do "$@" "$(${PID_OF} "$(cat "$SHOP/many/$i")")" && n=$((n + 1)); done
	echo "$n"
}
jvms_work() {
	local i
	for i in $(seq "$JVMS"); do shop_works "$($PID_OF "$(cat "$SHOP/many/$i")")" || return 1; done
}
states() { jq -r .status "$DFG_ROOT"/containers/*/state.json | sort | uniq -c; }
devices() { losetup -n -O BACK-FILE -l | grep -c "$SHOP"; }

all_is_well() {
	is "$1, $COUNT containers at once: failed starts" "$(failures)" 0
	is "  with the mounts" "$(count has_mounts)" "$COUNT"
	is "  what the hooks say" "$(states | tr -s ' ')" " $COUNT mounted"
	ok "  the JVMs among them work" jvms_work
	is "  one payload, one loop device" "$(devices)" 1
}
nothing_stays() {
	is "  removed: the shares are gone" "$(grep -c "$DFG_ROOT/containers" /proc/self/mountinfo)" 0
	is "  and their directories" "$(ls "$DFG_ROOT/containers")" ""
}

# ---- containerd: each in a pod of its own, whose sandbox does not begin with the base specification ----
pod() {
	local config='image { image: "dfg.test/shop:1" }'
	[ "$1" -gt "$JVMS" ] || config=$SHOP_IN_POD
	cri_pod "many$1" >/dev/null && cri_container "many$1" c "$config"
}
cri_start < <(cri_config) || tap_cannot "containerd does not start"
cri_image dfg.test/shop:1 "$SHOP/fs"
setup install containerd --file "$CRI_DIR/config.toml"
cri_restart
PID_OF=cri_pid
at_once pod
all_is_well containerd
setup remove containerd --file "$CRI_DIR/config.toml"
cri_remove_pods
nothing_stays
cri_stop

# ---- Docker ----
pid_of() { docker_cli inspect -f '{{.State.Pid}}' "$1"; }
container() {
	[ "$1" -gt "$JVMS" ] || { shop_in_docker "many$1" --cpus 0.5 && echo "many$1"; return; }
	docker_cli run -d --name "many$1" --stop-timeout 0 --network none tiny /pause wait
}
docker_start || tap_cannot "dockerd does not start"
docker_image tiny "$SHOP/fs"
docker_image shop host
setup install docker --file "$DOCKER_DIR/daemon.json"
PID_OF=pid_of
at_once container
all_is_well Docker
# One at a time: libnetwork of Docker 20.10 locks itself up for good when fifty endpoints go at once.
docker_cli ps -aq | xargs -n 1 docker rm -f >/dev/null
nothing_stays
setup remove docker --file "$DOCKER_DIR/daemon.json"
docker_stop

"$HOOK" --release --root "$DFG_ROOT" >/dev/null
is "no mount of ours is left" "$(grep -c " $DFG_ROOT" /proc/self/mountinfo)" 0
is "nor a loop device" "$(devices)" 0
tap_done
