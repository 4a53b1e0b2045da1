#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-trigger as a whole, with a perf that is made up: it records, fails, is interrupted, dies, and
# the disk is full. What real recordings hold: tests/e2e/record.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/fakeperf.sh"
[ -n "${DFG_RECORD_T:-}" ] || DFG_RECORD_T=1 exec unshare --mount "$0"
here=$TOP/tests/golden/record
fakeperf_begin
trap 'umount -l "$work/disk" 2>/dev/null; fakeperf_end' EXIT
head -c 4096 /dev/zero >"$work/garbage"
sleep 3.2 # beside a process of 2 s, by whole seconds, the whole machine is recorded, elsewhere

# start NAME KIND ARGUMENTS…: dfg-trigger in the background, its results in $work/NAME
start() { fakeperf_start "$1" "$2" "$work/golden" dfg-trigger -f folded -o "$work/$1" "${@:3}"; }
begun() { wait_for grep -qs 'perf enabled' "$work/$1/session/perf.log"; }
said() { sed -e "s|$work|WORK|g" -e "s/\b$target\b/PID/g" -e 's/: [0-9]*\.[0-9] s at/: TIME at/' -e 's/after [0-9]*\.[0-9] s/after TIME s/' \
	-e 's/^\(  cpu  *\).*;/\1OF;/' "$work/$1"; }
