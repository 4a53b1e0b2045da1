#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-setup as a command, on files of its own: what it changes, prints and returns. The changes
# themselves: tests/unit/test_setup.c and its like.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh
. tests/lib/command.sh
. tests/lib/container-state.sh
need jq
top=$(mktemp -d)
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$top"' EXIT
pid=
unset DFG_ROOT

# An installation: what lies in libexec comes before what the system has.
mkdir -p "$top/bin" "$top/libexec" "$top/bundle"
cp "$BUILD/bin/dfg-setup" "$top/bin"
touch "$top/libexec/payload.squashfs" "$top/libexec/dfg-runtime" "$top/libexec/dfg-hook"
chmod 755 "$top"/libexec/dfg-*
conf=$top/libexec/dfg.conf
: >"$conf"
config=$top/bundle/config.json
printf '{"process":{"args":["sh"],"env":["A=b"]}}\n' >"$config"
cp "$config" "$top/before"

setup() { command_run "$top/bin/dfg-setup" "$@"; }
# finding WHAT: "state why → advice" of the last report.
finding() { jq -r --arg what "$1" '.findings[] | select(.what == $what) | "\(.state) \(.why) → \(.advice)"' "$top/out"; }
# same NAME: the bundle is as it was.
same() { ok "$1" cmp "$config" "$top/before"; }

# ---- what it refuses ----
setup install cdi --early
says "a device cannot make JVMs early" \
	"dfg-setup: cdi cannot have --early: a device's environment would replace the container's own JAVA_TOOL_OPTIONS" "status 2"
setup install cri-o --early
says "nor can CRI-O" \
	"dfg-setup: cri-o cannot have --early: it has no hook that may change a container before it is created" "status 2"
setup install runc --bundle "$top/none" --dry-run
says "a bundle has to be there" "dfg-setup: runc: $top/none: No such file or directory" "status 1"
mkdir "$top/empty"
setup install runc --bundle "$top/empty" --dry-run
says "and to have a configuration" "dfg-setup: runc: /${top#/}/empty/config.json: there is no bundle" "status 1"
chmod 644 "$top/libexec/dfg-hook"
setup install runc --bundle "$top/bundle" --dry-run
says "what is installed has to be a program" \
	"dfg-setup: runc: $top/libexec/dfg-hook: install dfg first: Permission denied" "status 1"
setup remove runc --bundle "$top/bundle" --dry-run
says "but not for a removal" "status 0"
chmod 755 "$top/libexec/dfg-hook"

# ---- what it shows ----
setup install runc --bundle "$top/bundle" --dry-run
says "a dry run says nothing" "status 0"
same "and changes nothing"
is "it shows a diff" "$(sed -n '1,2p' "$top/out")" "--- $config
+++ $config"
is "with the hook" "$(grep -c "^+.*$top/libexec/dfg-hook" "$top/out")" 1
setup install runc --bundle "$top/bundle" --dry-run --early
is "--early is in it" "$(grep -c '^+.*DebugNonSafepoints' "$top/out")" 1
setup install runc --bundle "$top/bundle" --dry-run --root /elsewhere
is "--root is in it" "$(grep -c '^+.*--root.*/elsewhere' "$top/out")" 1
setup install podman --file "$top/hooks/x.json" --dry-run
is "a hook for all containers is always called" "$(grep -c '"always": true' "$top/out")" 1
is "it is in the file that was named" "$(sed -n 2p "$top/out")" "+++ $top/hooks/x.json"
setup install podman --file "$top/hooks/x.json" --dry-run --opt-in
is "--opt-in asks for an annotation" "$(grep -c '"^dfg\\\\.io/inject$": "^true$"' "$top/out")" 1
printf '#!/bin/sh\nexit 1\n' >"$top/bin/containerd"
printf '#!/bin/sh\necho {}\n' >"$top/bin/ctr"
chmod 755 "$top/bin/containerd" "$top/bin/ctr"
printf 'version = 2\n' >"$top/config.toml"
setup install containerd --file "$top/config.toml" --program "$top/bin/containerd" --dry-run
says "--program is asked" "dfg-setup: containerd: containerd config dump fails, so the effect of a change is unknown; --program FILE, or --force" "status 1"
setup install containerd --file "$top/config.toml" --program "$top/bin/containerd" --dry-run --force
says "with --force its answer does not count" "status 0"

