# SPDX-License-Identifier: Apache-2.0
# Runs a command and checks what it says. Source it after tap.sh, with a directory in $top.

# command_run PROGRAM ARGUMENT…: its stdout in $top/out, its stderr in $top/err, and then the status.
command_run() {
	"$@" >"$top/out" 2>"$top/err" </dev/null
	echo "status $?" >>"$top/err"
}

# says NAME LINE…: what it said on stderr.
says() {
	local name=$1
	shift
	is "$name" "$(cat "$top/err")" "$(printf '%s\n' "$@")"
}
