#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kubectl dfg against two "nodes": the DaemonSet's pods are containers made of its image, with the rights of
# examples/kubernetes/dfg.yaml and a network namespace of their own; the pods are containers with a JVM. kubectl is
# the real one; only the API server and the kubelets are stood in for (apiserver.py).
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/image.sh
. tests/lib/engines.sh
need python3 ip script
engines_sid kubectl || tap_cannot "no kubectl"
shop_setup
export KUBE=$SHOP/kube KUBECONFIG=$SHOP/kube/config HOME=$SHOP
export PATH=$TOP/examples/kubernetes:$BUILD/bin:$ENGINES/usr/bin:$PATH
mkdir "$KUBE"
# Network namespaces of its own.
mkdir -p /run/netns
mount -t tmpfs netns /run/netns
trap 'ip netns delete dfg-node-a; ip netns delete dfg-node-b; kill $API; shop_teardown' EXIT
python3 tests/e2e/package/apiserver.py "$KUBE" &
API=$!
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
	BUNDLE_CAPS="$(jq -r '.securityContext.capabilities.add[] | "CAP_" + .' <<<"$spec" | tr '\n' ' ')${2:-}" \
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
		spec: {nodeName: $node, containers: [{name: $app, resources: {limits: {cpu: "300m"}}}]},
		status: {phase: $phase, containerStatuses: [{name: $app, containerID: ("containerd://" + $id), state: {running: {}}}]}}'
}

# The containers the engine started for these; busy is the JVM's work in it.
pod_start() {
	SHOP_HOOK=none SHOP_JQ=".linux.resources.cpu = {quota: 30000, period: 100000}" shop_create "$(container_id "$1")"
}

node_start node-a || { cat "$KUBE/node-a/log"; exit 1; }
# Kernels from 6.10 on have probes without CAP_SYS_ADMIN; for others dfg.yaml has a line.
joins() { printf '6.10\n%s\n' "$(uname -r)" | sort -CV; }
node_start node-b $(joins || echo CAP_SYS_ADMIN) || { cat "$KUBE/node-b/log"; exit 1; }
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
} | jq -s '{items: .} | .items[4].metadata.labels.tier = "one"' >"$KUBE/pods.json"
jq -n '{items: [
	{kind: "Deployment", metadata: {name: "shop"}, spec: {selector: {matchLabels: {app: "shop"}}}},
	{kind: "StatefulSet", metadata: {name: "one"}, spec: {selector: {matchLabels: {app: "shop"}, matchExpressions: [
		{key: "tier", operator: "In", values: ["one", "two"]}, {key: "tier", operator: "NotIn", values: ["three"]},
		{key: "pod-template-hash", operator: "Exists"}, {key: "canary", operator: "DoesNotExist"}]}}},
	{kind: "DaemonSet", metadata: {name: "none"}, spec: {selector: {matchLabels: {app: "none"}}}}]
	| map(.metadata.namespace = "shop")}' >"$KUBE/workloads.json"
wait_for test -s "$KUBE/port" || exit 1
kubectl config set-cluster here --server="http://127.0.0.1:$(cat "$KUBE/port")" >/dev/null
kubectl config set-context here --cluster=here --namespace=shop >/dev/null # and no current one
for name in shop-1 shop-2 shop-3; do
	shop_wait "$(container_id $name)" || exit 1
done

# dfg ARG...: kubectl dfg, with its output in $SHOP/said and $SHOP/errors
dfg() { kubectl dfg --context here "$@" >"$SHOP/said" 2>"$SHOP/errors"; }
record() { dfg -q -d 1 "$@" -o "$SHOP/graphs"; }
said() { cat "$SHOP/said" "$SHOP/errors"; grep -qE -- "$1" "$SHOP/said" "$SHOP/errors"; }
samples() { awk '{n += $NF} END {print n + 0}' "$1"; }

ok "one command records the pods of both nodes" record deploy/shop --per-pod -d 5s
ok "and says what they did" said "^  cpu +[0-9.]+ of limit 0.90.*; application [0-9]+ %"
ok "  in which methods" said "^  method .* Shop\."
ok "  how good it is" said "^  samples .* [0-9.]+ % of Java stacks complete"
ok "  for the workload" said "^shop/shop, 3 pods on 2 nodes$"
ok "  and for each pod" said "^shop/shop-3$"
ok "without the pod that was gone" said "without shop-gone"
ok "one graph for the workload" grep -q 'Shop.priceOrder' "$SHOP/graphs/shop/shop/flame.folded"
for name in shop-1 shop-2 shop-3; do
	ok "one for $name" grep -q 'Shop.priceOrder' "$SHOP/graphs/shop/shop/$name/flame.folded"
done
ok "that keeps the pods apart" grep -q "shop-3" "$SHOP/graphs/shop/shop/flame.folded"
is "with the samples of all" "$(samples "$SHOP/graphs/shop/shop/flame.folded")" \
	"$(cat "$SHOP"/graphs/shop/shop/shop-?/flame.folded | awk '{n += $NF} END {print n}')"
