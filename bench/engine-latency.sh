#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What dfg adds to the start of a container, engine by engine, as dfg-setup installs it: the time of the command
# that starts a container of one static program, with and without dfg by turns, and the hook's own measure.
#
#	bench/engine-latency.sh [RUNS] [ENGINE]...      default: 50 of each, 4 minutes
#
# runc, crun    create (the hook runs in it) and start
# docker        docker run -d, with the default runtime and with runc
# docker-cdi    docker run -d, with and without the device, on a newer Docker
# podman        podman run -d, with and without hooks.d
# containerd    StartContainer of the CRI, with a handler that has the base specification, and one that has not
#
# Root; what tests/e2e/setup/*.t need. "mounted": within the usual budget of 250 ms.
cd "$(dirname "$0")/.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
bundle_own_namespace "$@"
. tests/lib/docker.sh
. tests/lib/engines.sh
. tests/lib/shop.sh
. tests/lib/setup.sh
. tests/lib/podman.sh
. tests/lib/cri.sh
. bench/timed.sh
RUNS=${1:-50}
shift
[ $# -gt 0 ] || set -- runc crun docker docker-cdi podman containerd
setup_setup
echo "root = $DFG_ROOT" >"$SHOP/dfg/libexec/dfg.conf"
trap 'podman_stop; cri_stop; docker_stop; shop_teardown' EXIT
FAILURES=$SHOP/failures
: >"$FAILURES"
bundle_static "$SHOP/static"
cp "$SHOP/static/app" "$SHOP/static/pause"

# by_turns ENGINE VERSION START STOP: both are called with "none" or "dfg".
by_turns() {
	local name=$1 kind i
	for i in $(seq 0 "$RUNS"); do
		for kind in none dfg; do
			[ -z "${BEFORE:-}" ] || $BEFORE "$kind"
			timed "$SHOP/$name.$kind" "$3" "$kind"
			[ "$kind" = none ] || jq -r '"\(.hook_us) \(.status)"' "$DFG_ROOT"/containers/*/state.json >>"$SHOP/$name.states"
			"$4" "$kind" >/dev/null 2>&1
		done
		[ "$i" != 0 ] || rm -f "$SHOP/$name".* # the first one is warmer than none
	done
	paste "$SHOP/$name.none" "$SHOP/$name.dfg" | awk '{print $2 - $1}' >"$SHOP/$name.added"
	cut -d' ' -f1 "$SHOP/$name.states" >"$SHOP/$name.self"
	printf '%-22s' "$name $2"
	for kind in none added self; do printf ' |%s' "$(percentiles "$SHOP/$name.$kind")"; done
	printf ' | %d\n' "$(grep -c ' mounted$' "$SHOP/$name.states")"
}

bundles() {
	bundle_runtime "$1"
	bundle_make "$SHOP/bundle/$1.none" "$SHOP/static" /app wait
	bundle_make "$SHOP/bundle/$1.dfg" "$SHOP/static" /app wait
	setup install "$1" --bundle "$SHOP/bundle/$1.dfg"
	bundle_begin() { bundle_start "x$1" "$SHOP/bundle/$ENGINE.$1"; }
	bundle_end() { bundle_stop "x$1"; }
	ENGINE=$1 by_turns "$1" "$("$1" --version | sed -n '1s/.* //p')" bundle_begin bundle_end
}

docker_end() { docker_cli rm -f box; }
with_docker() {
	DOCKER_JSON=$2
	docker_start || return
	docker_image tiny "$SHOP/static"
	docker_run() { docker_cli run -d --name box --network none "$@" tiny /app wait; }
	setup install "${1#docker-}" --file "${3:-$DOCKER_DIR/daemon.json}"
	by_turns "$1" "$(docker_cli version --format '{{.Server.Version}}')" "$4" docker_end
	docker_stop
}
wrapped() { docker_run --runtime "$([ "$1" = dfg ] && echo dfg || echo runc)"; }
by_device() { docker_run $([ "$1" = none ] || echo --device dfg.io/agent=on); }

podmen() {
	podman_setup
	setup install podman --file "$SHOP/hooks.d/50-dfg.json"
	mkdir "$SHOP/none.d"
	pod_begin() {
		podman_run x --hooks-dir "$SHOP/$([ "$1" = dfg ] && echo hooks.d || echo none.d)" -- --rootfs "$SHOP/p/empty" sleep infinity
	}
	by_turns podman "$(podman --version | sed 's/.* //')" pod_begin podman_stop
}

# Both handlers in one containerd; the container is made ahead, since only its start runs the hook.
pods() {
	cri_start <<-END || return
		version = 2
		root = "@DIR@/r"
		state = "@DIR@/s"
		[grpc]
		  address = "@DIR@/c.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "dfg.test/tiny:1"
		  restrict_oom_score_adj = true
	END
	cri_image dfg.test/tiny:1 "$SHOP/static"
	setup install containerd --file "$CRI_DIR/config.toml"
	printf '%s\n' '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.none]' \
		'  runtime_type = "io.containerd.runc.v2"' >>"$CRI_DIR/config.toml"
	cri_restart
	pod_made() {
		local pod
		pod=$(cri RunPodSandbox "runtime_handler: \"$([ "$1" = dfg ] && echo runc || echo none)\" config { $(cri_sandbox x) }" |
			cri_field pod_sandbox_id)
		CONTAINER=$(cri CreateContainer "pod_sandbox_id: \"$pod\" sandbox_config { $(cri_sandbox x) }
			config { metadata { name: \"c\" } image { image: \"dfg.test/tiny:1\" } log_path: \"c.log\" }" | cri_field container_id)
	}
	pod_begin() { cri StartContainer "container_id: \"$CONTAINER\""; }
	BEFORE=pod_made by_turns containerd "$(cri Version '' | cri_field runtime_version)" pod_begin cri_remove_pods
	cri_stop
}

engines_sid golang-github-kubernetes-cri-api-dev containerd docker.io docker-cli || exit
echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs, Linux $(uname -r); $RUNS starts of each kind, ms"
printf '%-22s |%26s |%26s |%26s | %s\n' '' 'without: p50 p99 max' 'added' "the hook's own measure" mounted
for engine; do
	case $engine in
	runc | crun) bundles "$engine" ;;
	docker) with_docker docker '{}' '' wrapped ;;
	docker-cdi)
		DOCKER_BIN=$ENGINES/usr/bin DOCKER_SBIN=$ENGINES/usr/sbin with_docker docker-cdi \
			'{"features": {"cdi": true}, "cdi-spec-dirs": ["'"$SHOP/cdi"'"]}' "$SHOP/cdi/dfg.json" by_device ;;
	podman) podmen ;;
	containerd) pods ;;
	esac
done
echo "failed: $(wc -l <"$FAILURES"); load average $(cut -d' ' -f1-3 /proc/loadavg)"
[ ! -s "$FAILURES" ] || { sort "$FAILURES" | uniq -c; exit 1; }
