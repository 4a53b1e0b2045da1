#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-setup --early: JVMs have DebugNonSafepoints from their start on, what the container has in its environment stays,
# and containers start whatever becomes of dfg.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/docker.sh
. tests/lib/engines.sh
. tests/lib/shop.sh
. tests/lib/setup.sh
. tests/lib/podman.sh
. tests/lib/cri.sh
need dockerd docker containerd podman protoc curl
setup_setup
trap 'podman_stop; docker_stop; cri_stop; shop_teardown' EXIT
SHOP_HOOK=none
engines_sid golang-github-kubernetes-cri-api-dev || tap_cannot "no protocol file of the CRI"
javac --release 8 -Xlint:-options -d "$SHOP/app" tests/java/Known.java
tests/lib/jdk-roots.sh 8 17 25 >"$SHOP/jdks" || tap_cannot "the JDKs' root file systems"
FLAGS="-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"
OWN="-Dshop.own=a"
picked() { grep -qF "Picked up JAVA_TOOL_OPTIONS: $1" "$2" || { cat "$2"; return 1; }; }

# ---- bundles, with JDKs from the oldest to the newest ----
env_create() { SHOP_MAIN="Known mix 900" SHOP_ROOT=$2 SHOP_JAVA=$3/bin/java shop_create "jdk$1"; }
with_jdk() {
	local version=$1 root=$2 home=$3 dir=$SHOP/jdk$1 before
	[ "$root" != / ] || root=host
	BUNDLE_ENV=("JAVA_TOOL_OPTIONS=$OWN")
	[ "$version" != 8 ] || BUNDLE_ENV=()
	ok "JDK $version: a bundle" env_create "$version" "$root" "$home"
	bundle_stop "jdk$version"
	before=$(sha256sum <"$dir/config.json")
	ok "  install --early" setup install runc --early --bundle "$dir"
	ok "    status" setup status runc --bundle "$dir"
	ok "      tells it" grep -q "DebugNonSafepoints from their start" "$SHOP/setup"
	bundle_start "jdk$version" "$dir"
	ok "    the JVM starts, and works" shop_works "$(bundle_pid "jdk$version")"
	ok "    with the flags, behind its own" picked "${BUNDLE_ENV[0]:+$OWN }$FLAGS" "$dir/log"
	# dfg leaves the flag alone: what is compiled knows what is inlined where since the JVM began.
	ok "    dfg-trigger" record --keep-flags -f folded "jdk$version"
	is "    no sample is between safepoints" "$(json '.without_debug_info == 0')" true
	ok "    of Java ones" eval '[ "$(json .java_samples)" -gt 50 ]'
	ok "  remove" setup remove runc --bundle "$dir"
	is "    config.json is as it was" "$(sha256sum <"$dir/config.json")" "$before"
	bundle_stop "jdk$version"
}
while read -r v r h; do with_jdk "$v" "$r" "$h"; done <"$SHOP/jdks"
bundle_start jdk17 "$SHOP/jdk17"
ok "without, the JVM works" shop_works "$(bundle_pid jdk17)"
record --keep-flags -f folded jdk17
ok "  and samples are between safepoints" eval '[ "$(json ".without_debug_info > 0")" = true ]'
bundle_stop jdk17
BUNDLE_ENV=()
for e in cdi cri-o; do
	"$SETUP" install $e --early --dry-run >"$SHOP/setup" 2>&1
	is "$e cannot" "$?" 2
	ok "  and says why" grep -q "$e cannot have --early: " "$SHOP/setup"
done

