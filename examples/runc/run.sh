#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# runc: the hook in a bundle's config.json, a recording, and the bundle as it was.
#
#   sudo sh examples/runc/run.sh [SECONDS]
set -eu
cd "$(dirname "$0")/../.."
. examples/common.sh
example_begin runc
seconds=${1:-5}

say "a bundle, as any tool makes one"
mkdir -p "$work/bundle"
bundle "$work/bundle" Shop
shop "$work/bundle/rootfs/app"
cp "$work/bundle/config.json" "$work/before"

say "with dfg's hook"
run dfg-setup install runc --bundle "$work/bundle"
at_end 'runc delete -f dfg-runc >/dev/null 2>&1'
run runc run -d --bundle "$work/bundle" dfg-runc </dev/null >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
warm dfg-runc
run dfg-trigger -d "$seconds" -o "$out" dfg-runc

say "and without it"
runc delete -f dfg-runc
run dfg-setup remove runc --bundle "$work/bundle"
unchanged "$work/bundle/config.json" "$work/before"