# ---- what it changes ----
if [ "$(id -u)" = 0 ]; then
	hint="dfg-setup: The next container made of the bundle gets the hook."
	setup install runc --bundle "$top/bundle"
	says "an installation names the file" "dfg-setup: runc: installed in $config" "$hint" "status 0"
	is "it prints nothing else" "$(cat "$top/out")" ""
	is "the hook is there" "$(grep -c "$top/libexec/dfg-hook" "$config")" 1
	setup install runc --bundle "$top/bundle"
	says "a second one says that it is there" "dfg-setup: runc has it already: $config" "status 0"
	setup status runc --bundle "$top/bundle"
	says "the status is 0 where it is installed" "status 0"
	is "a line for people says so" "$(grep -c "^  ok    runc       new containers get $top/libexec/dfg-hook, by $config\$" "$top/out")" 1
	setup remove runc --bundle "$top/bundle"
	says "a removal names the file" "dfg-setup: runc: removed from $config" "status 0"
	same "the file is as it was"
	setup remove runc --bundle "$top/bundle"
	says "a second one says that it is not there" "dfg-setup: runc: not in $config" "status 0"
	setup install crun --bundle "$top/bundle" --quiet --early
	says "--quiet says nothing" "status 0"
	setup status crun --bundle "$top/bundle"
	is "early is reported" "$(grep -c "; JVMs have DebugNonSafepoints from their start\$" "$top/out")" 1
	setup remove crun --bundle "$top/bundle" -q
	says "nor does -q" "status 0"
	same "the file is as it was again"
	setup install cdi --file "$top/cdi.json"
	is "a directory's hint is its own" "$(sed -n 2p "$top/err")" \
		"dfg-setup: A container asks for it: docker run --device dfg.io/agent=on (docs/engines.md)."
	setup status cdi --file "$top/cdi.json" --json
	is "--file is what is reported" "$(finding cdi)" \
		"note containers that ask for it get $top/libexec/dfg-hook, by $top/cdi.json; the others do not → dfg-trigger sets its containers up on demand"
	setup remove cdi --file "$top/cdi.json"
	is "the file is gone" "$(ls "$top/cdi.json" 2>&1 >/dev/null | wc -l)" 1
	printf '{"hooks": 7}' >"$config"
	setup install runc --bundle "$top/bundle"
	is "a file of another kind is refused" "$(sed -n '$p' "$top/err")" "status 1"
	is "and stays" "$(cat "$config")" '{"hooks": 7}'
	cp "$top/before" "$config"
fi

# ---- what it reports ----
setup status runc --bundle "$top/bundle"
says "the status is 1 where it is not installed" "status 1"
setup status runc --bundle "$top/bundle" --json
is "as JSON, too" "$(jq -c '[.dfg, .installed]' "$top/out")" "[\"$(cat VERSION)\",false]"
is "with the reason" "$(finding runc)" \
	"note no hook in its configuration → dfg-trigger sets its containers up on demand"
setup status --json
# On this machine an engine may have the hook.
if [ -z "$(finding hook)" ]; then
	says "the status of all engines is 0 where one has the hook" "status 0"
	is "as JSON, too" "$(jq .installed "$top/out")" true
else
	says "the status of all engines is 1 where none has the hook" "status 1"
	is "as JSON, too" "$(jq .installed "$top/out")" false
fi
is "the payload is there" "$(finding payload | cut -d' ' -f1)" ok
mv "$top/libexec/payload.squashfs" "$top/away"
[ -e /usr/local/libexec/dfg/payload.squashfs ] ||
	is "or is missing" "$(setup status --json; finding payload | cut -d' ' -f1)" note
mv "$top/away" "$top/libexec/payload.squashfs"

# conf TEXT WHAT FINDING NAME
conf() {
	printf "$1" >"$conf"
	setup status runc --bundle "$top/bundle" --json
	is "$4" "$(finding "$2")" "$3"
}
all="ok all containers, but those with the annotation dfg.io/inject=false → "
conf '' inject "$all" "by default all containers get the mounts"
conf '' early "" "of what is not set nothing is said"
conf 'inject = annotated\n' inject \
	"ok containers with the annotation dfg.io/inject=true, or that ask for it by CDI → " "or those that ask for them"
conf 'inject = none\n' inject "note no container → " "or none"
conf 'early = yes\n' early \
	"ok dfg-runtime switches DebugNonSafepoints on in JVMs from their start → " "early is reported"
conf 'never = a=b*\nonly = c=d\n' never "ok with the annotation a=b* → " "rules are reported"
is "all of them" "$(finding only)" "ok with the annotation c=d → "
conf 'wibble = 1\n' inject \
	"no $conf: line 1: unknown key wibble → repair it; until then none gets them" "a broken file is reported"
rm "$conf"
[ -e /etc/dfg/dfg.conf ] || {
	setup status --json
	is "without a file the defaults count" "$(finding inject)" "${all}there is no /etc/dfg/dfg.conf, dfg-hook(8)"
}

# ---- running containers ----
if [ "$(id -u)" = 0 ]; then
	sleep 60 &
	pid=$!
	container_state "$top/root" "shop-$$" "$pid" ''
	setup status --json --root "$top/root"
	is "a running container is reported" \
		"$(jq -r --arg name "shop-$$ " '.findings[] | select(.what == "container" and (.why | startswith($name))) | "\(.state) \(.why) → \(.advice)"' "$top/out")" \
		"note shop-$$ was started before the hook → dfg-trigger sets it up on demand"
	is "then it is not said that none runs" "$(jq '[.findings[] | select(.what == "containers")] | length' "$top/out")" 0
fi
tap_done