ok "that have the names of libraries and the kernel" grep -qE '[A-Z][A-Za-z]*::[a-z_]+' "$SHOP/graphs/shop/shop/flame.folded"

is "the rights are enough to walk stacks in the kernel" "$(bundle_exec dfg-node-a dfg-trigger --json -q -d 2 --unwind bpf \
	-f pprof -o /var/lib/dfg/walked "$(container_id shop-1)" | jq -c '[.recorder, .samples > 0, .fallback < 0.5]')" '["bpf",true,true]'
rm -rf "$KUBE/node-a/state/walked"
is "nothing stays on the nodes" "$(find "$KUBE"/node-?/state -name perf.data)" ""

ok "-e wall: all the time of all threads" record deploy/shop -e wall -d 3
ok "  as time" said "^  wall +[0-9]+[.][0-9] s · (100|99[.][0-9]) % of Java stacks complete"
for name in shop-1 shop-2 shop-3; do
	ok "  by cause, of $name" grep -q "^shop[.]$name[.][0-9a-f]*[.]pb[.]gz;shop-worker-[*];sleep;.*java.lang.Thread.sleep" "$SHOP/graphs/shop/shop/flame.folded"
done
ok "-e alloc: what they allocate" record deploy/shop -e alloc -d 3
ok "  by which method" said "^  alloc +[0-9.]+ %  .*, allocated by "
cuts=$(bundle_exec dfg-node-a dfg-trigger --json -q -d 1 -e alloc -f pprof -o /var/lib/dfg/alloc "$(container_id shop-1)" | jq -r '.cut | length')
ok "  or why not, without SYS_ADMIN" eval \
	'[ "$cuts" = 0 ] || { ! joins && said "the kernel refuses the probe, .* CAP_SYS_ADMIN"; }'
rm -rf "$KUBE/node-a/state/alloc"
rm -rf "$SHOP/graphs"

# A pod that ends while it is recorded gives what there was.
dies() {
	rm -rf "$SHOP/graphs"
	touch "$SHOP/mark"
	record -A -l app=shop --by none -d 10 --json --include priceOrder &
	recording "$SHOP/mark" "$(container_id shop-2)"
	bundle_stop "$(container_id shop-2)"
	wait $!
}
ok "a pod that dies meanwhile" dies
is "  is in the graph, as --json says" "$(jq -c '.workloads[] | [.namespace, .workload, .pods]' "$SHOP/said")" \
	'["shop","shop",["shop-1","shop-2","shop-3"]]'
is "  with the pod that was gone, and the verdict" "$(jq -c '[.missing_pods, .failed_nodes, .workloads[0].verdict.shares.kernel < 1]' "$SHOP/said")" \
	'[["shop-gone"],[],true]'
ok "  --by none: stacks of all pods are one" eval 'head -n 3 "$SHOP/graphs/shop/shop/flame.folded"; ! grep -q "shop-[123]" "$SHOP/graphs/shop/shop/flame.folded"'
ok "  --include: only samples with such a frame" eval '! grep -v priceOrder "$SHOP/graphs/shop/shop/flame.folded"'

rm -rf "$SHOP/graphs"
# refused STATUS SAYS ARG...: kubectl dfg ends with this status, and says so in one line
refused() {
	local want=$1 says=$2 status
	shift 2
	dfg "$@"
	status=$?
	cat "$SHOP/said" "$SHOP/errors"
	[ $status = "$want" ] && [ ! -s "$SHOP/said" ] && [ "$(wc -l <"$SHOP/errors")" = 1 ] && grep -qF -- "$says" "$SHOP/errors"
}
ok "no such pod: one line" refused 3 '(NotFound): pods "nothing" not found' nothing
ok "no such workload" refused 3 '(NotFound): jobs "nothing" not found' job/nothing
ok "no such namespace" refused 3 '(NotFound): namespaces "elsewhere" not found' shop-3 -n elsewhere
ok "a workload without a pod" refused 3 'daemonsets/none: no pod of it runs' ds/none
ok "a pod that waits" refused 3 'pods/shop-waits: no pod of it runs' pod/shop-waits
ok "no such container" refused 3 'no pod has a running container nothing' deploy/shop -c nothing
ok "a context that is none" refused 1 'context "nothing"' status --context nothing
ok "an expression that is none is said before the recording" refused 2 '--include (' deploy/shop --include '('

