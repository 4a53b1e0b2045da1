#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One table for each program: its man page, whose lines ".\" help:" are what --help prints. It has each option that
# the program takes, and bash completes from it.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh

# options_in TEXT: the long options in it
options_in() { sed 's/\\-/-/g' | tr -c 'a-z-' '\n' | grep -x -- '--[a-z-]*[a-z]' | sort -u; }

# taken NAME: those that getopt_long knows, by its tables
taken() {
	local table='{"\([a-z-]*\)", [a-z]*_argument.*'
	case $1 in
	dfg-trigger) sed -n "s/^.*{$table}, \(BOTH\|TRIGGER\)},/--\1/p" host/cmd/options.c ;;
	dfg-top) sed -n "s/^.*{$table}, \(BOTH\|TOP\)},/--\1/p" host/cmd/options.c ;;
	dfg-hook) grep -o '"--[a-z]*"' hook/self.c | tr -d '"' ;;
	dfg-inject) sed -n "s/.*$table/--\1/p" injector/main.c ;;
	*)
		sed -n "s/.*$table/--\1/p" "host/cmd/${1#dfg-}.c"
		! grep -q FILTER_OPTIONS "host/cmd/${1#dfg-}.c" || printf -- '--%s\n' include exclude java-only from to
		;;
	esac | sort -u
}

# items PAGE: options whose line of --help does not stand right before their item
items() {
	sed 's/\\-/-/g; s/\\f[A-Z]//g' "$1" | awk '
		/^\.\\" help:  ? *-/ {match($0, /--[a-z-]+/); due = substr($0, RSTART, RLENGTH); next}
		/^\.\\" help:/ || /^\.T[PQ]$/ || !due {next}
		{if (!index($0, due)) print due; due = ""}'
}

for program in "$BUILD"/bin/dfg-* "$BUILD"/libexec/dfg-hook "$BUILD"/payload/dfg-inject; do
	name=${program##*/}
	page=$(echo docs/man/"$name".[18])
	help=$("$program" --help)
	is "$name --help is what the man page has" "$help" "$(sed -n '/^\.\\" help:/{s///;s/^ //;p}' "$page")"
	ok "  and fits a screen" awk 'length > 90 || NR > 30 {exit 1}' <<<"$help"
	is "  each of its options is followed by its item" "$(items "$page")" ''
	is "  options that only the program knows" "$(taken "$name" | grep -vx -- '--help' | comm -23 - <(options_in <<<"$help"))" ''
	is "  options that the man page does not explain" "$(taken "$name" | comm -23 - <(grep -v '^\.\\"' "$page" | options_in))" ''
	ok "  there are some" [ "$(taken "$name" | wc -l)" -gt 2 ]
done
tap_done
