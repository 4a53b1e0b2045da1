#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# inferno's programs for bench/speed.sh, built without a network from Debian's crates.
#
#	bench/inferno.sh DIR		leaves inferno-collapse-perf and inferno-flamegraph in DIR
#
# Needs cargo, and librust-inferno-dev (not in Debian 12; from Debian 13's successor, whose -dev
# packages are only source) in CRATES (/usr/share/cargo/registry).
set -eu -o pipefail
dir=${1:?where to leave the programs}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
CRATES=$(cd "${CRATES:-/usr/share/cargo/registry}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -rL "$CRATES"/inferno-[0-9]* "$work/inferno"
cd "$work/inferno"
mkdir .cargo
printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "%s"\n' "$CRATES" >.cargo/config.toml
# What its own tests need is not packaged.
awk '/^\[/ {drop = /^\[dev-dependencies|^\[\[bench|^\[\[test/} !drop' Cargo.toml >plain
mv plain Cargo.toml
rm -f Cargo.lock
cargo build --release --offline --bin inferno-collapse-perf --bin inferno-flamegraph
cp target/release/inferno-collapse-perf target/release/inferno-flamegraph "$dir"
