#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is exported says the same as the folded text: every stack, every count, the kinds where the
# format has them. With real consumers: tests/e2e/report/exports.t.
. "$(dirname "$0")/../lib/tap.sh"
need python3
here=$TOP/tests/golden/draw
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export_of() { "$BUILD/tools/draw" "$1" title <"$2" >"$work/$1" && "$TOP/tests/tools/exports.py" "$1" "$work/$1" 10; }

for file in "$here"/{web,one,empty}.folded; do
	name=$(basename "$file" .folded)
	LC_ALL=C sort "$file" >"$work/with"
	"$TOP/tests/tools/exports.py" folded "$file" | LC_ALL=C sort >"$work/without"
	for format in json firefox; do
		export_of $format "$file" | LC_ALL=C sort >"$work/got"
		ok "$name: $format" diff -u "$work/with" "$work/got"
	done
	export_of speedscope "$file" | LC_ALL=C sort >"$work/got"
	ok "$name: speedscope" diff -u "$work/without" "$work/got"
done

# Names of all that JSON takes for its own.
python3 - >"$work/hostile.folded" <<'EOF2'
import sys
for b in range(256):
    if b not in b'\n;':
        sys.stdout.buffer.write(b'main;' + bytes([b]) + b'x 1\n')
for n in [b'"', b'\\', b'\\u0000', b'\\"', b'\xed\xa0\x80', '\u2028'.encode()]:
    sys.stdout.buffer.write(b'main;' + n + b' 1\n')
EOF2
for format in json firefox speedscope; do
	export_of $format "$work/hostile.folded" >"$work/got"
	is "hostile names: $format" "$(awk '{ n += $NF } END { print n }' "$work/got")" 260
done
tap_done
