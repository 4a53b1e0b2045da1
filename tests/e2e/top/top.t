#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-top on a JVM in a container: as text, as JSON, and in a terminal (tmux) with all its keys.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need tmux xmllint
TMUX_SOCKET=dfg-top
shop_setup
dfg_top=$BUILD/bin/dfg-top
trap 'tmux -L "$TMUX_SOCKET" kill-server 2>/dev/null; shop_teardown' EXIT
javac -d "$SHOP/app" tests/java/Late.java

# start_top ARGS: dfg-top at work, its windows in $SHOP/json; those of the one before must not be taken for its own.
start_top() {
	rm -f "$SHOP/json"
	"$dfg_top" --json "$@" >"$SHOP/json" 2>"$SHOP/err" &
	top=$!
}
lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
last() { tail -n 1 "$SHOP/json" | jq -r "$1"; }
hottest() { [ "$(last '.methods[0].name')" = "$1" ]; }
nothing_left() {
	local left
	left=$(find "$DFG_ROOT/tmp" -mindepth 1; find "$DFG_ROOT/containers/"*/out -name '*.snap')
	[ -z "$left" ] || { echo "$left"; return 1; }
	! pgrep -f "$DFG_ROOT/tmp/" # perf
}
# The agent of a JVM that gets no processor may answer when dfg-top has ended: the next one removes that.
swept() { nothing_left || { "$dfg_top" --plain -n 1 late; nothing_left; }; }
# A pattern: a start that fails has used up its number.
has_stretch() { compgen -G "$DFG_ROOT/tmp/*/$1"; }
has_no_stretch() { ! has_stretch "$1"; }

SHOP_MAIN=Late
ok "a container with one hot method" shop_start late
start_top late
ok "dfg-top tells what runs" wait_for lines "$SHOP/json" 2
is "the hot method is first" "$(last '.methods[0].name')" Late.hot
is "  compiled, in the main thread" "$(last '[(.methods[0].how | has("C1") or has("C2")), .threads[0].name] | @csv')" 'true,"main"'
ok "  all of the time is the application's" jq -se 'last | .busy.application > .samples / 2' "$SHOP/json"
touch "$SHOP/late/tmp/go"
ok "code that is new has its name" wait_for hottest LateCode.fresh
is "  and no frame is stale" "$(last '[.methods[] | select(.name == "[stale]")] | length')" 0
ok "nothing was missed" jq -se 'map(.gap) | add < 1' "$SHOP/json"
kill -TERM "$top"
wait "$top"
is "SIGTERM ends it" $? 0
ok "  and leaves nothing" wait_for swept
is "  said nothing" "$(cat "$SHOP/err")" ""

"$dfg_top" --plain -n 1 late >"$SHOP/plain" 2>"$SHOP/err"
is "as text, once" "$?" 0
is "  the table's first row" "$(sed -n '5s/.*  //p' "$SHOP/plain")" LateCode.fresh
ok "  under title, quality, split and head" grep -q '^  SELF>   TOTAL  HOW     METHOD$' "$SHOP/plain"

start_top late
wait_for lines "$SHOP/json" 1
kill -KILL "$top"
wait "$top" 2>/dev/null
"$dfg_top" --plain -n 1 late >/dev/null 2>&1
ok "what SIGKILL has left the next one removes" wait_for swept

# A method that runs for the first time after the first snapshot, of a class that was loaded before it.
SHOP_MAIN="Late again" shop_start again -Xint
start_top again
wait_for lines "$SHOP/json" 1
touch "$SHOP/again/tmp/go"
ok "an interpreted method of an old class has its name" wait_for hottest Late.again
ok "  in the first window that it runs in" jq -se 'all(.methods[0].name != "[stale]")' "$SHOP/json"
kill -TERM "$top"
wait "$top"
shop_stop again

# A JVM that the container's engine starts later: the recorder in the kernel is told of it.
WAIT_SECONDS=400 # ten windows and a new recording, on a busy machine
mkdir "$SHOP/app/young"
javac -d "$SHOP/app/young" tests/java/Known.java
start_top --unwind bpf --source host -d 3 late
wait_for lines "$SHOP/json" 1
bundle_exec late "$JAVA" -Xmx64m -cp /mnt/young Known treemap 3600 >/dev/null 2>&1 &
known() { [ "$(last '[.methods[] | select(.name | startswith("java.util.TreeMap"))] | length > 0')" = true ]; }
ok "a JVM that came later: it is there" wait_for known
# After ten windows it may begin anew, since its snapshots have grown.
ok "  the recording goes on as it was" eval 'has_no_stretch 1 || lines "$SHOP/json" 10'
walked() { find "$DFG_ROOT/tmp" -name session.json -exec jq -e '.walked > 50 and .copied < .walked / 10' {} +; }
ok "  its stacks are walked, too" wait_for walked
kill -TERM "$top"
wait "$top"
pkill -KILL -f ' /mnt/young '
wait_for eval '! pgrep -f " /mnt/young "'

