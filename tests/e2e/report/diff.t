#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-diff and dfg-merge on real recordings: a program whose slow method was replaced, as sessions,
# folded text and pprof, in any combination.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
need_root
need perf java javac jq
work=$(mktemp -d /tmp/dfg-diff.XXXXXX)
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$work"' EXIT

cat >"$work/Work.java" <<'END'
public class Work {
	static volatile long sink;
	static long kept(long n) {
		for (int i = 0; i < 20000; i++) n = n * 31 + i;
		return n;
	}
	static long removed(long n) {
		for (int i = 0; i < 40000; i++) n = n * 37 ^ i;
		return n;
	}
	static long added(long n) {
		for (int i = 0; i < 40000; i++) n = n * 41 - i;
		return n;
	}
	static long slow(long n) {
		for (int i = 0; i < 20000; i++) n = n * 43 + i;
		return n;
	}
	/** In the version "slower" it does everything twice. */
	static long order(long n, int times) {
		for (int i = 0; i < times; i++) n = slow(n);
		return n;
	}
	public static void main(String[] a) {
		boolean after = a[0].equals("after");
		int times = a[0].equals("slower") ? 2 : 1;
		Runnable r = () -> sink += kept(sink) + order(sink, times) + (after ? added(sink) : removed(sink));
		while (true)
			r.run();
	}
}
END
javac -d "$work" "$work/Work.java"

DIFF=$BUILD/bin/dfg-diff MERGE=$BUILD/bin/dfg-merge DFG=$BUILD/bin/dfg-trigger

