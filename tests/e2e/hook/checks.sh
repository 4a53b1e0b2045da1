# SPDX-License-Identifier: Apache-2.0
# The checks that every runtime has to pass; sourced by hook-runc.t and hook-crun.t.
attrs=nosuid,nodev
out_want="rw,$attrs,noexec,relatime,nosymfollow tmpfs"
ctl_want="ro,$attrs,noexec,relatime,nosymfollow tmpfs"
payload_want="ro,$attrs,relatime,nosymfollow squashfs"

check_mounts() {
	local table
	bundle_make "$S/b" "$S/fs" /app
	table=$(hook_run "$S/b")
	is "$1: /dev/dfg-out" "$(mount_of /dev/dfg-out <<<"$table")" "$out_want"
	is "$1: /dev/dfg-ctl" "$(mount_of /dev/dfg-ctl <<<"$table")" "$ctl_want"
	is "$1: /dev/dfg" "$(mount_of /dev/dfg <<<"$table")" "$payload_want"
}

check_all_mounts() {
	check_mounts "an image of empty directories (case 9)"
	BUNDLE_READONLY=1 check_mounts "read-only root (case 8)"
	BUNDLE_USERNS=100000:65536 check_mounts "user namespace (case 33)"
	BUNDLE_USERNS=100000:65536 BUNDLE_READONLY=1 check_mounts "both"
	BUNDLE_HOOK_STAGES="prestart poststop" check_mounts "prestart"
	BUNDLE_HOOK_STAGES="prestart createRuntime poststop" check_mounts "both stages (case 27)"
	BUNDLE_JQ=".linux.rootfsPropagation = \"rshared\"" check_mounts "shared root"
	ok "nothing is left of the containers" test -z "$(ls "$R/containers")"
}

# What a process of the container can and cannot do.
check_inside() {
	local owner first=${1%%:*}
	first=${first:-0}
	BUNDLE_USERNS=$1 BUNDLE_USER=1000:1000 BUNDLE_READONLY=1 \
		bundle_make "$S/b" host sleep infinity
	ok "$2: starts" hook_start in "$S/b"
	is "$2: mounted" "$(hook_status in)" mounted
	ok "$2: the agent is readable" \
		hook_exec in sh -c "cat /dev/dfg/libdfg-agent.so >/dev/null"
	ok "$2: the injector can be executed" hook_exec in test -x /dev/dfg/dfg-inject
	ok "$2: the payload cannot be written" hook_exec in sh -c '! touch /dev/dfg/x'
	ok "$2: the share can be written" hook_exec in sh -c 'echo hello >/dev/dfg-out/file'
	is "$2: the host sees it" "$(cat "$(hook_dir in)/out/file")" hello
	ok "$2: nothing is executed there" \
		hook_exec in sh -c 'cp /bin/true /dev/dfg-out/t; ! /dev/dfg-out/t'
	ok "$2: no link is followed there" \
		hook_exec in sh -c 'ln -s /etc/passwd /dev/dfg-out/l; ! cat /dev/dfg-out/l'
	ok "$2: requests cannot be written" hook_exec in sh -c '! touch /dev/dfg-ctl/x'
	echo request >"$(hook_dir in)/ctl/request.1"
	is "$2: but read" "$(hook_exec in cat /dev/dfg-ctl/request.1)" request
	ok "$2: size is limited (case 62)" hook_exec in sh -c \
		'! dd if=/dev/zero of=/dev/dfg-out/big bs=1M count=65 2>/dev/null; rm /dev/dfg-out/big'
	ok "$2: so is the number of files (case 62)" hook_exec in sh -c \
		'i=0; while [ $i -lt 70 ]; do echo >/dev/dfg-out/f$i || exit 0; i=$((i + 1)); done; exit 1'
	owner=$(stat -c %u:%a "$(hook_dir in)/out")
	is "$2: the share is its root's" "$owner" "$first:1777"
	is "$2: the requests are the host's" "$(stat -c %u:%a "$(hook_dir in)/ctl")" 0:755
	hook_stop in
}

check_end() {
	bundle_make "$S/b" "$S/fs" /app wait
	hook_start end "$S/b"
	is "state.json is private" "$(stat -c %a "$(hook_dir end)/state.json" "$(hook_dir end)")" "600
700"
	is "pid" "$(jq .pid "$(hook_dir end)/state.json")" "$(bundle_pid "$(hook_id end)")"
	is "mount namespace" "$(jq .mnt_ns "$(hook_dir end)/state.json")" \
		"$(stat -Lc %i "/proc/$(bundle_pid "$(hook_id end)")/ns/mnt")"
	is "boot" "$(jq -r .boot_id "$(hook_dir end)/state.json")" \
		"$(cat /proc/sys/kernel/random/boot_id)"
	mkdir -p "$(hook_dir end)/graphs/now"
	echo svg >"$(hook_dir end)/graphs/now/flame.svg"
	hook_stop end
	is "results survive" "$(cat "$(hook_dir end)/graphs/now/flame.svg")" svg
	is "the record says that it ended" "$(jq .ended "$(hook_dir end)/state.json")" true
	ok "the mounts are gone" test ! -e "$(hook_dir end)/out"
	rm -rf "$(hook_dir end)"
}

check_large_state() {
	head -c 900000 /dev/zero | tr '\0' x >"$S/large"
	bundle_make "$S/b" "$S/fs" /app
	jq --rawfile v "$S/large" '.annotations.large = $v' "$S/b/config.json" >"$S/c" &&
		mv "$S/c" "$S/b/config.json"
	ok "900 kB of annotations: starts (case 24)" hook_run "$S/b"
	jq '.annotations.more = .annotations.large' "$S/b/config.json" >"$S/c" &&
		mv "$S/c" "$S/b/config.json"
	ok "1.8 MB of annotations: starts" hook_run "$S/b"
}

check_runtime() {
	check_all_mounts
	check_inside "" "container"
	check_inside 200000:65536 "user namespace"
	check_end
	check_large_state
	ok "--release" "$HOOK" --root "$R" --release
	is "the host's mounts are as before" "$(hook_mounts)" ""
}
