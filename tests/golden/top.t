#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-top as a whole, without a screen, with a perf that is made up. On a screen, and of a real JVM:
# tests/e2e/top.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/fakeperf.sh"
here=$TOP/tests/golden/top
fakeperf_begin
start() { fakeperf_start "$1" "$2" "$work/golden" dfg-top -d 1 "${@:3}"; }
said() { sed -e "s/\b$target\b/PID/g" -e 's/ [0-9]*\.[0-9] s · 6 samples · .*/ TIME/' "$work/$1"; }
has_line() { grep -qs . "$work/$1.out"; }
no_jvm='dfg-top: warning: no JVM runs in process PID'

# ---- some at once: more would make each other late ----
mkdir -p "$DFG_ROOT/tmp/killed/0/perf" "$DFG_ROOT/tmp/running" "$DFG_ROOT/tmp/.hidden"
exec 9<"$DFG_ROOT/tmp/running"
flock -x 9
start plain perf-good -n 1 --pid "$target"
start json perf-good -n 2 --json --pid "$target"
start stopped perf-good --json --pid "$target" $$

wait_for has_line stopped
kill -TERM "${pids[stopped]}"
end_of plain
is 'text of a process that is no JVM has status 4' $status 4
ok 'it is as expected' diff -u "$here/plain" <(said plain.out)
is 'it says that there is no JVM' "$(said plain.err)" "$no_jvm"
end_of json
is 'so has JSON' $status 4
is 'there is a line for each refresh that was asked for' "$(wc -l <"$work/json.out")" 2
is 'each has the name, the samples, the methods and the threads' "$(sed "s/\"$target\"/\"PID\"/" "$work/json.out" | python3 -c '
import json, sys
for line in sys.stdin:
    w = json.loads(line)
    print(w["name"], w["samples"], [(m["name"], m["self"], m["total"]) for m in w["methods"]],
          [(t["name"], t["total"]) for t in w["threads"]], 1 <= w["seconds"] < 60, w["gap"])' | uniq)" \
	"PID 6 [('get', 3, 3), ('put', 2, 2), ('run', 1, 6)] [('main', 5), ('worker', 1)] True 0.0"

end_of stopped
is 'SIGTERM ends it, with status 4' $status 4
is 'two processes are shown together' "$(head -n 1 "$work/stopped.out" | python3 -c '
import json, sys
w = json.loads(sys.stdin.readline())
print(w["name"], w["samples"], [t["name"].split("/")[0] for t in w["threads"]])')" \
	"$target, $$ 6 ['process $target', 'process $target']"

mkfifo "$work/closed.out"
head -n 1 "$work/closed.out" >"$work/head" &
start closed perf-good --plain --pid "$target"
start fails perf-fails --pid "$target"
start nobody perf-good nobody
end_of closed
is 'so does the end of who reads its text' $status 4
is 'which is no error' "$(said closed.err)" "$no_jvm"

end_of fails
is 'a perf that fails has status 1' $status 1
is "perf's message is shown" "$(grep -v '^dfg-top: warning' "$work/fails.err" | cut -c -53)" \
	'dfg-top: perf recorded nothing: the kernel said no'
is 'and nothing else' "$(cat "$work/fails.out")" ''
end_of nobody
is 'a container that does not run has status 3' $status 3
is 'in one line' "$(cat "$work/nobody.err")" 'dfg-top: no running container "nobody"; see dfg-trigger --list'

head -c 4096 /dev/zero >"$work/garbage"
fakeperf_start garbage perf-good "$work/garbage" dfg-top -d 1 --pid "$target"
sleep 1000 &
brief=$!
started+=("$brief")
start ends perf-good --json --pid "$brief"
end_of garbage
is 'a recording that cannot be read has status 1' $status 1
is 'and no text' "$(cat "$work/garbage.out")" ''

wait_for has_line ends
{ kill -KILL "$brief" && wait "$brief"; } 2>/dev/null
end_of ends
is 'where the process ends, so does it' $status 4
is 'that it ended is said' "$(grep -v '^dfg-top: warning' "$work/ends.err")" 'dfg-top: its processes have ended'

is 'of other runs, the directories of those that were killed are removed' \
	"$(ls -A "$DFG_ROOT/tmp" | tr '\n' ' ')" '.hidden running '
tap_done
