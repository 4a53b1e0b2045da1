#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Docker: dfg as the default runtime, or as a CDI device, a recording, and Docker as it was.
#
#   sudo sh examples/docker/run.sh [--cdi] [SECONDS]
#
# The daemon is the example's own, with data, socket and daemon.json in a scratch directory: the one of this
# machine is left alone. CDI needs Docker 25; where there is an older one, that of Debian's unstable suite is
# unpacked in build/engines.
set -eu
cd "$(dirname "$0")/../.."
. examples/common.sh
way=runtime
[ "${1:-}" != --cdi ] || { way=cdi; shift; }
example_begin docker
seconds=${1:-5}
dir=$work/docker
conf=$dir/daemon.json

newer_docker() {
	[ "$(dockerd --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')" -lt 25 ] || return 0
	debian_unstable containerd docker.io docker-cli
	PATH=$engines/usr/bin:$engines/usr/sbin:$PATH
}

start_docker() {
	mkdir -p "$dir/cdi"
	case $way in
	runtime) echo '{"log-driver": "json-file"}' ;;
	cdi) echo '{"features": {"cdi": true}, "cdi-spec-dirs": ["'"$dir/cdi"'"]}' ;;
	esac >"$conf"
	cat >"$dir/containerd.toml" <<-END
		version = 2
		root = "$dir/c"
		state = "$dir/s"
		disabled_plugins = ["io.containerd.grpc.v1.cri"]
		[grpc]
		  address = "$dir/containerd.sock"
	END
	daemon "$dir/containerd" containerd --config "$dir/containerd.toml"
	wait_for test -S "$dir/containerd.sock"
	export DOCKER_HOST="unix://$dir/docker.sock" DOCKER_CONFIG="$dir/config"
	daemon "$dir/dockerd" dockerd --config-file "$conf" --data-root "$dir/d" --exec-root "$dir/x" \
		--pidfile "$dir/d.pid" --host "$DOCKER_HOST" --containerd "$dir/containerd.sock" \
		--cgroup-parent "$cgroup" --exec-opt native.cgroupdriver=cgroupfs --bridge none --iptables=false --ip6tables=false
	at_end 'docker rm -f dfg-docker >/dev/null 2>&1'
	wait_for answers_or_ended
	docker version >/dev/null || { tail -n 5 "$dir/dockerd.log" >&2; return 1; }
}
answers_or_ended() { docker version || ! kill -0 "$(cat "$dir/dockerd.pid")"; }

# The image has no file: /usr and /etc are this machine's, read-only.
start_web() {
	run docker run -d --name dfg-docker --network none --read-only --user 1000:1000 \
		--tmpfs /tmp:rw,noexec,nosuid,mode=1777,size=16m -v /usr:/usr:ro -v /etc:/etc:ro \
		-v "$work/app:/app:ro" "$@" shop "$java" -Xmx256m -cp /app Shop 2
	warm dfg-docker
}

[ $way = runtime ] || newer_docker
say "a Docker daemon of the example's own: $(dockerd --version)"
start_docker
rootfs "$work/rootfs"
shop "$work/app"
tar -C "$work/rootfs" -c . | docker import - shop >/dev/null
cp "$conf" "$work/before"

say "with dfg"
case $way in
runtime)
	run dfg-setup install docker --file "$conf"
	start_web
	;;
cdi)
	run dfg-setup install cdi --file "$dir/cdi/dfg.json"
	start_web --device dfg.io/agent=on
	;;
esac
run dfg-trigger -d "$seconds" -o "$out" dfg-docker

say "and without it"
run docker rm -f dfg-docker
case $way in
runtime) run dfg-setup remove docker --file "$conf" ;;
cdi)
	run dfg-setup remove cdi --file "$dir/cdi/dfg.json"
	rmdir "$dir/cdi" && echo "$dir/cdi was empty"
	;;
esac
unchanged "$conf" "$work/before"
