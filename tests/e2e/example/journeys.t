#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The examples, each by its one command. The incident's service mostly waits: it runs beside the engines.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
need_root
need runc docker dockerd containerd podman protoc curl jq java javac perf
work=$(mktemp -d /tmp/dfg-examples.XXXXXX)
touch "$work/begun" # control groups are the whole machine's: older ones are of others
trap 'rm -rf "$work"' EXIT
unset DFG_ROOT TMPDIR

# example NAME ARG...: its results are in $work/NAME, its output in $work/NAME.said.
example() {
	local name=$1 dir=${1%-*}
	shift
	[ -d "examples/$dir" ] || dir=$name
	env -u BUILD OUT="$work/$name" WARM=3 sh "examples/$dir/run.sh" "$@" >"$work/$name.said" 2>&1 </dev/null ||
		{ tail -n 30 "$work/$name.said"; return 1; }
}
said() { grep -q "$2" "$work/$1.said" || { cat "$work/$1.said"; return 1; }; }
# shop_drawn NAME: the container's methods are in its picture.
shop_drawn() {
	local method
	for method in Shop.parseOrder Shop.priceOrder Shop.signInvoice; do
		grep -q "${method}_\[[ji0]\]" "$work/$1/flame.folded" || { echo "no $method"; return 1; }
	done
}
leftovers() {
	find /tmp -maxdepth 1 -name 'dfg-*' ! -path "$work"
	grep -F " /tmp/dfg-" /proc/self/mountinfo
	find /sys/fs/cgroup -type d -newer "$work/begun" \( -name "dfg-docker.*" -o -name "dfg-podman.*" -o -name "dfg-containerd.*" \)
	ps -eo comm= | grep -xE 'dockerd|containerd.*|java|conmon'
}

# On a busy machine a slow request takes longer than the recording does.
incident() {
	local seconds
	for seconds in 20 60 180; do
		rm -rf "$work/incident"
		example incident $seconds >"$work/incident.why" && return
		grep -q 'record for longer$' "$work/incident.said" || break
	done
	cat "$work/incident.why"
	return 1
}
incident &
incident=$!
# Some of them have few samples in two seconds on a busy machine.
ok "runc" example runc 4
ok "Docker" example docker 4
ok "Docker, CDI" example docker-cdi --cdi 4
ok "podman" example podman 4
ok "containerd" example containerd 4
for name in runc docker docker-cdi podman containerd; do
	ok "  $name: the Shop's methods are in the picture" shop_drawn $name
done
for name in runc docker docker-cdi containerd; do
	ok "  $name: the configuration is as it was" said $name 'is what it was, byte for byte$'
done
for name in docker-cdi podman; do
	ok "  $name: no file is left" said $name 'was empty$'
done
for name in runc docker docker-cdi podman containerd; do
	ok "  $name: by the agent that the hook put there" said $name ' read by the agent in '
done

wait $incident
is "the incident" $? 0
# share DIRECTORY: percent of the samples in the method that is the cause, inlined or not
share() {
	awk '{n += $NF} /;PriceList\.addOnce_/ {found += $NF} END {printf "%d", n ? 100 * found / n : 0}' \
		"$work/$1/flame.folded"
}
whole=$(share incident) stripe=$(share incident/stripe)
ok "  the time of the slowest request has the cause" eval '[ "$stripe" -gt 50 ] || { echo "$stripe %"; false; }'
ok "    more than the whole recording" eval '[ "$stripe" -ge "$whole" ] || { echo "$stripe %, $whole %"; false; }'
ok "    which is the verdict's, too" said incident 'method .* PriceList.addOnce$'
ok "  the heat map is there as text" said incident '^[0-9:]\{8\} *[0-9]* #'

ok "the CI gate" example ci-gate 4
is "  the exit statuses" "$(grep -o '^exit status [0-9]*' "$work/ci-gate.said" | tr '\n' ' ')" "exit status 0 exit status 6 "
ok "  the method is named" said ci-gate '^dfg-diff: --fail-on shop\.\*:+3%: .*shop.Codes.normalize +[0-9.]*%$'
ok "  for the pull request, too" grep -q '^\*\*Failed\*\*.*`shop.Codes.normalize` +' "$work/ci-gate/change/profile.md"
ok "  beside the differential page" grep -q 'Codes.normalize' "$work/ci-gate/change/diff.html"

is "nothing is left" "$(leftovers)" ""
tap_done
