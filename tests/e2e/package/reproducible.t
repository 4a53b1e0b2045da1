#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two builds, in two folders and at two times, give the same bytes: what runs as root, and inside every container,
# can be made again from the source and compared.
. "$(dirname "$0")/../../lib/tap.sh"
need mksquashfs sha256sum

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
build() { # folder
	mkdir -p "$dir/$1"
	tar -C "$TOP" --exclude './build*' --exclude ./.git -c . | tar -C "$dir/$1" -x
	env -u MAKEFLAGS -u MFLAGS make -C "$dir/$1" -s -j2 all sbom BUILD=build >"$dir/log" 2>&1 || { tail -5 "$dir/log" && false; }
}
sums() { (cd "$dir/$1/build" && sha256sum bin/* libexec/* payload/* dfg.spdx.json); }

ok "one build" build one
sleep 1.1 # so that no time of a file is the same
ok "another one, in a folder with a longer name" build another/below/it
ok "there are programs to compare" test "$(sums one | wc -l)" -ge 13
is "they have the same bytes" "$(diff <(sums one) <(sums another/below/it))" ""
tap_done
