# SPDX-License-Identifier: Apache-2.0
# OCI bundles for tests, without any image. Source it; needs jq and root.
#
#   bundle_make DIR ROOTFS ARG...   writes DIR/config.json that runs ARG... in ROOTFS
#       ROOTFS is a directory, or the word "host": then DIR/rootfs is made of empty directories
#       with the host's /usr, /lib, /lib64, /bin, /sbin and /etc bound read-only, so that a JVM of
#       the host runs in the container ("host" keeps /tmp writable: a directory in the bundle).
#   bundle_runtime runc|crun        sets the array RUNTIME to the command and its global options
#   bundle_start ID DIR             create + start in the background; bundle_pid ID prints the pid
#   bundle_exec ID ARG...           runs a program in it
#   bundle_stop ID                  SIGKILL, delete; never fails
#   bundle_static DIR [FILE.c]      a root file system of one static program, DIR/app: built of
#                                   FILE.c, or one that prints its mount table, or waits ("wait")
#
# Knobs: variables, read by bundle_make; unset or empty means not used. An array of one may be a plain
# word, which can also be given for one call: BUNDLE_MOUNTS=/a:/b bundle_make … (bash cannot do that
# with arrays).
#   BUNDLE_ENV=(K=V …)            environment, after PATH
#   BUNDLE_USER=UID[:GID]         default 0:0
#   BUNDLE_READONLY=1             root.readonly
#   BUNDLE_CWD=/                  working directory
#   BUNDLE_HOSTNAME=name
#   BUNDLE_CAPS="CAP_A CAP_B"     all sets but the ambient one; default: Docker's fourteen
#   BUNDLE_USERNS=FIRST:COUNT     user namespace: container ids 0… are host ids FIRST…
#   BUNDLE_MOUNTS=(SRC:DST[:OPT,OPT…] …)   bind mounts, after all others; default option rw
#   BUNDLE_ANNOTATIONS=(K=V …)
#   BUNDLE_MEMORY=BYTES           memory limit
#   BUNDLE_HOOK=/path/dfg-hook    hooks: createRuntime and poststop
#   BUNDLE_HOOK_ARGS=(ARG …)      its arguments (such as --root DIR --payload FILE)
#   BUNDLE_HOOK_STAGES="createRuntime poststop"
#   BUNDLE_JQ='filter'            the last word on config.json
#
# crun of Debian 12 refuses a hybrid cgroup layout: bundle_own_namespace takes the v2 part of it away, in
# the test's box (box.sh), or else executes the caller once more in a mount namespace of its own (call it
# first thing, with "$@"). The hook's host mounts are then to be found in that namespace only.
# In a box the container's cgroup is $BOX/NAME, after DIR's name.

bundle_own_namespace() {
	[ -z "${BOX:-}" ] || { umount /sys/fs/cgroup/unified 2>/dev/null; return 0; }
	[ -n "${BUNDLE_OWN_NS:-}" ] && return
	export BUNDLE_OWN_NS=1
	exec unshare -m bash -c 'umount /sys/fs/cgroup/unified 2>/dev/null; exec bash "$0" "$@"' \
		"$(readlink -f "$0")" "$@"
}