ok "top: the methods of a pod" dfg top sts/one --plain --count 1 -d 3
ok "  with their names" said '^ .* java\.'
ok "top -e alloc: what it allocates" eval 'dfg top sts/one -e alloc --json --count 1 -d 3 && jq -se "last | .unit == \"bytes\"" "$SHOP/said"'
ok "  of one node" refused 2 'choose a pod: shop-1 (node-a), shop-2 (node-a), shop-3 (node-b)' top deploy/shop
# on a terminal, until key q
watch_top() {
	(wait_for grep -q 'java\.' "$SHOP/typed"; printf q) |
		TERM=xterm script -qefc 'stty cols 100 rows 30; kubectl dfg --context here top shop-3' "$SHOP/typed" >/dev/null
	grep -a 'java\.' "$SHOP/typed"
}
ok "  on a terminal" watch_top
ok "doctor: what works for a pod" eval 'dfg doctor sts/one && said "^shop/shop-3/shop on node-b$" && said "^ +ok +java"'
ok "  and on the nodes, as JSON" eval 'dfg doctor --json; jq -e ".answers | map(.node) == [\"node-a\", \"node-b\"] and all(.doctor != null)" "$SHOP/said"'
ok "kubectl completes a workload's name" eval 'kubectl __complete dfg --context here "deploy/s" 2>/dev/null | grep -qx deploy/shop'

# An owner that a pod's author made up leads nowhere, neither on the disk nor on the terminal. Case 93.
forge() {
	jq --arg name "$1" '.items |= map(if .metadata.name == "shop-3" then .metadata.ownerReferences[0].name = $name else . end)' \
		"$KUBE/pods.json" >"$KUBE/pods.new" && mv "$KUBE/pods.new" "$KUBE/pods.json"
}
# golden/kubectl.t has more of them.
for name in ../../../elsewhere $'\e]0;title\a'; do
	rm -rf "$SHOP/graphs"
	forge "$name"
	ok "a pod with the owner $(printf %q "$name")" record shop-3
	ok "  is called by its own name" said "^shop/shop-3, 1 pod on 1 node$"
	is "  its graphs are there" "$(cd "$SHOP/graphs" && find . -name flame.folded)" ./shop/shop-3/flame.folded
	is "  nothing else is written" "$(find "$SHOP" -name elsewhere)" ""
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
ok "  the others are recorded" said "^shop/shop, 2 pods on 2 nodes"
ok "  and those are named" said 'left out: a pod with the name shop/../../../elsewhere on the node node-a'
is "  nothing else is written" "$(find "$SHOP" -name elsewhere)" ""
is "  nor is a control character printed" "$(cat "$SHOP/said" "$SHOP/errors" | tr -d '\n' | grep -c '[[:cntrl:]]')" 0
mv "$KUBE/pods.good" "$KUBE/pods.json"

# A node that names another file as the profile.
cp "$KUBE/executed" "$KUBE/all"
for path in /etc/shadow $'/var/lib/dfg/\e]0;title\a'; do
	: >"$KUBE/executed"
	printf %s "$path" >"$KUBE/path"
	record shop-3
	status=$?
	is "case 93: a path $(printf %q "$path") that a node tells fails" $status 1
	ok "  and says so" said "not where a profile of $(container_id shop-3) is"
	is "  no command has it" "$(jq -r '.command[0]' "$KUBE/executed")" dfg-trigger
	is "  nor is a control character printed" "$(cat "$SHOP/said" "$SHOP/errors" | tr -d '\n' | grep -c '[[:cntrl:]]')" 0
done
rm "$KUBE/path"

# A node that is not served.
jq '.items |= map(select(.metadata.name != "dfg-node-b"))' "$KUBE/pods.json" >"$KUBE/pods.new" && mv "$KUBE/pods.new" "$KUBE/pods.json"
record -l app=shop
is "a node without dfg is told by the status" "$?" 1
ok "and by its name" said "node node-b: dfg does not serve there"
ok "the others are recorded" said "^shop/shop"
dfg status
is "status tells it, too" $? 1
ok "  by its name" said '^node-b: not served'
ok "  beside those that are served" said '^node-a: dfg-node-a'
# allowed <COMMANDS, as apiserver.py notes them: whether dfg-exec.yaml lets all of them be executed
allowed() {
	python3 -c 'import json, re, sys, yaml
policy = list(yaml.safe_load_all(open("examples/kubernetes/dfg-exec.yaml")))[0]
allowed = json.loads(policy["spec"]["variables"][0]["expression"])
commands = [json.loads(line) for line in sys.stdin]
refused = [c for c in commands if c["container"] != "dfg" or c["tty"] and c["command"][0] != "dfg-top" or
           any("\n" in a for a in c["command"]) or not any(re.search(a, "\n".join(c["command"])) for a in allowed)]
print(refused)
sys.exit(bool(refused) or not commands)'
}
for word in dfg-trigger cat rm dfg-top dfg-doctor; do
	ok "$word was executed" jq -se --arg word $word 'any(.command[0] == $word)' "$KUBE/all"
done
ok "dfg-exec.yaml allows what was executed" eval 'allowed <"$KUBE/all"'
for command in '["sh"]' '["dfg-trigger","--json","-q","-d","5","-F","99","-f","pprof","--","x","-o","/etc"]' '["cat","/etc/shadow"]' \
	'["cat","/var/lib/dfg/containers/x/graphs/../../flame.pb.gz"]' '["rm","-rf","/var/lib/dfg"]' '["dfg-doctor\n--json"]'; do
	ok "  and not $command" eval '! jq -c "{command: ., container: \"dfg\", tty: false}" <<<"$command" | allowed'
done

tap_done
