#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the hook finds around itself: stdin, environment, descriptors, limits, configuration. It ends
# well, and in time, whatever that is.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/e2e/hook/common.sh
hook_setup
echo "budget_ms = 250" >"$S/hook.conf"
trap 'kill $held 2>/dev/null; hook_teardown' EXIT
held=

# Runs a command; passes when it ends with 0 within 20 s, also on a busy machine.
in_time() {
	local from=$SECONDS
	"$@" || return
	echo "took $((SECONDS - from)) s"
	[ $((SECONDS - from)) -lt 20 ]
}
no_hook() { ! pgrep -f "$HOOK --root $R"; }

# stdin
endless() { hook_feed <"$S/fifo"; }
mkfifo "$S/fifo"
sleep infinity >"$S/fifo" &
held=$!
ok "stdin that never ends (case 22)" in_time endless
kill $held
(while sleep 0.1; do echo; done) >"$S/fifo" 2>/dev/null &
held=$!
ok "stdin that trickles (case 22)" in_time endless
kill $held
held=
ok "stdin is closed (case 23)" in_time hook_feed <&-
# The one that types ends its line, and the input.
terminal() { (sleep 0.2; printf '{}\n\004\004') | script -qec "'$HOOK' --root '$R' --conf '$S/hook.conf'" /dev/null; }
ok "stdin is a terminal (case 23)" in_time terminal
ok "stdin is a directory" in_time hook_feed </
ok "stdin is empty" in_time hook_feed </dev/null
zeros() { head -c 64M /dev/zero | hook_feed; }
ok "64 MiB of zeros (case 17)" in_time zeros
pipestatus() {
	head -c 4M /dev/zero | hook_feed
	[ "${PIPESTATUS[*]}" = "0 0" ]
}
ok "stdin is read to its end" pipestatus
for text in '{"id":"../x","pid":7,"bundle":"/"}' '{"id":"a"}' '{"id":"a","pid":1,"bundle":"/"}' \
	'{"id":"gone","pid":4194304,"bundle":"/"}' 'null'; do
	feed_text() { printf %s "$text" | hook_feed; }
	ok "state $text" in_time feed_text
done
is "only a state with a good id left a record (case 19)" "$(ls "$R/containers")" gone
is "of what it was (case 20)" "$(jq -r .status "$R/containers/gone/state.json")" skip-bundle

# The namespace of the hook itself: not a container, or the wrong stage.
mkdir "$S/b"
echo '{"root":{"path":"/"}}' >"$S/b/config.json"
self() { hook_state $$ self | hook_feed; }
ok "the caller's own namespace" in_time self
is "is left alone (case 11)" "$(hook_status self)" skip-nomntns
ok "the host's /dev has no mount of ours" test ! -e /dev/dfg

# Environment, descriptors, limits: the container is mounted all the same, or left alone.
BUNDLE_HOOK='' bundle_make "$S/b" "$S/fs" /app wait
hook_start e "$S/b"
pid=$(bundle_pid "$(hook_id e)")
limited() { (ulimit "$@" && exec "$HOOK" --root "$R" --payload "$PAYLOAD") <"$S/state" >/dev/null; }
for limit in "-n 3" "-f 0" "-s 64" "-v 20000" "-u 1"; do
	hook_state "$pid" e >"$S/state"
	# shellcheck disable=SC2086
	ok "ulimit $limit (case 26)" in_time limited $limit
	ok "no hook is left" wait_for no_hook
	hook_state 0 e stopped | hook_feed
done
# RLIMIT_NPROC does not bind root; a cgroup's limit does.
no_more() {
	local g=/sys/fs/cgroup/pids/${BOX:-dfg-test-$$}-pids
	mkdir -p "$g" && echo 1 >"$g/pids.max" || return
	hook_state "$pid" e | sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$g" \
		"$HOOK" --root "$R" --payload "$PAYLOAD" --join | jq -r .detail
}
[ ! -d /sys/fs/cgroup/pids ] || is "no process more: says so, and ends (case 26)" "$(no_more)" \
	"fork: Resource temporarily unavailable"
