#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-setup and containerd, of Debian 12 and of unstable: pods made through its CRI are what they were
# but for the mounts.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/engines.sh
. tests/lib/shop.sh
. tests/lib/setup.sh
. tests/lib/cri.sh
need containerd protoc curl
setup_setup
trap 'cri_stop; shop_teardown' EXIT
engines_sid golang-github-kubernetes-cri-api-dev containerd || tap_cannot "no containerd of unstable"

shop_for_pods
tiny='image { image: "dfg.test/shop:1" }'

# A specification without what is the hook's, and what no two containers share.
bare_spec() { jq -S 'del(.hooks, .annotations["io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.sandbox-uid"])' <<<"$1" | sed -E 's/[0-9a-f]{64}/ID/g; s/\/proc\/[0-9]+\//\/proc\/PID\//'; }
same_spec() { diff <(bare_spec "$1") <(bare_spec "$2"); }

with_containerd() {
	local v one two spec before sandbox pid
	CRI_BIN=$1
	cri_start || { ok "containerd starts" false; return; }
	v=$(cri Version '' | cri_field runtime_version)
	ok "containerd $v: an image" cri_image dfg.test/shop:1 "$SHOP/fs"
	CONF=$CRI_DIR/config.toml
	TOOL=(--file "$CONF" --program "$CRI_BIN/containerd")
	before=$(sha256sum <"$CONF")
	sandbox=$(cri_pod old)
	one=$(cri_container old shop "$SHOP_IN_POD")
	ok "  a pod without dfg" shop_works "$(cri_pid "$one")"
	spec=$(cri_spec "$one")
	pid=$(cri_pid "$one")

	ok "  install" setup install containerd "${TOOL[@]}"
	ok "    twice" setup install containerd "${TOOL[@]}"
	ok "    status" setup status containerd --file "$CONF" --root "$DFG_ROOT"
	ok "      tells that containerd has to be restarted" grep -q "containerd ($CRI_PID) is older than the change of $CONF" "$SHOP/setup"
	cri_restart
	is "    containerd starts with it" $? 0
	ok "      it has not to be any more" eval 'setup status containerd --file "$CONF" && ! grep restart "$SHOP/setup"'
	ok "    the pod runs on" test "$(cri_pid "$one")" = "$pid" -a -d "/proc/$pid"
	cri_pod new >/dev/null
	two=$(cri_container new shop "$SHOP_IN_POD")
	ok "    a pod's container starts, and works" shop_works "$(cri_pid "$two")"
	ok "    with the mounts" has_mounts "$(cri_pid "$two")"
	ok "    its specification has the hooks" eval 'cri_spec "$two" | jq -e ".hooks.createRuntime[0].path" >/dev/null'
	ok "    and is the same otherwise: rlimits, seccomp, AppArmor, all (case 74)" \
		same_spec "$spec" "$(cri_spec "$two")"
	is "    limits as before" "$(cat "/proc/$(cri_pid "$two")/limits")" "$(cat "/proc/$pid/limits")"
	ok "    so is the sandbox's" same_spec "$(cri_spec "$sandbox")" "$(cri_spec "$(cri_pod_id new)")"
	ok "    dfg-trigger draws it" graph "${two:0:12}"
	ok "    never = in dfg.conf" never

	ok "  remove, while they run" setup remove containerd "${TOOL[@]}"
	is "    config.toml is as it was" "$(sha256sum <"$CONF")" "$before"
	is "    no file is left" "$(cd "$CRI_DIR" && echo *dfg* config.toml*)" "*dfg* config.toml"
	cri_restart
	is "    containerd starts without it" $? 0
	cri_remove_pods
	is "    the shares are gone" "$(grep -c "$DFG_ROOT/containers" /proc/self/mountinfo)" 0
	cri_pod last >/dev/null
	one=$(cri_container last shop "$SHOP_IN_POD")
	ok "    a pod's container has no mounts" has_no_mounts "$(cri_pid "$one")"
	ok "    and the specification of before" same_spec "$spec" "$(cri_spec "$one")"
	cri_remove_pods
	with_ctr
	cri_stop
}

