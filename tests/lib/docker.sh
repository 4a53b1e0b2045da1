# SPDX-License-Identifier: Apache-2.0
# A Docker daemon of the test's own: nothing of the machine's one is touched. Source it after tap.sh; needs
# root, containerd, dockerd, docker. Network: none (run containers with --network none).
#
#   docker_start [DOCKERD_OPTION…]  starts containerd and dockerd with data, state and sockets in
#                                   DOCKER_DIR (default: a new directory under /tmp), exports
#                                   DOCKER_HOST, and returns when the daemon answers.
#                                   Options are added to dockerd's, such as
#                                   --add-runtime dfg=/path/dfg-runtime --default-runtime dfg
#                                   (not in a subshell: docker_stop needs what it sets)
#   docker_image NAME ROOTFS        makes image NAME of a directory (tar | docker import). The word
#                                   "host" instead of a directory: an empty image to which
#                                   "${DOCKER_HOST_BINDS[@]}" on docker run adds the host's /usr,
#                                   /etc and so on, read-only, so that the host's JVM runs in it
#   docker_cli ARG…                 docker, of the version that belongs to the daemon
#   docker_restart                  stops dockerd and starts it again; containers go with it
#   docker_stop                     removes all containers, stops both daemons, unmounts, deletes
#
# DOCKER_JSON (default {}) is what daemon.json says at first: $DOCKER_DIR/daemon.json. DOCKER_BIN and
# DOCKER_SBIN are directories of other programs than the system's (engines.sh).
# DOCKER_STORAGE (default overlay2) is the storage driver. Logs: $DOCKER_DIR/{containerd,dockerd}.log
DOCKER_HOST_BINDS=(-v /usr:/usr:ro -v /etc:/etc:ro)

docker_cli() {
	local d=${DOCKER_BIN:-/usr/bin}/docker
	[ -x "$d" ] || d=docker
	"$d" "$@"
}

docker_start() {
	DOCKER_DIR=${DOCKER_DIR:-$(mktemp -d /tmp/dfg-docker.XXXXXX)}
	mkdir -p "$DOCKER_DIR"/{c,s,x,d}
	export DOCKER_HOST=unix://$DOCKER_DIR/docker.sock DOCKER_CONFIG=$DOCKER_DIR/config
	unset DOCKER_CONTEXT
	cat >"$DOCKER_DIR/containerd.toml" <<END
version = 2
root = "$DOCKER_DIR/c"
state = "$DOCKER_DIR/s"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "$DOCKER_DIR/containerd.sock"
END
	PATH=${DOCKER_BIN:+$DOCKER_BIN:}$PATH containerd --config "$DOCKER_DIR/containerd.toml" \
		>"$DOCKER_DIR/containerd.log" 2>&1 &
	DOCKER_CONTAINERD_PID=$!
	wait_for test -S "$DOCKER_DIR/containerd.sock"
	printf '%s\n' "${DOCKER_JSON-"{}"}" >"$DOCKER_DIR/daemon.json"
	DOCKER_OPTIONS=("$@")
	docker_daemon
}

docker_daemon() {
	PATH=${DOCKER_BIN:+$DOCKER_BIN:$DOCKER_SBIN:}$PATH dockerd \
		--config-file "$DOCKER_DIR/daemon.json" --data-root "$DOCKER_DIR/d" \
		--exec-root "$DOCKER_DIR/x" --pidfile "$DOCKER_DIR/dockerd.pid" \
		--host "$DOCKER_HOST" --containerd "$DOCKER_DIR/containerd.sock" \
		--storage-driver "${DOCKER_STORAGE:-overlay2}" --exec-opt native.cgroupdriver=cgroupfs \
		--cgroup-parent "/${BOX:-docker}" --bridge none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
		"${DOCKER_OPTIONS[@]}" >"$DOCKER_DIR/dockerd.log" 2>&1 &
	DOCKER_DAEMON_PID=$!
	wait_for docker_answers_or_gone
	docker_cli version >/dev/null 2>&1 && return 0
	echo "dockerd did not start:" >&2
	tail -n 5 "$DOCKER_DIR/dockerd.log" >&2
	return 1
}

docker_answers_or_gone() { docker_cli version || ! kill -0 "$DOCKER_DAEMON_PID"; }

docker_restart() {
	kill "$DOCKER_DAEMON_PID"
	wait "$DOCKER_DAEMON_PID" 2>/dev/null
	docker_daemon
}

docker_image() {
	local name=$1 rootfs=$2 empty='' d
	if [ "$rootfs" = host ]; then
		empty=$(mktemp -d)
		rootfs=$empty
		mkdir -p "$empty"/{proc,sys,dev,tmp,run,var,root,usr,etc}
		chmod 1777 "$empty/tmp"
		for d in bin sbin lib lib32 lib64 libx32; do
			if [ -L "/$d" ]; then
				ln -s "$(readlink "/$d")" "$empty/$d"
			elif [ -d "/$d" ]; then
				mkdir "$empty/$d"
				DOCKER_HOST_BINDS+=(-v "/$d:/$d:ro")
			fi
		done
	fi
	tar -C "$rootfs" -c . | docker_cli import - "$name" >/dev/null
	[ -z "$empty" ] || rm -rf "$empty"
}

docker_stop() {
	local p m
	[ -n "${DOCKER_DIR:-}" ] || return 0
	# shellcheck disable=SC2046
	docker_cli rm -f $(docker_cli ps -aq 2>/dev/null) >/dev/null 2>&1
	for p in ${DOCKER_DAEMON_PID:-} ${DOCKER_CONTAINERD_PID:-}; do
		kill "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	for m in $(awk -v d="$DOCKER_DIR/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r); do
		umount -l "$m" 2>/dev/null
	done
	rm -rf "$DOCKER_DIR"
	unset DOCKER_DIR DOCKER_DAEMON_PID DOCKER_CONTAINERD_PID DOCKER_HOST DOCKER_CONFIG
}
