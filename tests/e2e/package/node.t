#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# examples/kubernetes/dfg-node.yaml on a "node": a containerd whose pods are made through its CRI, as a kubelet makes
# them, with the manifest's image, commands, rights and host paths. They are the test's own in a mount namespace.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
bundle_own_namespace "$@"
. tests/lib/engines.sh
. tests/lib/shop.sh
. tests/lib/setup.sh
. tests/lib/cri.sh
. tests/lib/image.sh
need containerd protoc curl python3
setup_setup
trap 'cri_stop; shop_teardown' EXIT
engines_sid golang-github-kubernetes-cri-api-dev || tap_cannot "no protocol file of the CRI"
image_root || tap_cannot "the image's root file system"
shop_for_pods


for d in /opt /etc/containerd /var/lib/dfg; do
	mkdir -p $d && mount -t tmpfs -o mode=755 tmpfs $d
done
mkdir "$SHOP"/{config,tmp-volume}
export DFG_ROOT=/var/lib/dfg
CONF=/etc/containerd/config.toml

# container CONTAINER [ARG]: what dfg-node.yaml says of it, as a kubelet tells it to containerd; with another argument
container() {
	python3 - "$SHOP" "$@" <<'END'
import json, sys, yaml
scratch, name, *args = sys.argv[1:]
objects = {o['kind']: o for o in yaml.safe_load_all(open('examples/kubernetes/dfg-node.yaml'))}
for file, text in objects['ConfigMap']['data'].items():
    # A machine full of tests needs more than the usual 250 ms.
    open(f'{scratch}/config/{file}', 'w').write(text + ('budget_ms = 30000\n' if file == 'dfg.conf' else ''))
pod = objects['DaemonSet']['spec']['template']['spec']
c = next(c for c in pod.get('initContainers', []) + pod['containers'] if c['name'] == name)
paths = {v['name']: v['hostPath']['path'] if 'hostPath' in v else f'{scratch}/config' if 'configMap' in v
         else f'{scratch}/tmp-volume' for v in pod['volumes']}
rights = c['securityContext']
text = lambda b: str(b).lower()
print('image { image: "%s" }' % c['image'])
print(' '.join('command: ' + json.dumps(w) for w in c['command']), ' '.join('args: ' + json.dumps(w) for w in args or c.get('args', [])))
for m in c['volumeMounts']:
    print('mounts { host_path: "%s" container_path: "%s" readonly: %s }' % (paths[m['name']], m['mountPath'], text(m.get('readOnly', False))))
print('linux { security_context { run_as_user { value: %d } readonly_rootfs: %s privileged: %s no_new_privs: %s' % (
    rights['runAsUser'], text(rights['readOnlyRootFilesystem']), text(rights['privileged']), text(not rights['allowPrivilegeEscalation'])))
print('  namespace_options { network: NODE %s } seccomp { profile_type: %s } capabilities { %s } } }' % (
    'pid: NODE' if pod['hostPID'] else '', rights['seccompProfile']['type'],
    ' '.join('drop_capabilities: "%s"' % d for d in rights['capabilities']['drop'])))
END
}
# setup_container NAME [ARG]: runs it to its end
setup_container() {
	local id
	id=$(cri_container dfg "$1" "$(container setup "${@:2}")") || return 1
	wait_for eval "cri ContainerStatus 'container_id: \"$id\"' | grep -q CONTAINER_EXITED"
	cat "$CRI_DIR/$1.log"
	! cri ContainerStatus "container_id: \"$id\"" | grep -q '^  exit_code'
}
# ready: the probe's exit status
ready() {
	local words
	words=$(python3 -c 'import json, yaml
d = [o for o in yaml.safe_load_all(open("examples/kubernetes/dfg-node.yaml")) if o["kind"] == "DaemonSet"][0]
print(" ".join("cmd: " + json.dumps(w) for w in d["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["exec"]["command"]))')
	cri ExecSync "container_id: \"$STATUS\" $words timeout: 10" >"$SHOP/probe" && ! grep -q '^exit_code' "$SHOP/probe"
}
shop_pod() { cri_pod "$1" >/dev/null && cri_container "$1" shop "$SHOP_IN_POD"; }

cri_start < <(cri_config) || tap_cannot "containerd does not start"
cp "$CRI_DIR/config.toml" $CONF
before=$(sha256sum <$CONF)
CRI_CONFIG=$CONF
cri_restart
cri_image dfg.test/shop:1 "$SHOP/fs"
cri_image dfg:0.1.0 "$IMAGE"

CRI_NAMESPACES=$(container status | grep -o 'pid: NODE')
cri_pod dfg >/dev/null
ok "the DaemonSet's pod installs the hook on the node" setup_container install
ok "  the hook is the node's" test -x /opt/dfg/libexec/dfg-hook
ok "  containerd's configuration names it" grep -q /opt/dfg/libexec/dfg-hook /etc/containerd/dfg-base.json
STATUS=$(cri_container dfg status "$(container status)")
CRI_NAMESPACES=
ok "  it is not ready" eval '! ready'
cri_restart
ok "containerd is restarted: it is ready" ready
one=$(shop_pod web)
ok "  a pod's container starts, and works" shop_works "$(cri_pid "$one")"
ok "  with the mounts" has_mounts "$(cri_pid "$one")"
ok "  dfg-trigger draws it" graph "${one:0:12}"
ok "a newer image: installed again" setup_container again
ok "  still ready: nothing changed for containerd" ready

ok "the manifest with remove" setup_container remove remove
is "  config.toml is as it was" "$(sha256sum <$CONF)" "$before"
is "  no other file is there" "$(ls /etc/containerd)" config.toml
ok "  it is not ready" eval '! ready'
ok "  a pod that starts before the restart still finds the hook (case 72)" has_mounts "$(cri_pid "$(shop_pod between)")"
cri_restart
ok "containerd is restarted: it is ready" ready
ok "  a pod's container has no mounts" has_no_mounts "$(cri_pid "$(shop_pod last)")"
cri_remove_pods
is "the shares are gone" "$(grep -c "$DFG_ROOT/containers" /proc/self/mountinfo)" 0
is "on the node stay" "$(cd /opt/dfg && find . -type f | sort | tr '\n' ' ')" \
	"./bin/dfg-setup ./libexec/dfg-hook ./libexec/dfg.conf ./libexec/payload.squashfs "
tap_done
