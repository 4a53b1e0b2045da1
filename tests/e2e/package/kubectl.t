#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kubectl dfg against two "nodes": the DaemonSet's pods are containers made of its image, with the rights of
# examples/kubernetes/dfg.yaml and a network namespace of their own; the pods are containers with a JVM. Only
# kubectl and the API server are stood in for.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/image.sh
need python3 ip
shop_setup
export KUBE=$SHOP/kube KUBECTL=$TOP/tests/e2e/package/kubectl-standin.sh PATH=$BUILD/bin:$PATH
mkdir "$KUBE"
# Network namespaces of its own.
mkdir -p /run/netns
mount -t tmpfs netns /run/netns
trap 'ip netns delete dfg-node-a; ip netns delete dfg-node-b; shop_teardown' EXIT
PLUGIN=$TOP/examples/kubernetes/kubectl-dfg
image_root || tap_cannot "the image's root file system"

manifest() {
	python3 -c 'import json, sys, yaml
print(json.dumps([d for d in yaml.safe_load_all(open(sys.argv[1])) if d["kind"] == sys.argv[2]][0]))' \
		examples/kubernetes/dfg.yaml "$1"
}

# What dfg.yaml says of the container, as the container's configuration.
node_start() {
	local name=dfg-$1 spec command
	spec=$(manifest DaemonSet | jq .spec.template.spec.containers[0])
	ip netns add "dfg-$1"
	mkdir -p "$KUBE/$1"
	mkdir -m 777 "$KUBE/$1/state" # as kubelet makes an emptyDir
	mapfile -t command < <(jq -r '.command[]' <<<"$spec")
	BUNDLE_CAPS=$(jq -r '.securityContext.capabilities.add[] | "CAP_" + .' <<<"$spec" | tr '\n' ' ') \
		BUNDLE_READONLY=$(jq -r 'select(.securityContext.readOnlyRootFilesystem) | 1' <<<"$spec") \
		BUNDLE_ENV=TMPDIR=/var/lib/dfg BUNDLE_MOUNTS=$KUBE/$1/state:/var/lib/dfg \
		BUNDLE_JQ=".linux.namespaces |= map(select(.type != \"pid\") | if .type == \"network\" then
			.path = \"/run/netns/dfg-$1\" else . end)
			| .mounts += [{destination: \"/sys\", type: \"sysfs\", source: \"sysfs\", options: [\"ro\", \"nosuid\", \"nodev\", \"noexec\"]}]" \
		bundle_make "$KUBE/$1" "$IMAGE" "${command[@]}"
	bundle_start "$name" "$KUBE/$1"
}

# A name as engines give it.
container_id() { printf %s "$1" | sha256sum | cut -c1-64; }

# pod NAME NODE APP WORKLOAD PHASE
pod() {
	jq -n --arg name "$1" --arg node "$2" --arg app "$3" --arg set "$4-5d9f8" --arg phase "$5" --arg id "$(container_id "$1")" '{
		metadata: {name: $name, namespace: (if $app == "dfg" then "dfg" else "shop" end),
			labels: {app: $app, "app.kubernetes.io/name": $app, "pod-template-hash": "5d9f8"},
			ownerReferences: [{kind: "ReplicaSet", name: $set, controller: true}]},
		spec: {nodeName: $node},
		status: {phase: $phase, containerStatuses: [{containerID: ("containerd://" + $id), state: {running: {}}}]}}'
}

# The containers the engine started for these; busy is the JVM's work in it.
pod_start() {
	SHOP_HOOK=none SHOP_JQ=".linux.resources.cpu = {quota: 30000, period: 100000}" shop_create "$(container_id "$1")"
}

for node in node-a node-b; do
	node_start $node || { cat "$KUBE/$node/log"; exit 1; }
done
for name in shop-1 shop-2 shop-3; do
	pod_start $name || exit 1
done
jq -n '{items: [{metadata: {name: "node-a"}}, {metadata: {name: "node-b"}}]}' >"$KUBE/nodes.json"
{
	pod dfg-node-a node-a dfg dfg Running
	pod dfg-node-b node-b dfg dfg Running
	pod shop-1 node-a shop shop Running
	pod shop-2 node-a shop shop Running
	pod shop-3 node-b shop shop Running
	pod shop-gone node-b shop shop Running # the API server tells late
	pod shop-waits node-b shop shop Pending
} | jq -s '{items: .}' >"$KUBE/pods.json"
for name in shop-1 shop-2 shop-3; do
	shop_wait "$(container_id $name)" || exit 1
done

record() {
	python3 "$PLUGIN" trigger -n shop -d 5 "$@" -o "$SHOP/graphs" >"$SHOP/said" 2>"$SHOP/errors"
}
said() { cat "$SHOP/said" "$SHOP/errors"; grep -q "$1" "$SHOP/said" "$SHOP/errors"; }
samples() { awk '{n += $NF} END {print n + 0}' "$1"; }

ok "one command records the pods of both nodes" record -l app=shop --per-pod
ok "and says how good it is" said "^shop/shop, 3 pods: .* complete [0-9]"
ok "without the pod that was gone" said "without shop-gone"
ok "one graph for the workload" grep -q 'Shop.priceOrder' "$SHOP/graphs/shop/shop/flame.folded"
for name in shop-1 shop-2 shop-3; do
	ok "one for $name" grep -q 'Shop.priceOrder' "$SHOP/graphs/shop/shop/$name/flame.folded"
done
ok "that keeps the pods apart" grep -q "shop-3" "$SHOP/graphs/shop/shop/flame.folded"
is "with the samples of all" "$(samples "$SHOP/graphs/shop/shop/flame.folded")" \
	"$(cat "$SHOP"/graphs/shop/shop/shop-?/flame.folded | awk '{n += $NF} END {print n}')"
ok "that have the names of libraries and the kernel" grep -qE '[A-Z][A-Za-z]*::[a-z_]+' "$SHOP/graphs/shop/shop/flame.folded"

# allowed <COMMANDS, a JSON array a line: whether dfg-exec.yaml lets all of them be executed
allowed() {
	python3 -c 'import json, re, sys, yaml
policy = list(yaml.safe_load_all(open("examples/kubernetes/dfg-exec.yaml")))[0]
allowed = json.loads(policy["spec"]["variables"][0]["expression"])
commands = [json.loads(line) for line in sys.stdin]
refused = [c for c in commands if any("\n" in a for a in c) or not any(re.search(a, "\n".join(c)) for a in allowed)]
print(refused)
sys.exit(bool(refused) or not commands)'
}
ok "dfg-exec.yaml allows what was executed" eval 'allowed <"$KUBE/executed"'
for command in '["sh"]' '["dfg-trigger","--json","-q","-d","5","-F","99","-f","pprof","--","x","-o","/etc"]' '["cat","/etc/shadow"]' \
	'["cat","/var/lib/dfg/containers/x/graphs/../../flame.pb.gz"]' '["rm","-rf","/var/lib/dfg"]' '["dfg-doctor\n--json"]'; do
	ok "  and not $command" eval '! allowed <<<"$command"'
done

is "the rights are enough to walk stacks in the kernel" "$(bundle_exec dfg-node-a dfg-trigger --json -q -d 2 --unwind bpf \
	-f pprof -o /var/lib/dfg/walked "$(container_id shop-1)" | jq -r .recorder)" bpf
rm -rf "$KUBE/node-a/state/walked"
is "nothing stays on the nodes" "$(find "$KUBE"/node-?/state -name perf.data)" ""

# A pod that ends while it is recorded gives what there was.
dies() {
	rm -rf "$SHOP/graphs"
	touch "$SHOP/mark"
	record -l app=shop --by none -d 30 &
	recording "$SHOP/mark"
	bundle_stop "$(container_id shop-2)"
	wait $!
}
ok "a pod that dies meanwhile" dies
ok "  is in the graph" said "^shop/shop, 3 pods"
ok "  --by none: stacks of all pods are one" eval 'head -n 3 "$SHOP/graphs/shop/shop/flame.folded"; ! grep -q "shop-[123]" "$SHOP/graphs/shop/shop/flame.folded"'

rm -rf "$SHOP/graphs"
record nothing-of-this-name
is "no such pod" "$?" 3
ok "is said in one line" said "no running pod nothing-of-this-name"

# An owner that a pod's author made up leads nowhere, neither on the disk nor on the terminal. Case 93.
forge() {
	jq --arg name "$1" '.items |= map(if .metadata.name == "shop-3" then .metadata.ownerReferences[0].name = $name else . end)' \
		"$KUBE/pods.json" >"$KUBE/pods.new" && mv "$KUBE/pods.new" "$KUBE/pods.json"
}
for name in ../../../elsewhere "$SHOP/absolute" $'\e]0;title\a' ..; do
	rm -rf "$SHOP/graphs"
	forge "$name"
	ok "a pod with the owner $(printf %q "$name")" record shop-3
	ok "  is called by its own name" said "^shop/shop-3: "
	is "  its graphs are there" "$(cd "$SHOP/graphs" && find . -name flame.folded)" ./shop/shop-3/flame.folded
	is "  nothing else is written" "$(find "$SHOP" -newer "$KUBE/pods.json" \( -name elsewhere -o -name absolute \))" ""
	is "  nor is a control character printed" "$(cat "$SHOP/said" "$SHOP/errors" | tr -d '\n' | grep -c '[[:cntrl:]]')" 0
done
forge shop-5d9f8

# Case 93: the same of names that the API server would not have accepted, of pods and of nodes.
cp "$KUBE/pods.json" "$KUBE/pods.good"
jq '.items += [.items[] | select(.metadata.name == "shop-1")
	| (.metadata.name = "../../../elsewhere", .metadata.name = "-x", .spec.nodeName = "\u001b]0;title\u0007", .metadata.namespace = "shop/..")]' \
	"$KUBE/pods.good" >"$KUBE/pods.json"
