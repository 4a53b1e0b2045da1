#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What each command says about a wrong command line, and its exit status.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh
PATH=$BUILD/bin:$PATH
unset DFG_ROOT
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

# says STATUS MESSAGE COMMAND…
says() {
	local status=$1 message=$2
	shift 2
	is "$*" "$("$@" 2>&1 >"$top/out" </dev/null; echo "status $?")" \
		"$1: $message"$'\n'"status $status"
	is "  prints nothing else" "$(cat "$top/out")" ""
}

# prints COMMAND…: the first line
prints() { "$@" 2>&1 | head -n 1; }

version=$(cat VERSION)
for command in trigger top diff merge doctor setup; do
	is "dfg-$command has a version" "$(prints dfg-$command --version)" "dfg-$command $version"
	dfg-$command --version >/dev/null 2>&1
	is "  with status 0" $? 0
	is "dfg-$command has help" "$(prints dfg-$command --help | cut -d' ' -f1-2)" "usage: dfg-$command"
	dfg-$command --help >/dev/null 2>&1
	is "  with status 0" $? 0
	says 2 "unknown option --wibble; see --help" dfg-$command --wibble
done
for command in diff merge; do
	says 2 "--output: no directory given" dfg-$command --output= a b
	says 2 "-o needs a value; see --help" dfg-$command -o
	says 2 "-f needs a value; see --help" dfg-$command -f
	says 2 "--by needs a value; see --help" dfg-$command --by
done
two="two profiles are compared, BEFORE and AFTER; see --help"
says 2 "$two" dfg-diff
says 2 "$two" dfg-diff a
says 2 "$two" dfg-diff a b c
for rows in x -1 4294967295; do
	says 2 "--rows $rows: must be a whole number" dfg-diff --rows $rows a b
done
says 2 "--sort x: must be total or self" dfg-diff --sort x a b
says 2 "--per x: must be sample or second" dfg-diff --per x a b
says 2 "--fail-on 2: must be like +2% or NAME:+2%" dfg-diff --fail-on 2 a b
says 2 "--fail-on whole:+2%: the share of the whole never changes; give --per second" \
	dfg-diff --fail-on whole:+2% a b
says 2 "--json and --markdown: only one of them" dfg-diff --json --markdown a b
says 2 "no input given; see --help" dfg-merge
says 2 "no input given; see --help" dfg-merge --json
says 1 "no input named on stdin" dfg-merge -
says 2 "--root x: must be absolute" dfg-doctor --root x
says 2 "one container at a time; see --help" dfg-doctor a b
says 2 "no pid given; see --help" dfg-doctor --pid
says 2 "--root needs a value; see --help" dfg-doctor --root

missing="missing command: expected install, remove or status; see --help"
says 2 "$missing" dfg-setup
says 2 "$missing" dfg-setup --json
says 2 "$missing" dfg-setup instal docker
says 2 "one engine at a time; see --help" dfg-setup install docker podman
says 2 "no engine wibble is known; see --help" dfg-setup install wibble
says 2 "no engine given; see --help" dfg-setup install
says 2 "no engine given; see --help" dfg-setup remove
says 2 "runc needs --bundle DIR" dfg-setup status runc
for option in file program root; do
	says 2 "x: must be absolute; see --help" dfg-setup install docker --$option x
	says 2 "--$option needs a value; see --help" dfg-setup install docker --$option
done
is "dfg-setup needs no root for a dry run" \
	"$(dfg-setup remove docker --dry-run --file "$top/daemon.json" >"$top/out" 2>&1; echo $?)" 0

# ---- what needs root ----
# Copies, since nobody may be unable to enter the folder that they were built in.
chmod 711 "$top"
mkdir "$top/bin"
cp "$BUILD/bin/dfg-trigger" "$BUILD/bin/dfg-setup" "$BUILD/bin/dfg-doctor" "$top/bin"
# as_user COMMAND…: as nobody, where this is root.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}
as_nobody() { # COMMAND STATUS MESSAGE ARGUMENT…
	local command=$1 status=$2 message=$3
	shift 3
	is "$command $* without root" "$(as_user "$top/bin/$command" "$@" 2>&1 >"$top/out" </dev/null; echo "status $?")" \
		"$command: $message"$'\n'"status $status"
}
as_nobody dfg-trigger 5 "listing other users' processes needs root: run it with sudo" --list
as_nobody dfg-trigger 5 "listing other users' processes needs root: run it with sudo" --list --json
as_nobody dfg-setup 5 "changing an engine's configuration needs root: run it with sudo" install docker
as_nobody dfg-setup 5 "changing an engine's configuration needs root: run it with sudo" remove docker
as_nobody dfg-doctor 5 "looking into a container needs root: run it with sudo" web
is "  but reports on the machine" "$(grep -c '^  no    rights     not root → run it with sudo$' "$top/out")" 1
as_user "$top/bin/dfg-setup" status podman --json >"$top/out" 2>&1
is "dfg-setup needs no root for a status, but for running containers" \
	"$(jq -r '[.findings[] | select(.about == "selection" or .about == "running") | .about] | unique | join(" ")' "$top/out")" selection

# ---- the configuration beside the programs ----
mkdir -p "$top/own/bin" "$top/own/libexec"
cp "$BUILD/bin/dfg-trigger" "$top/own/bin"
echo 'source=nonsense' >"$top/own/libexec/dfg.conf"
is "dfg-trigger reads dfg.conf" "$("$top/own/bin/dfg-trigger" --root "$top/r" nobody-of-this-name 2>&1 >/dev/null | head -n 1)" \
	"dfg-trigger: warning: $top/own/libexec/dfg.conf: line 1: invalid value of source: \`nonsense\`"

# ---- what they accept ----
printf 'main;a 3\nmain;b 1\n' >"$top/before"
printf 'main;a 1\nmain;b 3\n' >"$top/after"
for rows in 0 1 100 1000; do
	dfg-diff --rows $rows -o "$top/d" "$top/before" "$top/after" >"$top/out" 2>&1
	is "dfg-diff with a table of $rows rows" $? 0
done
is "one graph of files named on stdin" \
	"$(printf '%s\n\n%s' "$top/before" "$top/after" | dfg-merge -f folded -o "$top/m" -q - >"$top/out" 2>&1; echo $?)" 0
is "  with the samples of both" "$(awk '{n += $NF} END {print n}' "$top"/m/*.folded)" 8
is "  and of files that are arguments" \
	"$(dfg-merge -f folded -o "$top/n" -q "$top/before" "$top/after" "$top/before" >"$top/out" 2>&1
	awk '{n += $NF} END {print n}' "$top"/n/*.folded)" 12
tap_done
