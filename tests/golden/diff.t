#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-diff against FlameGraph (github.com/brendangregg/FlameGraph, commit 41fee1f), whose numbers
# for the same input stand beside it. The input has no vanished stack next to another one whose
# frame has the same name and depth: flamegraph.pl takes the two for one.
#	difffolded.pl before.folded after.folded | LC_ALL=C sort >difffolded
#	difffolded.pl -n before.folded after.folded | LC_ALL=C sort >difffolded-n
#	flamegraph.pl --minwidth 0 difffolded-n | grep -o '<title>[^<]*</title>' |
#		sed 's/<[^>]*>//g' | LC_ALL=C sort >titles
# UPDATE=1 writes our own picture anew: look at it.
. "$(dirname "$0")/../lib/tap.sh"
need python3
here=$TOP/tests/golden/diff
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$here" || exit 1

diff_() { "$BUILD/bin/dfg-diff" "$@"; }
same_lines() { LC_ALL=C sort "$1" | diff -u "$2" -; }

# Our titles in FlameGraph's words. It has a sign for growth only, and no space.
titles() {
	python3 - "$1" <<'EOF' | LC_ALL=C sort
import re, sys
for t in re.findall(r'<g class="[mlc]"><title>(.*?)</title>', open(sys.argv[1], encoding='utf-8').read()):
    name, before, after, share, self_ = re.fullmatch(
        r'(.*) \(([\d,]+) → ([\d,]+) samples, [\d.]+ → ([\d.]+) %, [-+\d.]+ %; self ([-+\d.]+) %\)', t).groups()
    self_ = float(self_)
    if name == 'all':
        print(f'all ({after} samples, 100%)')
    else:
        print(f'{name} ({after} samples, {float(share):.2f}%; {"+" if self_ > 0 else ""}{self_ + 0:.2f}%)')
EOF
}
picture() { sed -e '/<style>/,/<\/style>/d' -e '/<script>/,/<\/script>/d' "$1"; }

ok 'dfg-diff' diff_ --kinds -f svg,folded -o "$work" before.folded after.folded
ok 'folded: as difffolded.pl' same_lines "$work/diff.folded" difffolded
titles "$work/diff.svg" >"$work/titles"
ok 'svg: samples, shares and changes as flamegraph.pl has them' diff -u titles "$work/titles"
ok 'which leaves out no vanished stack' grep -q 'Shop.legacy (0 samples, 0.00%; -' "$work/titles"
ok 'svg: well-formed' python3 -c \
	'import sys, xml.parsers.expat as x; x.ParserCreate().ParseFile(open(sys.argv[1], "rb"))' "$work/diff.svg"
ok '-n' diff_ -n --kinds -f folded -o "$work" before.folded after.folded
ok '  as difffolded.pl -n' same_lines "$work/diff.folded" difffolded-n

# Ten times the samples are the same shares, and make more of the changes sure.
sed -E 's/ ([0-9]+)$/ \10/' before.folded >"$work/before10"
sed -E 's/ ([0-9]+)$/ \10/' after.folded >"$work/after10"
(cd "$work" && diff_ --kinds -f svg before10 after10 >table)
picture "$work/diff.svg" >"$work/picture"
[ -z "${UPDATE:-}" ] || cp "$work/picture" diff.svg
ok 'svg: the expected picture' diff -u diff.svg "$work/picture"
sure() { diff_ --json -o "$work" "$@" | python3 -c 'import json, sys
m = json.load(sys.stdin)["methods"]
print(sum(x["self"]["significant"] for x in m), round(sum(abs(x["self"]["change"]) for x in m), 9))'; }
read -r few changes <<<"$(sure before.folded after.folded)"
read -r many changes10 <<<"$(sure "$work/before10" "$work/after10")"
is 'the same changes' "$changes10" "$changes"
ok 'more samples, more sure ones' [ "$many" -gt "$few" ]
read -r none nothing <<<"$(sure before.folded before.folded)"
is 'nothing changed from a profile to itself' "$none $nothing" '0 0.0'

# ---- a gate ----
# ends STATUS ERROR ARGUMENT...
ends() {
	local status=$1 error=$2
	shift 2
	is "dfg-diff $*" "$(cd "$work" && diff_ -f folded "$@" 2>&1 >out; echo "status $?")" \
		"${error:+dfg-diff: $error$'\n'}status $status"
}
first='Shop.stream +6.01%, java.util.Map.get +4.92%, Shop.parse +4.30%'
ends 0 '' --fail-on +2% before10 before10
ends 0 '' --fail-on +7% before10 after10
ends 6 "--fail-on +3%: $first" --fail-on +3% before10 after10
is '  the table is printed all the same' "$(grep '^failed' "$work/out")" "failed  +3%: $first"
ends 6 '--fail-on -3%: Shop.legacy -11.64%, java.util.TreeMap.getEntry -3.12%' --fail-on -3% before10 after10
ends 6 "--fail-on Shop.*:+4%: Shop.stream +6.01%, Shop.parse +4.30%" --fail-on +7% --fail-on 'Shop.*:+4%' \
	before10 after10
ends 0 '' --fail-on java.util.Map.get:+5% before10 after10
printf '\n' >"$work/empty"
ends 1 '--fail-on: empty has no samples to compare' --fail-on +2% before10 empty
ends 1 '--per second: before10 has no duration; give sessions, and all of their time' --per second before10 after10
printf 'main;a 10\nmain;b 10\n' >"$work/few"
ends 0 'warning: --fail-on +2%: too few samples to tell such a change from chance; record about 800 on each side' \
	--fail-on +2% few few

# The methods are the same whatever stacks begin with, and all are in the JSON.
for by in none pool thread container container,pool container,thread; do
	(cd "$work" && diff_ -f folded --json --by $by before10 after10 >"json.$by")
	is "--by $by: the same methods" "$(cmp "$work/json.none" "$work/json.$by")" ''
done
ok '  all of them' python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(len(d["methods"]) != d["method_count"] or d["method_count"] < 15)' "$work/json.none"
is '--rows of them' "$(cd "$work" && diff_ -f folded --json --rows 3 before10 after10 | grep -c '"method":')" 3
(cd "$work" && diff_ -f folded --sort self --rows 2 before10 after10 >out)
is '--sort self: one table, cut' "$(grep -c '^By ' "$work/out") $(sed -n '/^By self/,/more/p' "$work/out" | wc -l)" '1 6'
tap_done