# Another stretch of the recording, since a process came that perf did not know.
start_top --unwind vm -d 1 late
wait_for lines "$SHOP/json" 1
bundle_exec late sleep infinity &
is_anew() { wait_for has_stretch '[1-9]*' || { wc -l "$SHOP/json"; ls -d "$DFG_ROOT"/tmp/*/*; cat "$SHOP/err"; return 1; }; }
ok "a process that came later: recorded anew" is_anew
n=$(wc -l <"$SHOP/json")
ok "  and it goes on" wait_for lines "$SHOP/json" $((n + 3))
is "  with the names" "$(last '.methods[0].name')" LateCode.fresh
ok "  and without the files of before" wait_for has_no_stretch 0
WAIT_SECONDS=60
kill -TERM "$top"
wait "$top"

"$dfg_top" nobody 2>"$SHOP/err"
is "no such container" "$?" 3
is "  in one line" "$(grep -c 'dfg-top: no running container "nobody"' "$SHOP/err")" 1
setpriv --reuid 1000 --regid 1000 --clear-groups "$dfg_top" late 2>/dev/null
is "not permitted" "$?" 5

# In a terminal.
term() { tmux -L "$TMUX_SOCKET" "$@"; }
seen() { term capture-pane -p | grep -q -- "$1"; }
unseen() { ! seen "$1"; }
keys() { term send-keys "$@"; }
LC_ALL=C.UTF-8 tmux -u -L "$TMUX_SOCKET" -f /dev/null new-session -d -x 110 -y 30 \
	"'$dfg_top' -o '$SHOP/seen' late; echo status \$?; stty -a | grep -o ' icanon'; exec cat"
ok "the screen" wait_for seen 'SELF>   TOTAL'
ok "  shows the hot method" wait_for seen 'LateCode.fresh'
keys Down
ok "  in colours" wait_for bash -c "tmux -L '$TMUX_SOCKET' capture-pane -ep | grep -q $'\\e\\[3.*C[12].*LateCode.fresh'"
keys /
keys -l 'fresh' # any case: it has no capital letter
ok "a filter is typed" wait_for seen 'filter: fresh_'
ok "  and hides the rest" wait_for unseen 'Late.main'
keys Enter
ok "  until it is taken back" wait_for seen 'filter: fresh '
keys / x Enter
ok "  that leaves nothing says so" wait_for seen 'no matches for'
keys / BSpace Enter
ok "  and can be changed" wait_for seen 'LateCode.fresh'
keys f
ok "paused" wait_for seen 'PAUSED'
keys Enter
ok "the calls of the method" wait_for seen 'CALLERS'
ok "  its caller" seen '%  Late.main$'
ok "  and the thread, at the end" seen '%  *main$'
keys w
ok "a flame graph is written" wait_for seen "written to $SHOP/seen/"
ok "  of the current view" grep -q '^main;.*Late.main.*LateCode.fresh_\[.\] [0-9]*$' "$SHOP"/seen/*/flame.folded
ok "  as a picture" xmllint --noout "$(ls "$SHOP"/seen/*/flame.svg)"
ok "  as a page" grep -q LateCode.fresh "$(ls "$SHOP"/seen/*/flame.html)"
keys Escape
ok "back to the methods" wait_for seen 'SELF>   TOTAL'
keys f t
ok "threads" wait_for seen 'KERNEL  FOR'
keys Escape Escape
ok "no filter any more" wait_for unseen 'filter: fresh'
keys s
ok "by total" wait_for seen 'SELF   >TOTAL'
keys '?'
ok "help" wait_for seen 'save the current view as a flame graph'
keys q
ok "q ends it" wait_for seen 'status 0'
ok "  the terminal is as it was" wait_for seen ' icanon'
ok "  and nothing is left" wait_for swept

start_top late
wait_for lines "$SHOP/json" 1
LC_ALL=C.UTF-8 tmux -u -L "$TMUX_SOCKET" -f /dev/null new-session -d -x 110 -y 30 "exec '$dfg_top' late"
wait_for seen 'LateCode.fresh'
shop_stop late
wait "$top"
is "where the container ends, so does it" "$?" 0
ok "  and says so" grep -q 'its processes have ended' "$SHOP/err"
ok "on a screen it waits for new ones" wait_for seen 'ended: waiting for new ones'
shop_start late
ok "  and goes on with a container of the name" wait_for seen 'it runs again'
ok "  with the names of its code" wait_for seen 'LateCode.fresh'
keys q
wait_for nothing_left
is "  and leaves nothing" "$(nothing_left)" ""
tap_done
