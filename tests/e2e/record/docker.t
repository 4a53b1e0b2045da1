#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The main journey in Docker: wrapper runtime, container names, a container of the plain runtime.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/docker.sh
. tests/lib/shop.sh
need dockerd docker containerd
shop_setup
trap 'docker_stop; shop_teardown' EXIT

# The wrapper takes the hook and its configuration from beside itself.
mkdir "$SHOP/libexec"
cp "$BUILD"/libexec/* "$SHOP/libexec"
printf 'root=%s\nbudget_ms=30000\n' "$DFG_ROOT" >"$SHOP/libexec/dfg.conf"
docker_start --add-runtime "dfg=$SHOP/libexec/dfg-runtime" || tap_cannot "dockerd does not start"
docker_image shop host

# run NAME RUNTIME ARG...: Shop, as uid 1000, read-only, default seccomp profile and capabilities.
run() {
	local name=$1 runtime=$2
	shift 2
	docker_cli run -d --name "$name" --runtime "$runtime" --network none --read-only --user 1000:1000 \
		--tmpfs /tmp:rw,noexec,nosuid,mode=1777,size=16m "${DOCKER_HOST_BINDS[@]}" \
		-v "$SHOP/app:/app:ro" "$@" shop \
		"$JAVA" -Xmx256m -cp /app Shop 2 >/dev/null &&
		at_work "$(docker_cli inspect -f '{{.State.Pid}}' "$name")" 150
}
at_least() { [ "$1" -ge "$2" ] || { echo "$1 is less than $2"; return 1; }; }

ok "docker run --runtime=dfg" run web dfg
id=$(docker_cli inspect -f '{{.Id}}' web)
is "the default seccomp profile is on (case 37)" \
	"$(awk '/^Seccomp:/ {print $2}' "/proc/$(docker_cli inspect -f '{{.State.Pid}}' web)/status")" 2
ok "dfg-trigger by name" record --source agent web
is "  finds the id" "$(json .container.id)" "$id"
is "  and the name" "$(json .container.name)" web
is "  by the agent" "$(json '.jvms[0] | .source + .note')" agent
ok "  samples" at_least "$(json .samples)" 150
ok "  complete" at_least "$(json '.complete * 1000 | floor')" 990
for m in Shop.parseOrder Shop.priceOrder Shop.signInvoice; do
	ok "  $m is in the graph" grep -q "${m}_\[j\]" "$(json .graphs.folded)"
done
ok "  kernel on top of Java, and the thread's start is one row" \
	grep -q '\[thread start\];.*Shop.*_\[j\].*_\[k\] ' "$(json .graphs.folded)"
ok "  by-name leads there" test -d "$DFG_ROOT/by-name/web/graphs"
ok "by a beginning of the id (case 68)" trigger -d 1 "${id:0:8}"
# /app is the mount point that -v made.
is "nothing in the image's file system" "$(docker_cli diff web | grep -vx "A /app")" ""

ok "a container of the plain runtime" run plain runc
ok "dfg-trigger joins it" trigger -d 1 --source agent plain
is "  by the agent" "$(json '.jvms[0] | .source + .note')" agent
is "  nothing in the image's file system" "$(docker_cli diff plain | grep -vx "A /app")" ""
ok "all at once" record web plain
is "  two recordings" "$(json '[.recordings[].container.name] | sort | join(",")')" plain,web
is "  Java in both" "$(json '[.recordings[].java_samples > 0] | all')" true

# Probes of returns would end in a system call that the filter does not know (uretprobe, Linux 6.11), and the JVM with it.
ok "allocations and waits for locks, under the default seccomp profile" record --force -o "$SHOP/alloc" -e cpu,alloc,lock web
ok "  there are some" at_least "$(json '.more_events[0].samples')" 1000000
ok "  with their stacks" grep -q 'Shop\..*_\[[ji]\];' "$(json '.more_events[0].graphs.folded')"
is "  and the JVM goes on" "$(docker_cli inspect -f '{{.State.Running}} {{.RestartCount}}' web)" "true 0"

ok "no capability at all, no new privileges (case 37)" run bare dfg --cap-drop ALL --security-opt no-new-privileges
ok "dfg-trigger" trigger -d 1 --source agent bare
is "  by the agent" "$(json '.jvms[0] | .source + .note')" agent

docker_cli rm -f web plain bare >/dev/null
"$HOOK" --gc --root "$DFG_ROOT" >/dev/null
is "no share is left" "$(grep -c "$DFG_ROOT/containers" /proc/self/mountinfo)" 0
"$HOOK" --release --root "$DFG_ROOT" >/dev/null
is "no mount of ours is left" "$(grep -c " $DFG_ROOT" /proc/self/mountinfo)" 0
tap_done
