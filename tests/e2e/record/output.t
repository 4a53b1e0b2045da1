#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where root writes results: not where others could lead it, and under sudo for the user who called. Case 85.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/fakeperf.sh
need jq perf setpriv
fakeperf_begin
chmod 755 "$work"
unset SUDO_UID SUDO_GID
export PATH=$BUILD/bin:$PATH
mkdir -m 755 "$work/victim"
printf 'main;a 100\nmain;b 50\n' >"$work/one"
printf 'main;a 50\nmain;b 100\n' >"$work/two"

# record ARG…: a short recording of the process, by the real perf
record() {
	dfg-trigger -q -d 1 -f folded --pid "$target" "$@" >"$work/said" 2>"$work/err"
	[ $? = 4 ] || { cat "$work/err" && return 1; } # it is no JVM
}
owner() { stat -c %u:%g "$@" | sort -u; }
# dir PATH OWNER MODE
dir() { mkdir -p "$work/$1" && chown "$2" "$work/$1" && chmod "$3" "$work/$1"; }
# refused DIR COMMAND…: in one line with reason and advice; nothing is made
refused() {
	local at=$1
	shift
	! "$@" -o "$at" >"$work/said" 2>"$work/err" || return 1
	cat "$work/err"
	[ "$(wc -l <"$work/err")" = 1 ] && grep -q "others than root could lead the files elsewhere; give a directory" "$work/err" &&
		[ ! -e "$at" ]
}

ok "a recording for the rest" record -o "$work/first"
for how in "theirs 1000:1000 755" "open 0:0 777" "group 0:1000 775" "theirsticky 1000:1000 1777"; do
	read -r name who mode <<<"$how"
	dir "$name" "$who" "$mode"
	ok "dfg-trigger -o below a directory of $who, mode $mode, is refused" refused "$work/$name/out" dfg-trigger -q -d 1 --pid "$target"
	ok "  so is --replay" refused "$work/$name/out" dfg-trigger -q --replay "$work/first"
	ok "  dfg-merge" refused "$work/$name/out" dfg-merge -q -f folded "$work/one"
	ok "  and dfg-diff" refused "$work/$name/out" dfg-diff -f folded "$work/one" "$work/two"
done
is "nothing was recorded" "$(ls "$work/theirs")" ""

dir tmp 0:0 1777
setpriv --reuid 1000 --regid 1000 --clear-groups sh -c 'cd "$1" && mkdir dir && ln -s ../victim link && ln -s ../victim/made dangling' sh "$work/tmp"
for name in dir link dangling; do
	ok "in a directory like /tmp another user's $name is refused" \
		bash -c '! dfg-merge -q -f folded -o "$1" "$2" 2>"$3"; grep -q "belongs to uid 1000" "$3"' - "$work/tmp/$name" "$work/one" "$work/err"
done
ok "  a new directory is made" record -o "$work/tmp/new"
is "  for root" "$(owner "$work/tmp/new" "$work/tmp/new/session" "$work/tmp/new/flame.folded")" 0:0
ln -s tmp/new "$work/own"
ok "a link that only root can change is followed" dfg-merge -q -f folded -o "$work/own/below" "$work/one"
ok "  to where it leads" test -s "$work/tmp/new/below/flame.folded"
is "no file is where others' links lead" "$(ls "$work/victim")" ""
ok "another user may write where that user can" setpriv --reuid 1000 --regid 1000 --clear-groups \
	dfg-merge -q -f folded -o "$work/open/mine" "$work/one"

# ---- what --replay takes and prints ----

ok "--replay takes the directory that -o made" dfg-trigger -q --json -f folded --replay "$work/first"
dfg-trigger -q --json -f folded --replay "$work/first/session" >"$work/said"
is "  and prints a plain path" "$(jq -r .graphs.folded "$work/said")" "$work/first/flame.folded"

# ---- sudo ----

