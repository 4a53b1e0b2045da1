# SPDX-License-Identifier: Apache-2.0
# dfg-setup on engines of the test's own. Source it after tap.sh, bundle.sh and shop.sh.
#
#   setup_setup            shop_setup, and an installation of dfg in $SHOP/dfg whose dfg.conf names
#                          DFG_ROOT; SETUP is its dfg-setup
#   setup ARG…             runs it; output in $SHOP/setup, status in $status
#   has_mounts PID, has_no_mounts PID
#   shop_works PID         waits until the Shop in this process is at work
#   graph NAME             records it: by the agent, with the Shop's frames
#   shop_in_docker NAME OPTION…   a Shop in a container of image "shop" (docker.sh, of the host)
#   shop_for_pods          $SHOP/fs, for an image whose program waits and in which the host's /usr and /etc
#                          fit, and SHOP_IN_POD: a container of it with a Shop, as cri.sh's cri_container
#                          takes it and as a kubelet asks for one
setup_setup() {
	shop_setup
	mkdir -p "$SHOP/dfg"
	cp -r "$BUILD/bin" "$BUILD/libexec" "$SHOP/dfg"
	# The hook gives up after 250 ms, which a machine full of tests may need.
	printf '%s\n' "root = $DFG_ROOT" "budget_ms = 30000" >"$SHOP/dfg/libexec/dfg.conf"
	SETUP=$SHOP/dfg/bin/dfg-setup
}

setup() {
	"$SETUP" "$@" >"$SHOP/setup" 2>&1
	status=$?
	[ "$status" = 0 ] || { cat "$SHOP/setup"; return "$status"; }
}

mounts() { awk '{print $5}' "/proc/$1/mountinfo" | grep -x "/dev/dfg\(-out\|-ctl\|\)" | sort | tr '\n' ' '; }
has_mounts() { [ "$(mounts "$1")" = "/dev/dfg /dev/dfg-ctl /dev/dfg-out " ]; }
has_no_mounts() { [ "$(mounts "$1")" = "" ]; }

shop_works() { at_work "$1" 100; }

# On a machine full of tests, two seconds may give it no time at all.
graph() {
	drawn "$1" 2 || drawn "$1" 10 || drawn "$1" 40 || { json .; cat "$SHOP/err"; return 1; }
}
drawn() {
	trigger -d "$2" -F 499 --source agent "$1" && [ "$(json '.jvms[0].source')" = agent ] &&
		grep -q 'Shop.*_\[j\]' "$(json .graphs.folded)"
}

shop_in_docker() {
	local name=$1
	shift
	docker_cli run -d --name "$name" --stop-timeout 1 --network none --read-only --user 1000:1000 \
		--tmpfs /tmp:rw,noexec,nosuid,mode=1777,size=16m "${DOCKER_HOST_BINDS[@]}" \
		-v "$SHOP/app:/app:ro" "$@" shop "$JAVA" -Xmx256m -cp /app Shop 2 20 >/dev/null
}

shop_for_pods() {
	bundle_static "$SHOP/fs"
	mv "$SHOP/fs/app" "$SHOP/fs/pause"
	mkdir -p "$SHOP/fs"/{usr,etc,srv,var,run} "$SHOP/ptmp"
	chmod 1777 "$SHOP/ptmp"
	for d in bin sbin lib lib64; do ln -s "usr/$d" "$SHOP/fs/$d"; done
	# User, default seccomp profile, limits; rlimits of the runtime.
	SHOP_IN_POD="image { image: \"dfg.test/shop:1\" } $(pod_command "$JAVA" -Xmx256m -cp /srv Shop 1 20)
		$(pod_mount /usr /usr) $(pod_mount /etc /etc) $(pod_mount "$SHOP/app" /srv) $(pod_mount "$SHOP/ptmp" /tmp false)
		linux { resources { cpu_shares: 512 cpu_period: 100000 cpu_quota: 50000 memory_limit_in_bytes: 1073741824 }
		  security_context { run_as_user { value: 1000 } run_as_group { value: 1000 } no_new_privs: true
		    readonly_rootfs: true seccomp { profile_type: RuntimeDefault } capabilities { drop_capabilities: \"ALL\" } } }"
}
pod_mount() { printf 'mounts { host_path: "%s" container_path: "%s" readonly: %s } ' "$1" "$2" "${3:-true}"; }
pod_command() { printf 'command: "%s" ' "$@"; }
