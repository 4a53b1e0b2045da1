#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-runtime under a Docker daemon of our own; and dfg-runtime by itself as the runtime it wraps.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/docker.sh
need dockerd containerd docker
. tests/e2e/hook/common.sh
hook_setup
trap 'docker_stop; hook_teardown' EXIT
L=$S/libexec
mkdir "$L"
cp "$BUILD"/libexec/dfg-* "$PAYLOAD" "$L"
conf="root = $R\nbudget_ms = 30000\n" # a machine full of tests needs more than the usual 250 ms

# By itself: the same arguments, descriptors, environment and exit status.
cat >"$S/real.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char cwd[4096];
	for (int i = 1; i < argc; i++)
		printf("%s|", argv[i]);
	printf("%s|%s|%d%d", getenv("X"), getcwd(cwd, sizeof(cwd)), access("/proc/self/fd/7", F_OK),
	       access("/proc/self/fd/3", F_OK));
	return 42;
}
END
gcc -o "$S/real" "$S/real.c"
chmod 755 "$S/real"
printf "${conf}runtime = $S/real\n" >"$L/dfg.conf"
passes() {
	local want got
	want=$(X=y "$S/real" "$@" 7</dev/null; echo " $?")
	got=$(X=y "$L/dfg-runtime" "$@" 7</dev/null; echo " $?")
	echo "got: $got, want: $want"
	[ "$got" = "$want" ]
}
bundle_make "$S/b" "$S/fs" /app
BUNDLE_HOOK='' bundle_make "$S/b" "$S/fs" /app
sum=$(sha256sum "$S/b/config.json")
for command in "--version" "features" "state x" "--log /l --log-format json exec -d -p /p x create" \
	"kill x KILL" "delete --force x" "--unknown create --bundle $S/b x" "" "spec --bundle $S/b"; do
	# shellcheck disable=SC2086
	ok "passes on: $command (case 75)" passes $command
done
is "the bundle is as it was" "$(sha256sum "$S/b/config.json")" "$sum"
ok "create" passes --root /r --systemd-cgroup create --bundle "$S/b" --pid-file /p x
is "has added the hooks" "$(jq -c '.hooks | map_values(.[].path)' "$S/b/config.json")" \
	"{\"createRuntime\":\"$L/dfg-hook\",\"poststop\":\"$L/dfg-hook\"}"
is "with an environment and a time limit" \
	"$(jq -c '.hooks.createRuntime[0] | [.env, .timeout]' "$S/b/config.json")" '[["DFG=1"],90]'
is "and changed nothing else" "$(jq -S 'del(.hooks)' "$S/b/config.json" | sha256sum)" \
	"$(BUNDLE_HOOK='' bundle_make "$S/again/b" "$S/fs" /app && jq -S . "$S/again/b/config.json" | sha256sum)"
sum=$(sha256sum "$S/b/config.json")
ok "run, from the bundle" eval '(cd "$S/b" && passes run x)'
is "adds them once" "$(sha256sum "$S/b/config.json")" "$sum"
echo '{"hooks": 7}' >"$S/b/config.json"
ok "a config.json it does not understand" passes create -b "$S/b" x
is "stays" "$(cat "$S/b/config.json")" '{"hooks": 7}'
ok "a bundle that is not there" passes create -b "$S/none" x
printf "${conf}runtime = $L/dfg-runtime\n" >"$L/dfg.conf"
"$L/dfg-runtime" state x 2>/dev/null
is "it does not run itself" $? 127
chmod 777 "$S/real"
printf 'runtime = %s\n' "$S/real" >"$L/dfg.conf"
"$L/dfg-runtime" state x 2>/dev/null
is "nor a program others can write" $? 127
printf "$conf" >"$L/dfg.conf"

# Under Docker.
docker_start --add-runtime "dfg=$L/dfg-runtime" || tap_cannot "dockerd does not start"
docker_image tiny "$S/fs"
payload_want="ro,nosuid,nodev,relatime,nosymfollow squashfs"
docker_check() {
	local name=$1 table
	shift
	table=$(docker_cli run --rm --network none "$@" tiny /app)
	is "$name: /dev/dfg" "$(mount_of /dev/dfg <<<"$table")" "$payload_want"
	is "$name: /dev/dfg-out" "$(mount_of /dev/dfg-out <<<"$table")" \
		"rw,nosuid,nodev,noexec,relatime,nosymfollow tmpfs"
	is "$name: /dev/dfg-ctl" "$(mount_of /dev/dfg-ctl <<<"$table")" \
		"ro,nosuid,nodev,noexec,relatime,nosymfollow tmpfs"
}
docker_check "--runtime=dfg" --runtime=dfg
docker_check "--read-only" --runtime=dfg --read-only
docker_check "--user" --runtime=dfg --user 1000
docker_check "no capability" --runtime=dfg --cap-drop ALL --security-opt no-new-privileges
is "without the runtime nothing is mounted" \
	"$(docker_cli run --rm --network none tiny /app | grep -c ' /dev/dfg')" 0
id=$(docker_cli run -d --runtime=dfg --network none tiny /app wait)
ok "recorded under the container's id" test -f "$R/containers/$id/state.json"
is "as mounted" "$(jq -r .status "$R/containers/$id/state.json")" mounted
is "docker exec sees the agent" "$(docker_cli exec "$id" /app | mount_of /dev/dfg)" "$payload_want"
is "docker diff is empty" "$(docker_cli diff "$id")" ""
ok "docker restart" docker_cli restart -t 0 "$id"
is "mounts again (case 44)" "$(docker_cli exec "$id" /app | mount_of /dev/dfg)" "$payload_want"
is "docker commit has no trace (case 44)" "$(docker_cli commit "$id" copy >/dev/null &&
	docker_cli run --rm --network none copy /app | grep -c ' /dev/dfg')" 0
docker_cli rm -f "$id" >/dev/null
ok "removed: its directory is gone" test ! -e "$R/containers/$id"
docker_stop
docker_start --add-runtime "dfg=$L/dfg-runtime" --default-runtime dfg
is "a daemon with it as the default runtime" $? 0
docker_image tiny "$S/fs"
docker_check "default runtime"
docker_stop
"$HOOK" --root "$R" --release >/dev/null
is "the host's mounts are as before" "$(hook_mounts)" ""
tap_done
