#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# add-hook.sh BUNDLE [HOOK [ARG...]]: puts dfg's hook into BUNDLE/config.json. Needs jq.
set -eu
bundle=${1:?usage: add-hook.sh BUNDLE [HOOK [ARG...]]}
shift
[ $# -gt 0 ] || set -- /usr/local/libexec/dfg/dfg-hook
hook=$1
shift
# A non-empty env keeps old runtimes from giving the hook the container's environment.
jq --arg path "$hook" '
	{path: $path, args: (["dfg-hook"] + $ARGS.positional), env: ["DFG=1"], timeout: 5} as $h |
	def put: ((. // []) | map(select(.path != $path))) + [$h];
	.hooks.createRuntime |= put | .hooks.poststop |= put
' --args -- "$@" <"$bundle/config.json" >"$bundle/config.json.dfg"
mv "$bundle/config.json.dfg" "$bundle/config.json"