# ---- Docker ----
DOCKER_JSON='{}'
docker_start || { ok "dockerd starts" false; tap_done; exit; }
CONF=$DOCKER_DIR/daemon.json
DFG_CONF=$SHOP/dfg/libexec/dfg.conf # of this installation
bundle_static "$SHOP/fs" # prints its mounts and waits, or not
docker_image tiny "$SHOP/fs"
docker_image shop host
before=$(sha256sum "$CONF" "$DFG_CONF")
ok "Docker: install --early" setup install docker --early --file "$CONF"
ok "  twice" setup install docker --early --file "$CONF"
is "    it is there once" "$(grep -c "^early = yes" "$DFG_CONF")" 1
ok "  status" setup status docker --file "$CONF" --root "$DFG_ROOT"
ok "    tells it" grep -q "dfg-runtime switches DebugNonSafepoints on" "$SHOP/setup"
java_in_docker() { docker_cli run --rm --network none "${DOCKER_HOST_BINDS[@]}" "$@" shop "$JAVA" -XX:+PrintFlagsFinal -version >"$SHOP/log" 2>&1; }
has_flag() { grep -q 'bool DebugNonSafepoints *= true' "$SHOP/log" || { cat "$SHOP/log"; return 1; }; }
ok "  a JVM starts" java_in_docker
ok "    with the flag" has_flag
ok "  one with options of its own" java_in_docker -e "JAVA_TOOL_OPTIONS=$OWN"
ok "    keeps them" picked "$OWN $FLAGS" "$SHOP/log"
ok "    and has the flag" has_flag
ok "  one that has it by itself" java_in_docker -e "JAVA_TOOL_OPTIONS=$FLAGS"
is "    has it once" "$(grep 'Picked up' "$SHOP/log" | grep -o DebugNonSafepoints | wc -l)" 1
ok "  what is no JVM" docker_cli run --rm --network none tiny /app
mv "$SHOP/dfg/libexec/payload.squashfs" "$SHOP/dfg/libexec/dfg-hook" "$SHOP"
ok "  a JVM without dfg's files" java_in_docker
mv "$SHOP/payload.squashfs" "$SHOP/dfg-hook" "$SHOP/dfg/libexec"
echo "inject = none" >>"$DFG_CONF"
ok "  a container that dfg.conf keeps dfg out of" java_in_docker
is "    has no flag" "$(grep -c 'Picked up' "$SHOP/log")" 0
sed -i '/^inject/d' "$DFG_CONF"
ok "  remove" setup remove docker --file "$CONF"
is "    both files are as they were" "$(sha256sum "$CONF" "$DFG_CONF")" "$before"
is "    no file is left" "$(ls "$DOCKER_DIR" "$SHOP/dfg/libexec" | grep before)" ""
ok "    a JVM starts" java_in_docker
is "    without" "$(grep -c 'Picked up' "$SHOP/log")" 0
docker_stop

# ---- podman ----
podman_setup
H=$SHOP/hooks.d/50-dfg.json
# podman's precreate needs the hook, like its other stages: one that is gone is passed over.
java_in_podman() {
	podman_run "$1" --hooks-dir "$SHOP/hooks.d" -- "${@:2}" --rootfs "$SHOP/p/empty" "$JAVA" -XX:+PrintFlagsFinal -version
	"${POD[@]}" wait "$1" >/dev/null
	"${POD[@]}" logs "$1" >"$SHOP/log" 2>&1
	[ "$("${POD[@]}" inspect -f '{{.State.ExitCode}}' "$1")" = 0 ] || { cat "$SHOP/log"; return 1; }
}
ok "podman: install --early" setup install podman --early --file "$H"
ok "  status" setup status podman --file "$H"
ok "    tells it" grep -q "DebugNonSafepoints from their start" "$SHOP/setup"
ok "  a JVM starts" java_in_podman one
ok "    with the flag" has_flag
ok "  one with options of its own" java_in_podman two --env "JAVA_TOOL_OPTIONS=$OWN"
ok "    keeps them" picked "$OWN $FLAGS" "$SHOP/log"
ok "  one that does not want dfg" java_in_podman three --annotation dfg.io/inject=false
is "    has no flag" "$(grep -c 'Picked up' "$SHOP/log")" 0
mv "$SHOP/dfg/libexec/dfg-hook" "$SHOP"
ok "  a JVM without dfg's files" java_in_podman four
mv "$SHOP/dfg-hook" "$SHOP/dfg/libexec"
ok "  remove" setup remove podman --file "$H"
is "    no file is left" "$(ls "$SHOP/hooks.d")" ""
ok "    a JVM starts" java_in_podman five
is "    without" "$(grep -c 'Picked up' "$SHOP/log")" 0
podman_stop

# ---- pods ----
mv "$SHOP/fs/app" "$SHOP/fs/pause"
cri_start < <(cri_config)
is "containerd starts" $? 0
cri_image dfg.test/shop:1 "$SHOP/fs"
TOOL=(--file "$CRI_DIR/config.toml" --program "$CRI_BIN/containerd")
before=$(sha256sum <"$CRI_DIR/config.toml")
options() { cri_spec "$1" | jq -r '[.process.env[] | select(startswith("JAVA_TOOL_OPTIONS="))] | join("|")'; }
ok "  install --early" setup install containerd --early "${TOOL[@]}"
ok "    status tells it" eval 'setup status containerd --file "$CRI_DIR/config.toml" && grep -q "DebugNonSafepoints from their start" "$SHOP/setup"'
cri_restart
cri_pod web-1 >/dev/null
one=$(cri_container web-1 one 'image { image: "dfg.test/shop:1" }')
two=$(cri_container web-1 two "image { image: \"dfg.test/shop:1\" } envs { key: \"JAVA_TOOL_OPTIONS\" value: \"$OWN\" }")
is "    a container of a pod has the flags" "$(options "$one")" "JAVA_TOOL_OPTIONS=$FLAGS"
is "    one with options of its own has its own alone" "$(options "$two")" "JAVA_TOOL_OPTIONS=$OWN"
ok "  remove" setup remove containerd "${TOOL[@]}"
is "    config.toml is as it was" "$(sha256sum <"$CRI_DIR/config.toml")" "$before"
is "    no file is left" "$(cd "$CRI_DIR" && echo *dfg* config.toml*)" "*dfg* config.toml"
cri_stop
tap_done