rm -rf "$SHOP/graphs"
ok "case 93: beside pods with names that are none" record -l app=shop
ok "  the others are recorded" said "^shop/shop, 2 pods"
ok "  and those are named" said 'left out: a pod with the name shop/../../../elsewhere on the node node-a'
is "  nothing else is written" "$(find "$SHOP" -name elsewhere)" ""
is "  nor is a control character printed" "$(cat "$SHOP/said" "$SHOP/errors" | tr -d '\n' | grep -c '[[:cntrl:]]')" 0
mv "$KUBE/pods.good" "$KUBE/pods.json"

# A node that names another file as the profile.
for path in /etc/shadow /var/lib/dfg/../../etc/graphs/2026/flame.pb.gz --help $'/var/lib/dfg/\e]0;title\a'; do
	: >"$KUBE/executed"
	KUBE_PATH=$path record shop-3
	status=$?
	is "case 93: a path $(printf %q "$path") that a node tells fails" $status 1
	ok "  and says so" said "not where a profile of $(container_id shop-3) is"
	is "  no command has it" "$(jq -r '.[0]' "$KUBE/executed")" dfg-trigger
	is "  nor is a control character printed" "$(cat "$SHOP/said" "$SHOP/errors" | tr -d '\n' | grep -c '[[:cntrl:]]')" 0
done

# A node that is not served.
jq '.items |= map(select(.metadata.name != "dfg-node-b"))' "$KUBE/pods.json" >"$KUBE/pods.new" && mv "$KUBE/pods.new" "$KUBE/pods.json"
record -l app=shop
is "a node without dfg is told by the status" "$?" 1
ok "and by its name" said "node node-b: dfg does not serve there"
ok "the others are recorded" said "^shop/shop"
ok "status tells it, too" bash -c "! python3 '$PLUGIN' status >'$SHOP/said'; grep -q 'node-b: not served' '$SHOP/said' && grep -q '^node-a: dfg-node-a' '$SHOP/said'"
tap_done
