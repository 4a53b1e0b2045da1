#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What goes wrong, goes wrong in one clear line, and leaves nothing.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
shop_setup

# fails STATUS WORDS ARG...: one line on stderr with these words, nothing on stdout.
fails() {
	local want=$1 words=$2
	shift 2
	"$DFG" "$@" >"$SHOP/out" 2>"$SHOP/err"
	status=$?
	is "status $want: $*" "$status" "$want"
	is "  one line" "$(wc -l <"$SHOP/err")" 1
	ok "  that says \"$words\"" grep -qF -- "$words" "$SHOP/err"
	ok "  and nothing else" test ! -s "$SHOP/out"
}
graphs() { ls -d "$DFG_ROOT"/containers/*/graphs/*/ 2>/dev/null | wc -l; }
leftovers() {
	{ find "$DFG_ROOT"/containers/*/out "$DFG_ROOT"/containers/*/ctl -type f ! -name 'agent.*' 2>/dev/null
	pgrep -f "perf record.*$SHOP"; find "$SHOP"/*/tmp -name '.attach_pid*'; } | head
}

fails 2 "no container" -d 1
fails 2 "--nonsense" --nonsense
fails 3 "no running container \"nope\"" nope
for name in ../twin-a '' 'twin-a ' /etc; do # (case 68)
	fails 3 "no running container \"$name\"" -- "$name"
done
fails 3 "process 4194304" --pid 4194304
fails 1 "is not a session directory" --replay "$SHOP"
ok "two containers" shop_start twin-a
ok "with one beginning" shop_start twin-b
fails 3 "twin-a" twin # of two: which? (case 68)
is "nothing was recorded" "$(graphs)" 0

setpriv --reuid 1000 --regid 1000 --clear-groups "$DFG" -d 1 twin-a 2>"$SHOP/err"
is "not root: status 5" $? 5
ok "  says sudo" grep -q sudo "$SHOP/err"

ok "two containers in one run" record twin-a twin-b
is "  a recording each" "$(json '.recordings | length')" 2
is "  only their own processes" "$(json '[.recordings[] | .jvms | length] | join(",")')" 1,1
ok "  with samples each" test "$(json '[.recordings[].samples] | min')" -gt 0
# pids of all samples and mappings of a recording, but the kernel's
perf_pids() {
	perf script -i "$1/perf.data" -F pid --show-mmap-events 2>/dev/null |
		sed -n 's/.*PERF_RECORD_MMAP2* \([0-9]*\)\/.*/\1/p; s/^ *\([0-9][0-9]*\) *$/\1/p' | sort -un | tr '\n' ' '
}
for i in 0 1; do
	session=$(json ".recordings[$i].session")
	is "  and in perf.data, which others' memory is not in (case 79): ${session##*/}" "$(perf_pids "$session")" \
		"$(jq -r '.processes[].pid' "$session/session.json" | sort -n | tr '\n' ' ')"
done

# Two triggers of one container at once.
"$DFG" -q -d 2 --keep-stacks --source agent --json twin-a >"$SHOP/one" & one=$!
"$DFG" -q -d 2 --source agent --json twin-a >"$SHOP/two" & two=$!
wait $one; is "two at once: the first" $? 0
wait $two; is "  and the second (case 54)" $? 0
is "  each by the agent" "$(jq -r '.jvms[0].source' "$SHOP/one" "$SHOP/two" | sort | uniq -c | tr -s ' ')" " 2 agent"
ok "  in directories of their own" test "$(jq -r .session "$SHOP/one")" != "$(jq -r .session "$SHOP/two")"

# More files than the soft limit lets be open, and some that are gone.
session=$(jq -r .session "$SHOP/one")
again() { "$DFG" --replay "$session" -q -f folded -o "$SHOP/$1" 2>"$SHOP/err"; }
ok "drawn again" again all
files=$(find "$session/elf" -type f | wc -l)
ok "  from many files" test "$files" -gt 8
ok "drawn where fewer may be open, softly" eval '(ulimit -Sn $files; again few)'
is "  nothing is left out" "$(grep -c opened "$SHOP/err")" 0
ok "  the same" cmp "$SHOP/all/flame.folded" "$SHOP/few/flame.folded"
rm "$session"/elf/*[0-9]
ok "drawn without them" again none
is "  which is said in one line" "$(grep -c 'files cannot be opened.*No such file' "$SHOP/err")" 1

# ^C in the middle: what was recorded is drawn.
touch "$SHOP/mark"
"$DFG" -q -d 600 --json twin-a >"$SHOP/out" & one=$!
recording "$SHOP/mark" twin-a
kill -INT $one
wait $one; is "^C: status 0" $? 0
ok "  an early end" test "$(json '.duration < 500')" = true
ok "  with samples" test "$(json .samples)" -gt 0
ok "  and a graph" test -s "$(json .graphs.svg)"

# No perf, or one that fails.
count=$(graphs)
mkdir -p "$SHOP/noperf"
for p in /usr/bin/perf /usr/local/bin/perf; do
	[ -e "$p" ] && hide="$hide mount --bind $SHOP/noperf/none $p;"
done
cat >"$SHOP/noperf/none" <<'END'
#!/bin/sh
echo "Error:" >&2
echo "the kernel said no" >&2
exit 1
END
unshare -m sh -c "$hide exec \"$DFG\" -q -d 1 --unwind vm twin-a" >"$SHOP/out" 2>"$SHOP/err"
is "perf cannot be executed: status 1 (case 70)" $? 1
ok "  says so" grep -q "perf" "$SHOP/err"
chmod +x "$SHOP/noperf/none"
unshare -m sh -c "$hide exec \"$DFG\" -q -d 1 --unwind vm twin-a" >"$SHOP/out" 2>"$SHOP/err"
is "perf fails: status 1 (case 70)" $? 1
ok "  in perf's words" grep -q "the kernel said no" "$SHOP/err"
is "  nothing is left of either" "$(graphs)" "$count"

# A full disk.
mkdir -p "$SHOP/small"
mount -t tmpfs -o size=64k tmpfs "$SHOP/small"
"$DFG" -q -d 1 -o "$SHOP/small/x" twin-a >"$SHOP/out" 2>"$SHOP/err"
is "full disk: status 1" $? 1
ok "  says so" grep -q "No space left" "$SHOP/err"
is "  in one line" "$(wc -l <"$SHOP/err")" 1
is "  nothing is left" "$(find "$SHOP/small" -type f | wc -l)" 0
mount -o remount,size=200m "$SHOP/small"
ok "a disk that gets full" trigger -q -d 600 -F 999 --unwind vm --stack 65528 -f folded -o "$SHOP/small/x" twin-a
ok "  ends the recording" test "$(json '.duration < 500')" = true
ok "  which is said" grep -q "ended after .* s: the disk of .*small.* is full" "$SHOP/err"
ok "  what was recorded is drawn" grep -q 'Shop.*_\[j\]' "$(json .graphs.folded)"
umount "$SHOP/small"

# A full share: the host reads instead.
head -c 100M /dev/zero >"/proc/$(bundle_pid twin-b)/root/dev/dfg-out/junk" 2>/dev/null
ok "full share (case 62)" trigger -q -d 1 --trigger file twin-b
is "  the host reads instead" "$(json '.jvms[0].source')" host
ok "  and says why" test "$(json '.jvms[0].note | contains("share")')" = true

# The JVM ends while it is recorded: its names were taken at the start.
touch "$SHOP/mark"
"$DFG" -d 600 --json twin-b >"$SHOP/out" 2>"$SHOP/err" & one=$!
recording "$SHOP/mark" twin-b
bundle_stop twin-b
wait $one; is "the container ends meanwhile: status 0 (case 48)" $? 0
ok "  which is said" grep -q "the last process exited after" "$SHOP/err"
ok "  a short recording" test "$(json '.duration < 500')" = true
ok "  with samples" test "$(json .samples)" -gt 0
ok "  and Java names" grep -q 'Shop.*_\[j\]' "$(json .graphs.folded)"

# Killed the hard way: perf goes too, and the next run works.
touch "$SHOP/mark"
"$DFG" -q -d 600 twin-a >/dev/null 2>&1 & one=$!
recording "$SHOP/mark" twin-a
kill -KILL $one
wait $one 2>/dev/null
no_perf() { ! pgrep -f "perf record.*$SHOP"; }
ok "killed: nothing runs on (case 55)" wait_for no_perf
ok "the next run works" trigger -q -d 1 twin-a
is "  by the agent" "$(json '.jvms[0].source')" agent

# No JVM there: a native graph, and a status that says so.
SHOP_JQ='.process.args = ["/bin/sh", "-c", "while :; do :; done"]'
ok "a container without JVM" shop_start native
trigger -d 1 native
is "no JVM: status 4" "$status" 4
ok "  the graph is there" test -s "$(json .graphs.svg)"
ok "  with samples" test "$(json .samples)" -gt 0
ok "  and a warning" grep -q "no JVM" "$SHOP/err"
is "  no JVM in the summary" "$(json '.jvms | length')" 0

is "nothing is left behind" "$(leftovers)" ""
tap_done
