#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-setup and Docker, of Debian 12 and of unstable: as default runtime, and as a CDI device.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/docker.sh
. tests/lib/engines.sh
. tests/lib/shop.sh
. tests/lib/setup.sh
need dockerd docker containerd patch
setup_setup
trap 'docker_stop; shop_teardown' EXIT
bundle_static "$SHOP/fs"

pid_of() { docker_cli inspect -f '{{.State.Pid}}' "$1"; }
shop_at_work() { shop_in_docker "$@" && shop_works "$(pid_of "$1")"; }
usual() { docker_cli info --format '{{.DefaultRuntime}}'; }

with_docker() {
	local v before start
	DOCKER_JSON=$1
	docker_start || { ok "dockerd starts" false; return; }
	v=$(docker_cli version --format '{{.Server.Version}}')
	CONF=$DOCKER_DIR/daemon.json
	docker_image tiny "$SHOP/fs"
	docker_image shop host
	before=$(sha256sum <"$CONF")
	ok "Docker $v: a container runs" docker_cli run -d --name before --stop-timeout 0 --network none tiny /app wait
	start=$(docker_cli inspect -f '{{.State.StartedAt}}' before)

	ok "  --dry-run" setup install docker --file "$CONF" --dry-run
	is "    makes no change" "$(sha256sum <"$CONF")" "$before"
	(cd / && patch -p0 --dry-run -s <"$SHOP/setup")
	is "    is a patch" $? 0
	ok "  install" setup install docker --file "$CONF"
	is "    counts at once" "$(usual)" dfg
	ok "    twice is as good" setup install docker --file "$CONF"
	ok "    a container starts, and works" shop_at_work web
	ok "    with the mounts" has_mounts "$(pid_of web)"
	ok "    status" setup status docker --file "$CONF" --root "$DFG_ROOT"
	ok "      tells which container has them" grep -q "web has the mounts" "$SHOP/setup"
	ok "      and which not" grep -q "before was started before the hook" "$SHOP/setup"
	ok "    dfg-trigger draws it" graph web
	is "    the other one was not disturbed" "$(docker_cli inspect -f '{{.State.StartedAt}}' before)" "$start"
	docker_restart
	is "    dockerd starts with it" $? 0

	docker_cli rm -f before >/dev/null
	ok "  remove, while a container was made with it" eval '! setup remove docker --file "$CONF"'
	ok "    names it" grep -q "without it: web;" "$SHOP/setup"
	is "    new containers are runc's at once" "$(usual)" runc
	ok "    it can start again" docker_cli restart -t 0 web
	docker_cli rm -f web >/dev/null
	ok "    remove" setup remove docker --file "$CONF"
	is "    daemon.json is as it was" "$(sha256sum <"$CONF")" "$before"
	is "    no file is left" "$(cd "$DOCKER_DIR" && echo *dfg* daemon.json*)" "*dfg* daemon.json"
	ok "    a container starts" docker_cli run -d --name after --stop-timeout 0 --network none tiny /app wait
	ok "    without mounts" has_no_mounts "$(pid_of after)"
	docker_restart
	is "    dockerd starts without it" $? 0
	is "    and has no such runtime" "$(docker_cli info --format '{{json .Runtimes}}' | grep -c dfg-runtime)" 0
}

with_docker '{"log-driver": "json-file", "default-runtime": "runc"}'
docker_cli rm -f after >/dev/null
docker_stop
DOCKER_JSON='{}'
docker_start --default-runtime runc
is "dockerd with the runtime on its command line" $? 0
ok "  is not given a file it would refuse" eval '! setup install docker --file "$DOCKER_DIR/daemon.json"'
ok "  because" grep -q "started with --default-runtime" "$SHOP/setup"
docker_stop

engines_sid containerd docker.io docker-cli || tap_cannot "no Docker of unstable"
DOCKER_BIN=$ENGINES/usr/bin DOCKER_SBIN=$ENGINES/usr/sbin
with_docker '{"live-restore": true, "features": {"cdi": true}, "cdi-spec-dirs": ["'"$SHOP/cdi"'"]}'

mkdir "$SHOP/cdi"
CDI=$SHOP/cdi/dfg.json
ok "  CDI: install" setup install cdi --file "$CDI"
ok "    a container that asks for it starts" shop_at_work asks --device dfg.io/agent=on
ok "    with the mounts" has_mounts "$(pid_of asks)"
ok "    dfg-trigger draws it" graph asks
ok "    one that does not ask" docker_cli run -d --name silent --network none tiny /app wait
ok "    has none" has_no_mounts "$(pid_of silent)"
echo "inject = annotated" >>"$SHOP/dfg/libexec/dfg.conf"
ok "    inject = annotated: asking is enough" docker_cli run -d --name asks2 --network none --device dfg.io/agent=on tiny /app wait
ok "    with the mounts" has_mounts "$(pid_of asks2)"
ok "    status" setup status cdi --file "$CDI"
docker_cli rm -f asks silent asks2 after >/dev/null
is "    the shares are gone" "$(grep -c "$DFG_ROOT/containers" /proc/self/mountinfo)" 0
ok "    remove" setup remove cdi --file "$CDI"
is "    leaves nothing" "$(ls "$SHOP/cdi")" ""
ok "    and Docker as it was" docker_cli run --rm --network none tiny /app
docker_stop

"$HOOK" --release --root "$DFG_ROOT" >/dev/null
is "no mount of ours is left" "$(grep -c " $DFG_ROOT" /proc/self/mountinfo)" 0
tap_done
