#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An incident: a service is slow now and then. The heat map of a recording shows when, and the picture of that time
# alone shows why.
#
#   sudo sh examples/incident/run.sh [SECONDS]
set -eu
cd "$(dirname "$0")/../.."
. examples/common.sh
example_begin incident
seconds=${1:-30}

start_service() {
	mkdir "$work/bundle"
	bundle "$work/bundle" Till
	javac -d "$work/bundle/rootfs/app" examples/incident/Till.java
	run_bundle dfg-incident "$work/bundle"
}

started() { date -d "$(jq -r .started "$out/session/session.json")" +%s; }

# The time from which to which the slowest request took that lies whole in the recording, a second of slack included.
slowest_request() {
	while read -r time _ _ _ ms _; do
		echo "$(date -d "$time" +%s) $ms"
	done <"$work/bundle/log" | awk -v began="$(started)" -v seconds="$seconds" '
		$1 - $2 / 1000 > began + 1 && $1 <= began + seconds && $2 > most {end = $1; most = $2}
		END {if (most) print int(end - most / 1000) - 1, end + 1}'
}

# The heat map as text: a bar for each second. The format firefox has each sample's time.
heat_map() {
	dfg-trigger -q --replay "$out/session" -f firefox -o "$work/times" >/dev/null
	jq -r '[.threads[].samples.time[] / 1000 | floor] | group_by(.)[] | "\(.[0]) \(length)"' "$work"/times/*.json |
		while read -r second samples; do
			printf '%s %4d %s\n' "$(clock $(($(started) + second)))" "$samples" \
				"$(printf "%$((samples / 8))s" '' | tr ' ' '#')"
		done
}
clock() { date -u -d "@$1" +%H:%M:%S; }

say "a service in a runc container"
start_service
run dfg-trigger -d "$seconds" -F 499 -o "$out" dfg-incident

say "what the service itself says"
cat "$work/bundle/log"
span=$(slowest_request)
[ -n "$span" ] || { echo "run.sh: no slow request began and ended in these $seconds seconds: record for longer" >&2; exit 1; }

say "when: the heat map, here as text"
heat_map

say "why: the stripe alone"
run dfg-trigger --replay "$out/session" --from "$(clock "${span% *}")" --to "$(clock "${span#* }")" -o "$out/stripe"

say "open $out/flame.html and drag over the stripe in the heat map; or open $out/stripe/flame.html"
