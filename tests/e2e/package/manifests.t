#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The manifests of examples/kubernetes are what the API's schemas say, without fields that the API does not know.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
need python3 jq node npm
npm=$BUILD/npm-kubernetes
mkdir -p "$npm"
lock npm-kubernetes
[ -d "$npm/node_modules/kubernetes-models" ] || timeout 300 npm install --prefix "$npm" --no-audit --no-fund --ignore-scripts --silent \
	kubernetes-models@5.1.0 >/dev/null 2>&1
[ -d "$npm/node_modules/kubernetes-models" ] || tap_cannot "kubernetes-models from npm"

objects() {
	python3 -c 'import json, sys, yaml
json.dump([o for f in sys.argv[1:] for o in yaml.safe_load_all(open(f)) if o], sys.stdout)' "$@"
}
check() { node tests/e2e/package/manifests.mjs "$npm"; }
# wrong EDIT COMPLAINT: the objects with jq's EDIT of the DaemonSet are told to be wrong, in these words
wrong() {
	local said
	said=$(objects examples/kubernetes/dfg.yaml | jq "(.[] | select(.kind == \"DaemonSet\")) |= ($1)" | check) && return 1
	echo "$said"
	[ "$said" = "DaemonSet dfg$2" ]
}

for f in examples/kubernetes/*.yaml; do
	ok "$f" eval 'objects "$f" | check'
done
pod=.spec.template.spec
ok "a field that is spelled wrong" wrong "$pod.containers[0].securityContext.privilegd = false" \
	"/spec/template/spec/containers/0/securityContext/privilegd: no such field"
ok "one in the wrong place" wrong "$pod.readOnlyRootFilesystem = true" "/spec/template/spec/readOnlyRootFilesystem: no such field"
ok "a value of another type" wrong "$pod.hostPID = \"yes\"" '/spec/template/spec/hostPID: type {"type":"boolean"}'
ok "a word that is none of those allowed" wrong "$pod.containers[0].securityContext.seccompProfile.type = \"Unconfind\"" \
	'/spec/template/spec/containers/0/securityContext/seccompProfile/type: enum {"allowedValues":["Localhost","RuntimeDefault","Unconfined"]}'
ok "a missing field" wrong "del(.spec.selector)" '/spec: required {"missingProperty":"selector"}'
tap_done
