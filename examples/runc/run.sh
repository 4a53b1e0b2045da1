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
run_bundle dfg-runc "$work/bundle"
run dfg-trigger -d "$seconds" -o "$out" dfg-runc

say "and without it"
run runc delete -f dfg-runc
run dfg-setup remove runc --bundle "$work/bundle"
unchanged "$work/bundle/config.json" "$work/before"
