#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-merge as a whole: inputs from arguments and stdin, what stacks begin with, what it says; and
# what dfg-diff says of inputs that are not whole.
. "$(dirname "$0")/../lib/tap.sh"
need python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
PATH=$BUILD/bin:$PATH
printf 'main;a 3\nmain;b 1\n' >one
printf 'main;a 1\nnonsense\nworker;c_[j] 4\n' >two
: >empty
"$BUILD/tools/fakeperf" make 1 data
mkdir -p cut/maps
cp "$TOP/tests/golden/replay/session.json" cut
head -c -24 data >cut/perf.data
"$BUILD/tools/fakeperf" map >cut/maps/perf-4242.map

# run COMMAND…: with stdout, stderr and status in files
run() { "$@" >out 2>err; echo $? >status; }

run dfg-merge -f folded -o all one two
is 'two texts are merged' "$(cat status)" 0
is 'by container and thread' "$(cat all/flame.folded)" 'one;main;a 3
one;main;b 1
two;main;a 1
two;worker;c_[j] 4'
is 'the summary has them together' "$(sed "s|$work/||" out)" '2 recordings together
  cpu          application 100 %
  samples      9 samples · 0 lost · 100 % of unknown quality
  damaged      1 lines of text could not be read
  hottest leaf  44.4 %  a
  folded       all/flame.folded'
is 'nothing is said besides' "$(cat err)" ''
for by in 'thread:main;a 4
main;b 1
worker;c_[j] 4' 'none:a 4
b 1
c_[j] 4' 'container:one;a 3
one;b 1
two;a 1
two;c_[j] 4'; do
	run dfg-merge -f folded --by "${by%%:*}" -o by one two
	is "by ${by%%:*}" "$(cat by/flame.folded)" "${by#*:}"
done
printf '%s\n' 'exec-1;clone3;start_thread;a_[j] 3' 'exec-2;start_thread;a_[j] 4' 'C1_CompilerThread0;start_thread;c 1' >pool
run dfg-merge -f folded --by pool -o by pool
is 'by pool: threads that differ in their number are one, and so is what starts them' "$(cat by/flame.folded)" \
	$'C1_CompilerThread*;[thread start];c 1\nexec-*;[thread start];a_[j] 7'
run dfg-merge -f folded -o by pool
is 'below the container, by default' "$(tail -n 1 by/flame.folded)" 'pool;exec-*;[thread start];a_[j] 7'
run dfg-merge -f folded --by thread --full -o by pool
is 'by thread, with --full: the same again' "$(cat by/flame.folded)" "$(LC_ALL=C sort pool)"
run dfg-merge one
is 'a single one is drawn here, in three formats' "$(head -n 1 out; find . -maxdepth 1 -name 'flame.*' | sort | tr '\n' ' ')" \
	'1 recording
./flame.folded ./flame.html ./flame.svg '
run dfg-merge --json -f folded -o all one two
is 'as JSON' "$(python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["samples"], r["inputs"], r["damaged_lines"], r["graphs"])' <out)" "9 ['one', 'two'] 1 {'folded': '$work/all/flame.folded'}"
run dfg-merge -f folded -o all one - two <<<$'empty\n\none'
is 'stdin may stand among others' "$(cat status; awk '{n += $NF} END {print n}' all/flame.folded)" $'0\n13'

run dfg-merge -f folded -o none one missing
is 'an input that does not exist fails' "$(cat status err)" $'1\ndfg-merge: open missing: No such file or directory'
ok 'nothing is made of the others' test ! -e none
run dfg-merge -f folded -o none - <<<missing
is 'so does one that stdin names' "$(cat status err)" $'1\ndfg-merge: open missing: No such file or directory'
run dfg-merge -f folded,perf-map -o none one
is 'a format that needs a session is refused as usage' "$(cat status err)" \
	$'2\ndfg-merge: format perf-map: needs a session directory; folded text and pprof have no addresses of code'
run dfg-merge -f folded -o one/none one
is 'a directory that cannot be made fails' "$(cat status)" 1

# ---- what dfg-diff says ----
diff_says() {
	local name=$1 want=$2
	shift 2
	run dfg-diff -f folded -o diff "$@"
	is "$name" "$(cat status err)" "0$want"
}
lines='
dfg-diff: warning: 1 lines could not be read and are left out'
diff_says 'inputs that are whole need no words' '' one one
diff_says 'lines that could not be read' "$lines" one two
diff_says 'no samples before' "$lines
dfg-diff: warning: empty: no samples, all of the other is new or gone" empty two
diff_says 'no samples after' '
dfg-diff: warning: empty: no samples, all of the other is new or gone' one empty
diff_says 'a recording that was cut' '
dfg-diff: warning: 64 bytes of damaged recordings could not be read' one cut
run dfg-diff -f folded -o diff one missing
is 'an input that does not exist' "$(cat status err)" $'1\ndfg-diff: open missing: No such file or directory'
run dfg-diff --json -f svg -o diff --rows 2 one two
is 'a table has as many rows as asked for' "$(grep -c '"method":' out)" 2
is 'of all that there are' "$(grep -c '"method_count": 3' out)" 1
tap_done