# record NAME TICKS [VERSION]: the session is $work/NAME/session. Ends when the program has used so much
# processor time (1/100 s), however long that takes on a busy machine.
record() {
	local trigger
	# Compiled when it is recorded, however busy the machine is.
	java -Xbatch -XX:-TieredCompilation -cp "$work" Work "${3:-$1}" &
	pid=$!
	at_work "$pid" 100
	"$DFG" -q --json --root "$work/root" --source host -d 300 -F 999 -f folded,pprof -o "$work/$1" \
		--pid "$pid" >"$work/$1.json" &
	trigger=$!
	wait_for eval "find '$work/root/tmp' -name perf.data -size +0 | grep -q ."
	at_work_again "$pid" "$2"
	kill -INT "$trigger"
	wait "$trigger"
	kill "$pid"
	wait "$pid" 2>/dev/null
	pid=
}
# fails STATUS TEXT COMMAND...: exits so, with such an error of one line.
fails() {
	local want=$1 text=$2 got
	shift 2
	"$@" >/dev/null 2>"$work/err"
	got=$?
	[ "$got" = "$want" ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -q "$text" "$work/err" && return
	echo "status $got: $(cat "$work/err")"
	return 1
}
samples() { jq .samples "$1"; }

WAIT_SECONDS=300
record before 100
record after 200
record again 150 before
record slower 150
ok 'enough samples on both sides' [ "$(samples "$work/before.json")" -gt 100 -a "$(samples "$work/after.json")" -gt 100 ]

ok 'dfg-diff, sessions of different length' \
	"$DIFF" -f svg,folded -o "$work/new/dir" "$work/before" "$work/after/session"
"$DIFF" --json -o "$work/new" "$work/before" "$work/after/session" >"$work/json"
change() { jq -r --arg m "$1" '[.methods[] | select(.method == $m)][0] | '"$2" "$work/json"; }
is '  what is gone' "$(change Work.removed '.total.significant and .total.change < -0.3 and .total.after == 0')" true
is '  what is new' "$(change Work.added '.total.significant and .total.change > 0.3 and .total.before == 0')" true
is '  and what stays' "$(change Work.kept '.total.change | fabs < 0.2')" true
ok '  both are in the picture' grep -q '<title>Work.removed (.* → 0 samples' "$work/new/dir/diff.svg"
ok '    the new one, too' grep -q '<title>Work.added (0 → ' "$work/new/dir/diff.svg"
ok '  a lambda is the same in both runs' grep -Eq 'Work\$\$Lambda\.run.* [1-9][0-9]* [1-9][0-9]*$' \
	<(sed -E 's/(Lambda.run_\[j\];Work.lambda[^;]*_\[j\]);Work.(removed|added)/\1/' "$work/new/dir/diff.folded" |
		awk '{k = $0; sub(/ [0-9]+ [0-9]+$/, "", k); b[k] += $(NF-1); a[k] += $NF} END {for (k in b) print k, b[k], a[k]}')

# ---- a gate ----
gate() { "$DIFF" -f folded -o "$work/new" --fail-on +2% "$@" >"$work/table" 2>"$work/err"; }
# Two JVMs of one program may differ (dfg-diff(1), SIGNIFICANCE): not three in a row.
for turn in 1 2 3; do
	[ $turn = 1 ] || { rm -rf "$work/again" && record again 150 before; }
	gate "$work/before" "$work/again"
	status=$?
	! grep -q '^verdict no significant change' "$work/table" || break
	diag "$(cat "$work/table")"
done
is 'the same program twice: --fail-on passes' $status 0
is '  nothing changed' "$(grep -c '^verdict no significant change in [0-9]* methods$' "$work/table")" 1
is '  no table' "$(grep -c '^By ' "$work/table")" 0
gate "$work/before" "$work/slower"
is 'a method that takes twice as long: --fail-on ends with 6' $? 6
ok '  names it on stderr' grep -Eq '^dfg-diff: --fail-on \+2%: .*Work.slow \+[0-9]' "$work/err"
ok '  and its caller in the table by total' awk '/^By total/ {on = 1} /^By self/ {on = 0} on && / Work.order$/ {n++}
	END {exit n != 1}' "$work/table"
ok '  both sides are named and dated' grep -Eq \
	"^before  process [0-9]*: [0-9.]* s at 999 Hz, 20[0-9-]*T[0-9:]*Z, $work/before\$" "$work/table"
ok '  with their processors' grep -Eq '^whole   [0-9.]+ -> [0-9.]+ processors, ' "$work/table"
"$DIFF" --json -f svg -o "$work/new" "$work/before" "$work/slower" >"$work/json"
# A share p of a cost that is doubled becomes 2p / (1 + p).
is '  by as much as it should' "$(change Work.order '.total | (2 * .before / (1 + .before) - .after | fabs) < 0.08')" true
is '  to the callee' "$(change Work.order .via)" Work.slow
ok '  the picture names and dates both sides' grep -Eq \
	'>process [0-9]+, 20[0-9-]+T[0-9:]+Z compared with process [0-9]+, 20[0-9-]+T[0-9:]+Z</text>' "$work/new/diff.svg"
gate --per second --markdown "$work/before" "$work/before"
is 'one recording with itself, per second' $? 0
ok '  as Markdown' grep -q '^### Profile: passed, no significant change in ' "$work/table"

# One recording is the same in each form.
for form in flame.folded flame.pb.gz; do
	"$DIFF" --json -o "$work/new" --kinds "$work/before" "$work/before/$form" >"$work/json"
	is "a session and its $form are the same" \
		"$(jq '[.methods[].self.change, .methods[].total.change] | map(fabs) | add' "$work/json")" 0
done
ok 'folded text and pprof are compared, too' \
	"$DIFF" -n -f folded -o "$work/new" "$work/before/flame.folded" "$work/after/flame.pb.gz"
ok '  -n: counts before as if there were as many as after' awk '
	{b += $(NF - 1); a += $NF} END {exit !(b <= a && b > a * 0.8)}' "$work/new/diff.folded"

b=$(samples "$work/before.json") a=$(samples "$work/after.json")
ok 'dfg-merge: sessions, text and pprof' "$MERGE" -q --json -f svg,folded,pprof -o "$work/all" \
	"$work/before" "$work/after" "$work/before/flame.folded" "$work/after/flame.pb.gz"
sum() { awk '{n += $NF} END {print n}' "$1"; }
is '  all samples of all' "$(sum "$work/all/flame.folded")" $((2 * (b + a)))
is '  each below its container' "$(cut -d';' -f1 "$work/all/flame.folded" | sort -u | wc -l)" 4
"$MERGE" -q --by none -f folded -o "$work/all" "$work/before" "$work/before/flame.folded" >/dev/null
is '--by none: no stack twice' "$(sed 's/ [0-9]*$//' "$work/all/flame.folded" | sort | uniq -d)" ''
is '  every count twice' "$(awk '{n += $NF % 2} END {print n}' "$work/all/flame.folded")" 0
ok '  without threads' [ "$(grep -c '^java;' "$work/all/flame.folded")" = 0 ]
for _ in $(seq 100); do echo "$work/before"; done >"$work/list"
ok 'far more recordings than open files' \
	bash -c "ulimit -n 100; '$MERGE' -q --by container -f folded -o '$work/all' - <'$work/list'"
is '  count each' "$(sum "$work/all/flame.folded")" $((100 * b))

ok '--replay makes the directory' "$DFG" -q --replay "$work/before/session" -f folded -o "$work/x/y"
ok '  as another user' bash -c "chmod -R a+rX '$work'; mkdir -m 777 '$work/z'; setpriv --reuid 1000 --regid 1000 \
	--clear-groups '$DIFF' -o '$work/z/d' '$work/before' '$work/after'"
head -c 5000 /dev/urandom | tr '\n' x >"$work/noise"
printf 'main;a 99999999999999999999\n' >"$work/huge"
head -c 100 "$work/before/flame.pb.gz" >"$work/cut.pb.gz"
ok 'no such file' fails 1 nosuch "$DIFF" -o "$work" "$work/nosuch" "$work/after"
ok 'no profile' fails 1 'noise: not folded text' "$MERGE" -q -o "$work" "$work/before" "$work/noise"
ok 'a program' fails 1 'ls: not folded text' "$DIFF" -o "$work" /bin/ls "$work/after"
awk 'BEGIN {printf "deep"; for (i = 0; i < 700; i++) printf ";frame%d", i; print " 9"}' >"$work/deep"
"$MERGE" -q --by thread -f folded -o "$work" "$work/deep" >"$work/told"
is 'one recording is no two' "$(head -n 1 "$work/told")" '1 recording'
ok '  in short lines' [ "$(wc -L <"$work/told")" -lt 220 ]
"$MERGE" -q --json --by thread -f folded -o "$work" "$work/deep" >"$work/told"
ok '  its hottest path: the thread and the end' grep -q '"deep;.*\.\.\.;frame[0-9;frame]*;frame699"' "$work/told"
ok 'counts without end' fails 1 huge "$MERGE" -q -o "$work" "$work/huge"
ok 'half a pprof' fails 1 cut.pb.gz "$DIFF" -o "$work" "$work/before" "$work/cut.pb.gz"
ok 'no session directory' fails 1 'is not a session directory' "$DIFF" -o "$work" "$work/new" "$work/after"
ok '  and no picture is left half made' [ "$(find "$work" -maxdepth 1 -name '*.svg' -o -maxdepth 1 -name '.*.[0-9]*' | wc -l)" = 0 ]
ok 'one profile alone' fails 2 'BEFORE and AFTER' "$DIFF" "$work/before"
ok 'a format it has not' fails 2 'unknown format' "$DIFF" -f pprof "$work/before" "$work/after"
ok 'no input' fails 2 'no input' "$MERGE"
tap_done
