#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pictures of small profiles, byte for byte. UPDATE=1 writes the expected files anew: look at them.
. "$(dirname "$0")/../lib/tap.sh"
need python3
here=$TOP/tests/golden/draw
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# As any XML parser sees it, not only one that forgives.
well_formed() {
	python3 -c 'import sys, xml.parsers.expat as x; x.ParserCreate().ParseFile(open(sys.argv[1], "rb"))' "$1" &&
		{ ! command -v xmllint >/dev/null || xmllint --noout "$1"; }
}

# The picture without style and script, which have tests of their own.
picture() { sed -e '/<style>/,/<\/style>/d' -e '/<script>/,/<\/script>/d' "$1"; }

# What a page knows, without the script that shows it.
page_data() { sed -n '/^<script id="data"/,/<\/script>$/p' "$1" | sed -e '1s/^<script[^>]*>//' -e 's/<\/script>$//'; }

for name in web one empty; do
	"$BUILD/tools/draw" svg "$name: 10 s at 99 Hz" 'host.example · 2026-11-21 10:00 UTC' \
		'3,950,948,9000,9,1,0' <"$here/$name.folded" >"$work/$name.svg"
	picture "$work/$name.svg" >"$work/$name.picture"
	[ -z "${UPDATE:-}" ] || cp "$work/$name.picture" "$here/$name.svg"
	ok "$name: the expected picture" diff -u "$here/$name.svg" "$work/$name.picture"
	ok "$name: well-formed" well_formed "$work/$name.svg"
	"$BUILD/tools/draw" folded <"$here/$name.folded" >"$work/$name.folded"
	ok "$name: folded text comes out as it went in" diff -u "$here/$name.folded" "$work/$name.folded"
	"$BUILD/tools/draw" pprof <"$here/$name.folded" | "$BUILD/tools/draw" folded >"$work/$name.folded"
	ok "$name: pprof keeps all of it" diff -u "$here/$name.folded" "$work/$name.folded"
	"$BUILD/tools/draw" html "$name: 10 s at 99 Hz" 'host.example · 2026-11-21 10:00 UTC' \
		'3,950,948,9000,9,1,0' <"$here/$name.folded" >"$work/$name.html"
	page_data "$work/$name.html" >"$work/$name.json"
	[ -z "${UPDATE:-}" ] || cp "$work/$name.json" "$here/$name.json"
	ok "$name: the expected data in the page" diff -u "$here/$name.json" "$work/$name.json"
done

# Names of all bytes and of all that XML, HTML and scripts take for their own.
python3 - >"$work/hostile.folded" <<'EOF'
import sys
names = [bytes([b]) + b'x' for b in range(256) if b not in b'\n;']
names += [b'</title>', b'<!--', b'-->', b'<![CDATA[', b']]>', b'&#0;', b'&lt;', b'<?xml?>',
          b'\xef\xbf\xbe\xef\xbf\xbf', b'\xed\xa0\x80', b'\xf4\x90\x80\x80', b'\xc0\xbc',
          '\u2028\u202e\ufeff\u0085'.encode(), b'a' * 100000]
for n in names:
    sys.stdout.buffer.write(b'main;' + n + b' 50\n')
EOF
"$BUILD/tools/draw" svg '"]]><x>' "'&" <"$work/hostile.folded" >"$work/hostile.svg"
ok 'hostile names: well-formed (case 63)' well_formed "$work/hostile.svg"
ok 'hostile names: none is lost' grep -q '>all (13,400 samples, 100%)<' "$work/hostile.svg"
"$BUILD/tools/draw" html '</title><img src=x>' '</script>' <"$work/hostile.folded" >"$work/hostile.html"
ok 'hostile names in a page: whole JSON' python3 -c 'import json, sys; json.load(sys.stdin)' < <(page_data "$work/hostile.html")
is 'hostile names in a page: no element is theirs' "$(grep -c '<img\|<x>' "$work/hostile.html")" 0
is 'hostile names in a page: two scripts' "$(grep -o '</script>' "$work/hostile.html" | wc -l)" 2
tap_done
