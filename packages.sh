#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh GROUP...: installs the Debian packages of these groups in packages.txt that are missing.
# One whose command (third column) came from elsewhere is not: two makers' packages may exclude each other.
set -eu
list=$(dirname "$0")/packages.txt
missing=
for group; do
	for p in $(sed 's/#.*//' "$list" | awk -v g="$group" '$1 == g { print $2 ":" $3 }'); do
		command=${p#*:}
		p=${p%%:*}
		[ -z "$command" ] || ! command -v "$command" >/dev/null || continue
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
			missing="$missing $p"
	done
done
[ -n "$missing" ] || exit 0
echo "== installing from Debian:$missing"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