hostile() {
	hook_state "$pid" e | env -i LD_PRELOAD=/x.so LD_LIBRARY_PATH=/x GLIBC_TUNABLES=x=y \
		DFG_ROOT=/nonexistent PATH=/x $(seq -f 'V%g=xxxxxxxxxxxxxxxx' 10000) "$HOOK" --root "$R" --payload "$PAYLOAD" --join
}
is "a hostile environment, of 10 000 variables (case 25)" "$(hostile | jq -r .status)" mounted
hook_stop e
hook_state 0 e stopped | hook_feed
ok "stdout and stderr are closed (case 26)" sh -c 'echo "{}" | "$0" --root "$1" >&- 2>&-' "$HOOK" "$R"

# Something holds the lock: the budget ends the hook, the container starts without us.
exec 9>>"$R/lock"
flock -x 9
BUNDLE_HOOK=$HOOK bundle_make "$S/b" "$S/fs" /app
ok "the budget ends a hook that hangs (case 30)" in_time hook_run "$S/b" l 9>&-
flock -u 9
exec 9>&-
ok "no process is left" wait_for no_hook

# The bundle's config.json changes while it is read: one of the two counts, or neither.
echo "budget_ms = 30000" >"$S/hook.conf"
unshare -m sleep infinity &
pid=$!
wait_for grep -qx sleep "/proc/$pid/comm"
printf '{"root":{"path":"%s"}}' "$S/fs" >"$S/good.json"
jq '.annotations = {"dfg.io/inject": "false"}' "$S/good.json" >"$S/no.json"
truncate -s 4096 "$S/holes.json"
while :; do
	for f in no holes good; do cp "$S/$f.json" "$S/b/new" && mv "$S/b/new" "$S/b/config.json"; done
done &
held=$!
replaced() {
	local i
	for i in $(seq 50); do
		hook_state "$pid" r | hook_feed || echo failed
		hook_status r
	done | sort | uniq -c >"$S/statuses"
	cat "$S/statuses"
	! grep -v ' skip-nodev$\| skip-optout$\| skip-bundle$' "$S/statuses"
}
ok "config.json is replaced all the time (case 21)" in_time replaced
diag "$(cat "$S/statuses")"
kill $held $pid
held=

# Configuration. The default is to let the container start; strict=yes is for who wants otherwise.
conf() {
	printf 'budget_ms = 30000\n%b' "$1" >"$S/dfg.conf"
	chmod "${2:-644}" "$S/dfg.conf"
	BUNDLE_HOOK=$HOOK BUNDLE_JQ=".hooks[][].args += [\"--conf\", \"$S/dfg.conf\"]" \
		bundle_make "$S/b" "$S/fs" /app
	hook_run "$S/b" c >"$S/table"
}
mounted() { [ "$(mount_of "$1" <"$S/table")" != "" ]; }
not() { ! "$@"; }
ok "a good configuration" conf 'out_bytes = 2097152\n'
ok "is in force" grep -q 'dfg-out.*size=2048k' "$S/table"
ok "a broken configuration: starts (case 31)" conf 'nonsense\n'
ok "without mounts" not mounted /dev/dfg
ok "a configuration others can write: starts" conf 'inject = all\n' 666
ok "without mounts" not mounted /dev/dfg
ok "inject = annotated: starts" conf 'inject = annotated\n'
ok "without mounts" not mounted /dev/dfg
ok "inject = annotated, with the annotation: starts" eval \
	'BUNDLE_ANNOTATIONS=dfg.io/inject=true conf "inject = annotated\n"'
ok "with mounts" mounted /dev/dfg
ok "strict, broken configuration: does not start (case 31)" not conf 'strict = yes\nnonsense\n'
ok "strict, all well: starts" conf 'strict = yes\n'
echo broken >"$S/image"
for payload in "$S/none" "$S/image"; do
	good=$PAYLOAD
	BUNDLE_HOOK_ARGS=(--root "$R" --payload "$payload")
	ok "payload $(basename "$payload"): starts" conf ''
	ok "without mounts" not mounted /dev/dfg-out
	ok "strict: does not start" not conf 'strict = yes\n'
	PAYLOAD=$good
done
BUNDLE_HOOK_ARGS=(--root "$R" --payload "$BUILD/payload")
ok "a directory as payload" conf ''
is "is a sealed tmpfs" "$(mount_of /dev/dfg <"$S/table")" "ro,nosuid,nodev,relatime,nosymfollow tmpfs"
ok "in its superblock" grep -q '/dev/dfg .*tmpfs dfg-payload ro,' "$S/table"
tap_done