is_recording() { ok "$1" diff -u "$TOP/tests/golden/replay/folded" "$work/$2/flame.folded"; }
of_session() { python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/$1/session/session.json" "$2"; }
no_jvm='dfg-trigger: warning: no JVM runs in process PID: the graph is of its other processes'
early='dfg-trigger: the recording ended early: the recorder ended after TIME s'

# ---- all at once ----
start once perf-good -d 1 -F 49 --pid "$target"
start two perf-good -d 1 --json --pid "$target" $$
start stopped perf-good -d 600 --pid "$target"
start quiet perf-good -q -d 600 --pid "$target"
start fails perf-fails -d 600 --pid "$target"
start ends perf-ends -d 600 --pid "$target"
start fills perf-fills -d 600 --pid "$target"
mkdir "$work/disk"
mount -t tmpfs -o size=256k tmpfs "$work/disk"
fakeperf_start full perf-good "$work/golden" dfg-trigger -o "$work/disk/full" -d 600 --pid "$target"
fakeperf_jvm
fakeperf_container record-t "$jvm"
start jvm perf-ends --source host -d 600 --pid "$jvm"
fakeperf_start web perf-ends "$work/golden" dfg-trigger -f folded -d 600 record-t "$target"
fakeperf_start named perf-ends "$work/golden" dfg-trigger --json -f folded --source host -d 600 record-t
start nobody perf-good -d 600 nobody
fakeperf_start garbage perf-ends "$work/garbage" dfg-trigger -o "$work/garbled" -d 600 --pid "$target"

end_of once
is 'a recording of a process that is no JVM has status 4' $status 4
is_recording 'its graph is as expected' once
is 'so is its summary' "$(said once.out)" "$(cat "$here/summary")"
is 'it says that there is no JVM' "$(said once.err)" "$no_jvm"
is 'the session has the frequency, the host and the process' \
	"$(of_session once 's["frequency"], s["host"], [p["pid"] for p in s["processes"]]')" "(49, 'db1', [$target])"
is 'the session has a duration of a second or more' "$(of_session once '1 <= s["duration"] < 60')" True
is 'the session is for root only' "$(stat -c %a "$work/once/session")" 700
"$BUILD/bin/dfg-trigger" --replay -f folded -o "$work/again" "$work/once/session" >/dev/null 2>&1
is_recording 'the session can be drawn again' again

end_of two
is 'a recording of two processes has status 4, too' $status 4
is 'one JSON object has both' \
	"$(python3 -c 'import json, sys; print([r["samples"] for r in json.load(sys.stdin)["recordings"]])' <"$work/two.out")" '[6, 0]'
is 'each has a directory of its own' "$(find "$work/two" -name flame.folded | wc -l)" 2
is 'who used no CPU is named' "$(grep -c "no sample of process $$: its processes used no CPU" "$work/two.err")" 1

begun stopped
kill -INT "${pids[stopped]}"
end_of stopped
is 'SIGINT ends a recording, and draws: status 4' $status 4
is_recording 'what was recorded until then' stopped
is 'the summary has it' "$(said stopped.out | tail -n 1)" '  session      WORK/stopped/session'
is 'its duration is as long as it was' "$(of_session stopped 's["duration"] < 500')" True
begun quiet
kill -TERM "${pids[quiet]}"
end_of quiet
is 'so does SIGTERM' $status 4
is 'a warning is shown with -q, too' "$(said quiet.err)" "$no_jvm"

end_of fails
is 'a perf that fails has status 1' $status 1
ok 'perf'"'"'s message is shown' grep -q '^dfg-trigger: perf recorded nothing: the kernel said no' "$work/fails.err"
is 'there is no summary' "$(cat "$work/fails.out")" ''
ok 'nothing is left' test ! -e "$work/fails"

end_of ends
is 'a perf that ends early has status 4' $status 4
is 'that it did is said' "$(said ends.err)" "$early"$'\n'"$no_jvm"
is_recording 'what it recorded is drawn' ends

end_of fills
is 'a perf that fills the disk has status 4' $status 4
ok 'the disk is named' grep -q "^dfg-trigger: warning: the recording ended after [0-9]* s: the disk of $work/fills is full" "$work/fills.err"
is_recording 'what it recorded is drawn, too' fills

end_of full
is 'a disk that is full at once has status 1' $status 1
ok 'the message says so' grep -q 'No space left on device' "$work/full.err"
is 'nothing is left on it' "$(ls -A "$work/disk")" ''

end_of garbage
is 'a recording that cannot be read has status 1' $status 1
ok 'it is kept' grep -q "; the recording is kept: dfg-trigger --replay $work/garbled/session$" "$work/garbage.err"
is 'as perf wrote it' "$(cmp "$work/garbage" "$work/garbled/session/perf.data" && echo same)" same
is 'without a graph' "$(ls -A "$work/garbled")" session

# ---- by name ----
end_of jvm
is 'a recording of a JVM has status 0, also where its code has no names' $status 0
is 'which is said' "$(grep -c "warning: no names for the Java code of $jvm: " "$work/jvm.err")" 1
is 'and is in the session' "$(of_session jvm 's["jvms"][0]["pid"], s["jvms"][0]["source"]')" "($jvm, 'none')"
end_of named
is 'a container is recorded by its name' $status 0
is 'it is in the summary' "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["container"])' <"$work/named.out")" \
	"{'id': 'record-t', 'name': 'record-t', 'pod': '', 'namespace': ''}"
ok 'the link "latest" leads to it' test -e "$DFG_ROOT/containers/record-t/graphs/latest/flame.folded"
is 'its graphs are in its own directory' "$(find "$DFG_ROOT/containers/record-t/graphs" -name flame.folded | wc -l)" 1
end_of web
is 'every name has to be one: status 3' $status 3
end_of nobody
is 'a container that does not run has status 3' $status 3
is 'in one line' "$(cat "$work/nobody.err")" 'dfg-trigger: no running container "nobody"; see dfg-trigger --list'
ok 'nothing is left of it' test ! -e "$work/nobody"
start once perf-ends --pid "$target"
end_of once
is 'a directory with a session is refused' $status 1
is 'in one line that says what to do' "$(said once.err | cut -d: -f2 | head -n 1)" \
	' there is a session in WORK/once already; give another --output, or --force to replace it'
is_recording 'what is there stays' once
start once perf-ends --force --pid "$target"
end_of once
is 'with --force it is replaced' $status 4
is 'and the picture, which is said' "$(grep -c "^dfg-trigger: replaced in $work/once: flame.folded$" "$work/once.err")" 1
is_recording 'by the new one' once

# ---- the recordings ----
recordings() { "$BUILD/bin/dfg-trigger" --list-recordings "$@"; }
session=$(echo "$DFG_ROOT"/containers/record-t/graphs/2*/session)
is 'a recording is listed in a line' "$(recordings | sed -E -e 's/^[0-9]{4}-[0-9-]*T[0-9:]*Z/TIME/' -e 's/ +[0-9.]+ (s|.iB)/ N \1/g')" \
	"STARTED                DURATION       SIZE  CONTAINER                SESSION
TIME N s N KiB  record-t                 $session"
is 'and as JSON' "$(recordings --json | python3 -c 'import json, sys
[r] = json.load(sys.stdin)["recordings"]
print(r["container"]["name"], r["session"], r["recording"], r["bytes"] > 1000, r["frequency"])')" "record-t $session False True 99"
is 'by its name' "$(recordings record-t | wc -l) $(recordings rec | wc -l)" '2 2'
is 'and not by another' "$(recordings other 2>&1)" "dfg-trigger: no recordings of that name in $DFG_ROOT"
is 'in JSON, too' "$(recordings --json other | tr -d ' \n')" '{"recordings":[]}'
# ---- the list ----
list() { "$BUILD/bin/dfg-trigger" --list "$@"; }
is 'a container is listed in a line' "$(list | grep "^record-t " | awk '{print $1, $2, $3, $4, $7}')" "record-t $jvm 1 0 record-t"
is 'below a heading' "$(list | head -n 1 | tr -s ' ')" 'CONTAINER PID JVMS USER CPU AGE NAME'
is 'its age is in seconds at first' "$(list | awk '/^record-t / {print $6}' | tr -d 0-9)" s
is 'and as JSON' "$(list --json | python3 -c 'import json, sys
print([{k: type(v).__name__ if k == "age" else v for k, v in c.items() if k != "processors"}
	for c in json.load(sys.stdin)["containers"] if c["id"] == "record-t"])')" \
	"[{'id': 'record-t', 'name': 'record-t', 'pod': '', 'namespace': '', 'label': 'record-t', 'forged': False, 'pid': $jvm, 'jvms': 1, 'uid': 0, 'age': 'float'}]"
is 'without JSON there is none' "$(list | grep -c '[{}]')" 0

# ---- not as root ----
install -m 755 "$BUILD/bin/dfg-trigger" "$work/dfg-trigger"
chmod 711 "$work"
for arguments in '--pid 1' --list --list-recordings; do
	# shellcheck disable=SC2086
	said=$(setpriv --reuid 65534 --regid 65534 --clear-groups "$work/dfg-trigger" $arguments 2>&1)
	is "another user is not permitted $arguments" $? 5
	is 'the message says what to do' "$(grep -c "needs root: run it with sudo" <<<"$said")" 1
done
tap_done
