# SPDX-License-Identifier: Apache-2.0
# Test Anything Protocol for shell tests. Source it, make checks, end with `tap_done`.
# A requirement that is missing skips the test, or fails it where DFG_STRICT=1 (CI).
tap_count=0
tap_failed=0
BUILD=${BUILD:-build}
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
unset SUDO_UID SUDO_GID # of `sudo prove`: results would go to the user who called it
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
[ -z "${FULL:-}" ] || export DFG_FULL=1

# A program of tests/e2e starts anew in a box (box.sh), which is gone with its parent.
case $(readlink -e "$0" || readlink -e "${OLDPWD:-.}/$0") in
"$TOP"/tests/e2e/*)
	[ -n "${BOX:-}" ] || [ "$(id -u)" != 0 ] ||
		BOX=dfg-test-$$ BUILD=$BUILD exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child=TERM \
			--mount-proc bash "$TOP/tests/lib/box.sh" "$(readlink -e "$0" || readlink -e "${OLDPWD:-.}/$0")" "$@"
	;;
esac

# tap_fail NAME <WHY: the reason goes to the error output, which a runner shows.
tap_fail() {
	echo "not ok $tap_count - $1"
	{
		echo "# failed: ${0##*/}: $1"
		head -n 40 | sed 's/^/# /'
	} >&2
	tap_failed=$((tap_failed + 1))
}

# ok NAME COMMAND...: passes when the command succeeds; its output is shown when it does not.
ok() {
	local name=$1 out
	shift
	tap_count=$((tap_count + 1))
	if out=$("$@" 2>&1); then
		echo "ok $tap_count - $name"
	else
		tap_fail "$name" <<<"$out"
	fi
}

# is NAME GOT WANT
is() {
	tap_count=$((tap_count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $tap_count - $1"
	else
		tap_fail "$1" <<<" got: $2"$'\n'"want: $3"
	fi
}

# full COMMAND...: only with FULL=1, for what is much like something that is tested without.
full() { [ -z "${FULL:-}" ] || "$@"; }

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# wait_for COMMAND...: until it succeeds, WAIT_SECONDS (60) at most.
wait_for() {
	local end=$((SECONDS + ${WAIT_SECONDS:-60}))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -le $end ] || return 1
		sleep 0.05
	done
}

# at_work PID TICKS: waits until the process has used so much processor time (1/100 s); fails where it ends before.
at_work() {
	WAIT_SECONDS=300 wait_for tap_used_or_ended "$@"
	tap_used "$@"
}
# at_work_again PID TICKS: waits until the process has used so much more of it.
at_work_again() {
	local ticks
	ticks=$(ticks_of "$1") && at_work "$1" $((ticks + $2))
}
tap_used_or_ended() { tap_used "$@" || [ $? = 2 ]; }
tap_used() {
	local ticks
	ticks=$(ticks_of "$1") || return 2
	[ "$ticks" -ge "$2" ]
}
# ticks_of PID: the processor time that the process has used (1/100 s); fails where it has ended.
ticks_of() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return
	# shellcheck disable=SC2086
	set -- ${stat##*) }
	[ "$1" != Z ] && echo $((${12} + ${13}))
}

# lock NAME: until the program or subshell ends, no other one has this lock. For what programs share in $BUILD.
lock() {
	local fd
	mkdir -p "$BUILD"
	exec {fd}>"$BUILD/$1.lock" && flock "$fd"
}

# need COMMAND...: the test cannot run without these programs.
need() {
	local c
	for c; do
		command -v "$c" >/dev/null || tap_cannot "no $c"
	done
}
need_root() { [ "$(id -u)" = 0 ] || tap_cannot "not root"; }

tap_cannot() {
	if [ "${DFG_STRICT:-}" = 1 ]; then
		echo "1..1"
		echo "not ok 1 - requirement: $1"
		echo "# failed: ${0##*/}: requirement: $1" >&2
		exit 1
	fi
	echo "1..0 # SKIP $1"
	exit 0
}

tap_done() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
}
