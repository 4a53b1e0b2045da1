#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The man pages have each option that --help has, and --help fits a screen.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh

for command in "$BUILD"/bin/dfg-*; do
	name=${command##*/}
	help=$("$command" --help)
	page=$(sed 's/\\-/-/g' docs/man/"$name".[18])
	is "$name: options that only --help has" "$(tr -c 'a-z-' '\n' <<<"$help" | grep -x -- '--[a-z-]*[a-z]' | sort -u |
		while read -r option; do grep -Eq -- "$option([^a-z-]|\$)" <<<"$page" || echo "$option"; done)" ''
	ok "  --help fits a screen" awk 'length > 90 || NR > 30 {exit 1}' <<<"$help"
done
tap_done
