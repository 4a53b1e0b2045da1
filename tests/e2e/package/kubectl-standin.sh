#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In place of kubectl and an API server for 51-kubernetes.t: answers from files, and executes in the containers
# that stand for the DaemonSet's pods. $KUBE has pods.json (a list of all), nodes.json; containers are runc's, as bundle.sh
# starts them. Each command goes to $KUBE/executed, a JSON array a line; $KUBE_PATH is the profile's path that a node tells.
set -u
namespace=
selector=
verb=$1 kind=$2
case $verb in
get)
	shift 2
	while [ $# -gt 0 ]; do
		case $1 in
		-n) namespace=$2 && shift ;;
		-l) selector=$2 && shift ;;
		-o) [ "$2" = json ] || exit 1 && shift ;;
		*) echo "error: unexpected $1" >&2 && exit 1 ;;
		esac
		shift
	done
	[ "$kind" = nodes ] && exec cat "$KUBE/nodes.json"
	exec jq --arg n "${namespace:-default}" --arg k "${selector%%=*}" --arg v "${selector#*=}" \
		'.items |= map(select(.metadata.namespace == $n and ($k == "" or .metadata.labels[$k] == $v)))' "$KUBE/pods.json"
	;;
exec)
	shift
	[ "$1" != -i ] || shift
	[ "$1 $2 $4 $5 $6" = "-n dfg -c dfg --" ] || { echo "error: unexpected exec $*" >&2; exit 1; }
	pod=$3
	shift 6
	jq -cn '$ARGS.positional' --args -- "$@" >>"$KUBE/executed"
	node=(runc --root "$TMPDIR/dfg-bundle-runc" exec "$pod" "$@")
	[ -n "${KUBE_PATH:-}" ] && [ "$1" = dfg-trigger ] || exec "${node[@]}"
	"${node[@]}" | jq --arg path "$KUBE_PATH" '.graphs.pprof = $path'
	exit "${PIPESTATUS[0]}"
	;;
esac
echo "error: unexpected $verb" >&2
exit 1