bundle_make() {
	local dir=$1 rootfs=$2 mounts='[]' m src dst opts d
	local caps=${BUNDLE_CAPS-CAP_CHOWN CAP_DAC_OVERRIDE CAP_FSETID CAP_FOWNER CAP_MKNOD \
		CAP_NET_RAW CAP_SETGID CAP_SETUID CAP_SETFCAP CAP_SETPCAP CAP_NET_BIND_SERVICE \
		CAP_SYS_CHROOT CAP_KILL CAP_AUDIT_WRITE}
	shift 2
	mkdir -p "$dir"
	dir=$(readlink -f "$dir")
	local binds=()
	if [ "$rootfs" = host ]; then
		rootfs=$dir/rootfs
		mkdir -p "$rootfs"/{proc,sys,dev,tmp,run,var,root,usr,etc,mnt}
		chmod 1777 "$rootfs/tmp"
		binds=(/usr:/usr:ro,rbind /etc:/etc:ro,rbind)
		for d in bin sbin lib lib32 lib64 libx32; do
			if [ -L "/$d" ]; then
				ln -sfn "$(readlink "/$d")" "$rootfs/$d"
			elif [ -d "/$d" ]; then
				mkdir -p "$rootfs/$d"
				binds+=("/$d:/$d:ro,rbind")
			fi
		done
	fi
	for m in "${binds[@]}" ${BUNDLE_MOUNTS+"${BUNDLE_MOUNTS[@]}"}; do
		[ -n "$m" ] || continue
		IFS=: read -r src dst opts <<<"$m"
		case ,$opts, in *bind*) ;; *) opts=bind${opts:+,$opts} ;; esac
		mounts=$(jq -c --arg s "$src" --arg d "$dst" --arg o "$opts" \
			'. + [{destination:$d, type:"bind", source:$s, options:($o/",")}]' <<<"$mounts")
	done
	jq -n --arg rootfs "$rootfs" --arg user "${BUNDLE_USER:-0:0}" --arg caps "$caps" \
		--arg ro "${BUNDLE_READONLY:-}" --arg cwd "${BUNDLE_CWD:-/}" \
		--arg hostname "${BUNDLE_HOSTNAME:-bundle}" --arg userns "${BUNDLE_USERNS:-}" \
		--arg memory "${BUNDLE_MEMORY:-}" --arg hook "${BUNDLE_HOOK:-}" \
		--arg cgroup "${BOX:+/$BOX/${dir##*/}}" \
		--arg stages "${BUNDLE_HOOK_STAGES:-createRuntime poststop}" \
		--argjson binds "$mounts" \
		--argjson args "$(bundle_json_list "$@")" \
		--argjson env "$(bundle_json_list ${BUNDLE_ENV+"${BUNDLE_ENV[@]}"})" \
		--argjson notes "$(bundle_json_list ${BUNDLE_ANNOTATIONS+"${BUNDLE_ANNOTATIONS[@]}"})" \
		--argjson hookargs "$(bundle_json_list ${BUNDLE_HOOK_ARGS+"${BUNDLE_HOOK_ARGS[@]}"})" '
	($caps | gsub("\\s+"; " ") | split(" ") | map(select(. != ""))) as $capset |
	($user | split(":") | map(tonumber)) as $ids |
	{
		ociVersion: "1.0.2",
		process: {
			terminal: false, cwd: $cwd, args: $args,
			user: {uid: $ids[0], gid: ($ids[1] // $ids[0])},
			env: (["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] + $env),
			capabilities: {bounding: $capset, effective: $capset, permitted: $capset},
			rlimits: [], noNewPrivileges: true
		},
		root: {path: $rootfs, readonly: ($ro != "")},
		hostname: $hostname,
		mounts: ([
			{destination: "/proc", type: "proc", source: "proc"},
			{destination: "/dev", type: "tmpfs", source: "tmpfs",
			 options: ["nosuid", "strictatime", "mode=755", "size=65536k"]},
			{destination: "/dev/pts", type: "devpts", source: "devpts",
			 options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
			{destination: "/dev/shm", type: "tmpfs", source: "shm",
			 options: ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]}
		] + $binds),
		annotations: ($notes | map(capture("^(?<key>[^=]*)=(?<value>.*)$")) | from_entries),
		linux: {
			namespaces: [{type: "pid"}, {type: "network"}, {type: "ipc"}, {type: "uts"},
				{type: "mount"}],
			maskedPaths: ["/proc/kcore", "/proc/keys"],
			readonlyPaths: ["/proc/sys"]
		}
	}
	| if $userns != "" then
		($userns | split(":") | map(tonumber)) as $map |
		.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: $map[0], size: $map[1]}]
		| .linux.gidMappings = .linux.uidMappings
	  else . end
	| if $cgroup != "" then .linux.cgroupsPath = $cgroup else . end
	| if $memory != "" then .linux.resources.memory.limit = ($memory | tonumber) else . end
	| if $hook != "" then
		.hooks = ($stages | split(" ") | map({key: ., value: [{path: $hook,
			args: (["dfg-hook"] + $hookargs), env: ["DFG=1"], timeout: 60}]}) | from_entries)
	  else . end
	| '"${BUNDLE_JQ:-.}" >"$dir/config.json"
}

bundle_json_list() { jq -cn '$ARGS.positional' --args -- "$@"; }

bundle_runtime() {
	case $1 in
	runc) RUNTIME=(runc --root "${TMPDIR:-/tmp}/dfg-bundle-runc") ;;
	crun) RUNTIME=(crun --root "${TMPDIR:-/tmp}/dfg-bundle-crun") ;;
	*) RUNTIME=("$@") ;;
	esac
}

# Its output goes to DIR/log.
bundle_start() {
	"${RUNTIME[@]}" create --bundle "$2" "$1" >"$2/log" 2>&1 </dev/null &&
		"${RUNTIME[@]}" start "$1" >>"$2/log" 2>&1
}

bundle_pid() { "${RUNTIME[@]}" state "$1" | jq .pid; }

bundle_exec() {
	local id=$1
	shift
	"${RUNTIME[@]}" exec "$id" "$@"
}

bundle_stop() {
	"${RUNTIME[@]}" kill "$1" KILL >/dev/null 2>&1
	for _ in $(seq 100); do
		"${RUNTIME[@]}" delete "$1" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	"${RUNTIME[@]}" delete --force "$1" >/dev/null 2>&1 || :
}

bundle_static() {
	local dir=$1 source=${2:-}
	mkdir -p "$dir"/{proc,sys,dev,tmp}
	if [ -n "$source" ]; then
		${CC:-gcc} -O1 -static -o "$dir/app" "$source"
	else
		${CC:-gcc} -O1 -static -o "$dir/app" -x c - <<'END'
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char line[4096];
	FILE *f = fopen("/proc/self/mountinfo", "r");
	while (argc > 1 && argv[1][0] == 'w')
		pause();
	while (f && fgets(line, sizeof(line), f))
		fputs(line, stdout);
	return f ? 0 : 1;
}
END
	fi
}
