#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-setup and what makes one container at a time: runc, crun, podman.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
bundle_own_namespace "$@"
. tests/lib/shop.sh
. tests/lib/setup.sh
. tests/lib/podman.sh
need runc crun podman strace
setup_setup
trap 'podman_stop; shop_teardown' EXIT
SHOP_HOOK=none

# ---- bundles ----
with_runtime() {
	local r=$1 dir=$SHOP/$1 before
	bundle_runtime "$r"
	ok "$r $($r --version | sed -n '1s/.* //p'): a bundle" shop_create "$r"
	bundle_stop "$r"
	before=$(sha256sum <"$dir/config.json")
	ok "  --dry-run" setup install "$r" --bundle "$dir" --dry-run
	is "    makes no change" "$(sha256sum <"$dir/config.json")" "$before"
	ok "  install" eval 'strace -f -qq -e trace=openat,fsync,rename,renameat,renameat2 -o "$SHOP/calls" "$SETUP" install "$r" \
		--bundle "$dir" >"$SHOP/setup" 2>&1'
	ok "    config.json is never open for writing" eval '! grep "\"config.json\".*O_\(WRONLY\|RDWR\)" "$SHOP/calls"'
	ok "    another file is written, synced and renamed to it, and the directory is synced (case 73)" \
		test "$(sed -n 's/.*fsync(.*/fsync/p; s/.*rename.*"config.json").*/rename/p; s/.*rename.*"config.json", .*/rename/p' "$SHOP/calls" |
		tr '\n' ' ')" = "fsync rename fsync "
	ok "    twice" setup install "$r" --bundle "$dir"
	is "    it is there once" "$(grep -o libexec/dfg-hook "$dir/config.json" | wc -l)" 2
	ok "    status" setup status "$r" --bundle "$dir"
	ok "    a container starts" bundle_start "$r" "$dir"
	ok "    and works" shop_works "$(bundle_pid "$r")"
	ok "    with the mounts" has_mounts "$(bundle_pid "$r")"
	ok "    dfg-trigger draws it" graph "$r"
	ok "  remove, while it runs" setup remove "$r" --bundle "$dir"
	is "    config.json is as it was" "$(sha256sum <"$dir/config.json")" "$before"
	ok "    status: not installed" eval '! setup status "$r" --bundle "$dir"'
	bundle_stop "$r"
	"$HOOK" --gc --root "$DFG_ROOT" >/dev/null
	is "    nothing is left in the bundle" "$(ls -A "$dir")" "config.json
log
rootfs
tmp"
	is "    nor mounted" "$(grep -c "$DFG_ROOT/containers" /proc/self/mountinfo)" 0
	bundle_start "$r" "$dir"
	ok "    a container starts, without mounts" has_no_mounts "$(bundle_pid "$r")"
	bundle_stop "$r"
}
with_runtime crun
with_runtime runc
is "no bundle: usage" "$("$SETUP" install runc 2>/dev/null; echo $?)" 2
ok "a bundle that is not there" eval '! setup install runc --bundle "$SHOP/none"'

# ---- podman ----
podman_setup
H=$SHOP/hooks.d/50-dfg.json
podman_journey "$H" --hooks-dir "$SHOP/hooks.d"
ok "only annotated ones: install" setup install podman --opt-in --file "$H"
ok "  a container without" podman_shop bare --hooks-dir "$SHOP/hooks.d"
ok "  has none" has_no_mounts "$(podman_pid bare)"
podman_stop

# CRI-O does not run here: that it would get the same file is all that can be said.
ok "cri-o: --dry-run" setup install cri-o --dry-run
ok "  the file of oci-hooks(5)" grep -q "+++ /usr/share/containers/oci/hooks.d/50-dfg.json" "$SHOP/setup"
sed -n 's/^+\([^+].*\|}\)$/\1/p' "$SHOP/setup" >"$SHOP/hook.json"
ok "  is one object of that schema" jq -e '.version == "1.0.0" and (.hook.path | startswith("/"))
	and (.hook.timeout > 0) and (.when.always == true) and (.stages == ["createRuntime", "poststop"])
	and ([keys[]] - ["version", "hook", "when", "stages"] == [])' "$SHOP/hook.json"
tap_done