dir home 1000:1000 755
export SUDO_UID=1000 SUDO_GID=1000
ok "sudo dfg-trigger -o in one's own directory" record -o "$work/home/out"
is "  all results are the caller's" "$(find "$work/home" -exec stat -c %u:%g {} + | sort -u)" 1000:1000
ok "  who can draw them again" setpriv --reuid 1000 --regid 1000 --clear-groups dfg-trigger -q -f svg --replay "$work/home/out"
ok "  others cannot read the session" test "$(stat -c %a "$work/home/out/session")" = 700
ok "sudo dfg-trigger -o in a directory like /tmp" record -o "$work/tmp/sudo"
is "  the same" "$(find "$work/tmp/sudo" -exec stat -c %u:%g {} + | sort -u)" 1000:1000
ok "sudo dfg-merge" dfg-merge -q -f folded -o "$work/home/merged" "$work/one"
is "  the same" "$(owner "$work/home/merged/flame.folded")" 1000:1000
# in_dir DIR ARG…: records there
in_dir() { (cd "$1" && shift && record "$@"); }
dir elsewhere 0:0 755
ok "without -o, in a directory of root's" in_dir "$work/elsewhere"
graphs=$(dirname "$(find "$DFG_ROOT/containers" -name flame.folded | head -n 1)")
is "  results are root's" "$(find "$graphs" -exec stat -c %u:%g {} + | sort -u)" 0:0
is "  in a directory that only root can enter" "$(stat -c %a "$graphs")" 700
is "  and nothing is written there" "$(ls -A "$work/elsewhere")" ""
dir work 1000:1000 755
ok "without -o, in one's own directory" in_dir "$work/work" -f svg,folded,perf-map --json
picture=$(jq -r .graphs.folded "$work/said")
stem=$(basename "$picture" .folded)
ok "  the picture is there, named after process and time" \
	grep -qxE "$work/work/process-$target-[0-9]{8}T[0-9]{6}Z\.folded" <<<"$picture"
is "  so are the others" "$(cd "$work/work" && echo *)" "$stem.folded $stem.perf-map.tar $stem.svg"
is "  which are the caller's" "$(owner "$work/work"/*)" 1000:1000
ok "  who can open what was printed" setpriv --reuid 1000 --regid 1000 --clear-groups cat "$picture"
session=$(jq -r .session "$work/said")
is "  the session stays root's" "$(owner "$session") $(stat -c %a "$session")" "0:0 700"
ok "  with the profile" test -s "$session/tree"
is "  and nothing is beside it" "$(ls -A "${session%/*}")" session
for name in group open; do
	before=$(ls -A "$work/$name")
	ok "without -o, in a directory where others could lead the files elsewhere" in_dir "$work/$name"
	is "  nothing is written there" "$(ls -A "$work/$name")" "$before"
done
SUDO_UID=1000x
ok "an id that is none is nobody's" refused "$work/home/none" dfg-merge -q -f folded "$work/one"
unset SUDO_UID SUDO_GID

# ---- races ----

# race WHAT DIR UID [BELOW]: rounds of runs into DIR or below it while this user swaps names there;
# what they say does not matter
race() {
	local i out=$work/$2${4:+/$4}
	rounds=0
	"$BUILD/tools/swapper" "$1" "$work/$2" "$work/victim" "$3" &
	swapper=$!
	started+=("$swapper")
	for i in $(seq 24); do
		dfg-merge -q -f folded -o "$out" "$work/one"
		dfg-diff -f folded -o "$out" "$work/one" "$work/two"
		dfg-trigger -q -f folded --replay "$work/first" -o "$out"
		rounds=$((rounds + 3))
	done >/dev/null 2>&1
	for i in $(seq 12); do
		fakeperf_start "$2$i" perf-good "$work/golden" dfg-trigger -q -d 1 -f folded --pid "$target" -o "$out"
		end_of "$2$i"
		rounds=$((rounds + 1))
	done
	kill "$swapper"
	wait "$swapper" 2>/dev/null
}

dir race 0:0 1777
race names race 1000 out
is "case 85: in $rounds runs beside a user who swaps DIR nothing is made elsewhere" "$(ls "$work/victim")" ""
# The owner cannot tell: the container's root is the host's.
dir volume 0:0 755
race session volume 0
is "case 85: nor in $rounds runs beside a root who swaps the session and its files" "$(ls "$work/victim")" ""
export SUDO_UID=1000 SUDO_GID=1000
dir callers 1000:1000 755
race session callers 1000
is "case 85: nor in $rounds runs beside the user who called sudo" "$(ls "$work/victim")" ""
is "  who is given nothing of others" "$(stat -c %u "$work/victim")" 0
tap_done
