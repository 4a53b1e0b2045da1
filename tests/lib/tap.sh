# SPDX-License-Identifier: Apache-2.0
# Test Anything Protocol for shell tests. Source it, make checks, end with `tap_done`.
# A requirement that is missing skips the test, or fails it where DFG_STRICT=1 (CI).
tap_count=0
tap_failed=0
BUILD=${BUILD:-build}
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac

# ok NAME COMMAND...: passes when the command succeeds; its output is shown when it does not.
ok() {
	local name=$1 out
	shift
	tap_count=$((tap_count + 1))
	if out=$("$@" 2>&1); then
		echo "ok $tap_count - $name"
	else
		echo "not ok $tap_count - $name"
		printf '%s\n' "$out" | head -n 40 | sed 's/^/# /'
		tap_failed=$((tap_failed + 1))
	fi
}

# is NAME GOT WANT
is() {
	tap_count=$((tap_count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $tap_count - $1"
	else
		echo "not ok $tap_count - $1"
		printf '#  got: %s\n# want: %s\n' "$2" "$3"
		tap_failed=$((tap_failed + 1))
	fi
}

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# wait_for COMMAND...: until it succeeds, WAIT_SECONDS (10) at most.
wait_for() {
	local i
	for i in $(seq $((${WAIT_SECONDS:-10} * 20))); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	return 1
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
		exit 1
	fi
	echo "1..0 # SKIP $1"
	exit 0
}

tap_done() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
}