# By what containerd tells of each container: its pod's namespace.
never() {
	local id
	echo "never = io.kubernetes.cri.sandbox-namespace=sh*" >>"$SHOP/dfg/libexec/dfg.conf"
	id=$(cri_container new quiet "$tiny")
	sed -i '/^never/d' "$SHOP/dfg/libexec/dfg.conf"
	has_no_mounts "$(cri_pid "$id")" && jq -e '.status == "skip-optout"' "$DFG_ROOT/containers/$id/state.json"
}

# The device, by the field of the CRI and by annotation.
with_cdi() {
	local one two three
	CRI_BIN=$1
	cri_start || { ok "containerd starts" false; return; }
	cri_image dfg.test/shop:1 "$SHOP/fs"
	ok "containerd, CDI: install" setup install cdi --file "$CRI_DIR/cdi/dfg.json"
	cri_pod p >/dev/null
	one=$(cri_container p asks "CDI_devices { name: \"dfg.io/agent=on\" } $SHOP_IN_POD")
	ok "    a container that asks for it starts, and works" shop_works "$(cri_pid "$one")"
	ok "    with the mounts" has_mounts "$(cri_pid "$one")"
	ok "    dfg-trigger draws it" graph "${one:0:12}"
	two=$(cri_container p noted "annotations { key: \"cdi.k8s.io/dfg\" value: \"dfg.io/agent=on\" } $tiny")
	ok "    one that asks by annotation has them" has_mounts "$(cri_pid "$two")"
	three=$(cri_container p silent "$tiny")
	ok "    one that does not ask has none" has_no_mounts "$(cri_pid "$three")"
	ok "    remove" setup remove cdi --file "$CRI_DIR/cdi/dfg.json"
	is "      leaves nothing" "$(ls "$CRI_DIR/cdi")" ""
	cri_remove_pods
	is "    the shares are gone" "$(grep -c "$DFG_ROOT/containers" /proc/self/mountinfo)" 0
	cri_pod last >/dev/null
	ok "    a container starts as before" has_no_mounts "$(cri_pid "$(cri_container last c "$tiny")")"
	cri_stop
}

# What does not use CRI: dfg-runtime in runc's place.
with_ctr() {
	local ctr=("$CRI_BIN/ctr" -a "$CRI_SOCKET") pid
	ok "  ctr run --runc-binary dfg-runtime" "${ctr[@]}" run -d --runc-binary "$SHOP/dfg/libexec/dfg-runtime" \
		--rootfs "$SHOP/fs" by-ctr /pause wait
	pid=$("${ctr[@]}" task ls | awk '$1 == "by-ctr" {print $2}')
	ok "    with the mounts" has_mounts "$pid"
	"${ctr[@]}" task kill -s KILL by-ctr
	wait_for "${ctr[@]}" task rm by-ctr
	"${ctr[@]}" container rm by-ctr
	is "    removed: the share is gone" "$(grep -c "$DFG_ROOT/containers" /proc/self/mountinfo)" 0
}

# As Debian's file: nothing of runtimes.
with_containerd /usr/bin < <(cri_config)
# As kubeadm's users have it, in the old format.
with_containerd "$ENGINES/usr/bin" < <(cri_config && cat <<'END'
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
END
)
config_3() {
	cat <<'END'
version = 3
root = '@DIR@/r'
state = '@DIR@/s'
[grpc]
  address = '@DIR@/c.sock'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = 'dfg.test/shop:1'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
END
}
with_containerd "$ENGINES/usr/bin" < <(config_3)
with_cdi "$ENGINES/usr/bin" < <(config_3 && echo "  cdi_spec_dirs = ['@DIR@/cdi']")
"$HOOK" --release --root "$DFG_ROOT" >/dev/null
is "no mount of ours is left" "$(grep -c " $DFG_ROOT" /proc/self/mountinfo)" 0
tap_done
