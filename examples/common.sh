# SPDX-License-Identifier: Apache-2.0
# Functions that the examples share. A run.sh sources it in the checkout's top folder.
#
#   example_begin NAME   checks for root, installs the packages of the groups "demo", "examples" and NAME
#                        (packages.txt), builds dfg, and sets
#                          work  a scratch directory, which is removed at the end
#                          cgroup  the control group for an engine's containers, which is removed, too
#                          out   the directory of the results: build/examples/NAME, emptied, or $OUT, which must be empty
#                        The dfg-* commands in PATH are a copy whose root directory is $work/root, so that
#                        nothing stays in /var/lib/dfg.
#   at_end COMMAND       runs it when the script ends, however it ends; the last one runs first
#   need_root, build_dfg GROUP...   parts of it, for examples/demo; build_dfg sets java to the JVM's program
#   say TEXT             a heading
#   run COMMAND...       prints the command, also where its output is redirected, and runs it
#   wait_for COMMAND...  until it succeeds, for five minutes at most
#   warm CONTAINER       waits until its JVM has used 2 s of processor time: its hot methods are compiled then
#   daemon FILE COMMAND...   runs the command in the background, its output in FILE.log; ended at the end
#   stop FILE            ends it before
#   debian_unstable PACKAGE...   unpacks these in build/engines, without what they depend on, once; sets engines to the
#                        directory they are in
#   rootfs DIR           makes a root file system without files, for this machine's /usr and /etc to be bound into
#   shop DIR             compiles the program that the containers run, examples/demo/Shop.java
#   bundle DIR CLASS     makes an OCI bundle in DIR that runs this class of DIR/rootfs/app, as user 1000 without any
#                        capability, with a read-only root, and without hooks
#   run_bundle NAME DIR  runs it with runc until the script ends, its output in DIR/log; returns when it is warm
#   unchanged FILE COPY  says that the file is the same as the copy, or fails
build=$PWD/build
ends=:
exec 3>&1

say() { printf '\n== %s\n' "$*"; }
run() {
	printf '$ %s\n' "$*" >&3
	"$@" 3>&-
}
at_end() { ends="$1; $ends"; }

need_root() { [ "$(id -u)" = 0 ] || { echo "run.sh: needs root, for containers and perf: sudo sh $0" >&2; exit 1; }; }

build_dfg() {
	sh packages.sh "$@"
	java=$(readlink -f "$(command -v java)")
	say "building dfg"
	make -s -j"$(nproc)" all
}

example_begin() {
	need_root
	build_dfg demo examples "$1"
	work=$(mktemp -d "/tmp/dfg-$1.XXXXXX")
	trap 'set +e; trap - EXIT; eval "$ends"' EXIT
	trap 'exit 130' INT TERM
	cgroup=/${work##*/}
	at_end 'remove_work; remove_cgroup'
	chmod 755 "$work"
	make_out "$1"
	install_copy
}

make_out() {
	out=${OUT:-$build/examples/$1}
	[ -n "${OUT:-}" ] || rm -rf "$out"
	mkdir -p "$out"
	rmdir "$out" 2>/dev/null || { echo "run.sh: $out is not empty" >&2; return 1; }
	mkdir "$out"
	[ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-0}" "$out"
}

# An engine has programs that end a little later than their container, and write until then.
remove_work() {
	tries=100
	while [ $tries -gt 0 ] && grep -sq "$work" /proc/[0-9]*/cmdline; do
		tries=$((tries - 1))
		sleep 0.1
	done
	for mount in $(awk -v d="$work/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r); do
		umount -l "$mount"
	done
	rm -rf --one-file-system "$work"
}

# Those programs leave the control group late, too.
remove_cgroup() {
	tries=100
	while [ $tries -gt 0 ] && [ -n "$(find /sys/fs/cgroup -depth -type d -path "*$cgroup*" -print -exec rmdir {} \; 2>/dev/null)" ]; do
		tries=$((tries - 1))
		sleep 0.1
	done
}

# A hook that gets no processor for 250 ms gives up; on a busy machine it is given more.
install_copy() {
	mkdir "$work/dfg"
	cp -r "$build/bin" "$build/libexec" "$work/dfg"
	printf '%s\n' "root = $work/root" 'budget_ms = 4000' >"$work/dfg/libexec/dfg.conf"
	export DFG_ROOT="$work/root" PATH="$work/dfg/bin:$PATH"
	at_end '"$work/dfg/libexec/dfg-hook" --release --root "$DFG_ROOT" >/dev/null 2>&1'
}

wait_for() {
	tries=3000
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "run.sh: not within five minutes: $*" >&2; return 1; }
		sleep 0.1
	done
}
warm() {
	wait_for jvm "$1"
	wait_for used "$jvm" 200
}
jvm() {
	jvm=$(dfg-trigger --list --json | jq -e --arg name "$1" \
		'.containers[] | select([.id, .name, "\(.namespace)/\(.pod)"] | index($name)) | .pid')
}
used() { [ "$(sed 's/.*) //' "/proc/$1/stat" | awk '{print $12 + $13}')" -ge "$2" ]; }

daemon() {
	file=$1
	shift
	"$@" >"$file.log" 2>&1 3>&- &
	echo $! >"$file.pid"
	at_end "stop '$file'"
}
stop() {
	[ -e "$1.pid" ] || return 0
	kill "$(cat "$1.pid")" 2>/dev/null || :
	wait "$(cat "$1.pid")" 2>/dev/null || :
	rm "$1.pid"
}

debian_unstable() {
	say "unpacking from Debian's unstable suite: $*"
	engines=$(BUILD=$build bash -c '. tests/lib/tap.sh && . tests/lib/engines.sh && engines_sid "$@" &&
		echo "$ENGINES"' bash "$@")
}

rootfs() {
	mkdir -p "$1/app" "$1/proc" "$1/sys" "$1/dev" "$1/tmp" "$1/run" "$1/var" "$1/usr" "$1/etc"
	chmod 1777 "$1/tmp"
	ln -s usr/bin usr/sbin usr/lib "$1/"
	[ ! -d /usr/lib64 ] || ln -s usr/lib64 "$1/"
}

shop() { javac -d "$1" examples/demo/Shop.java; }

bundle() {
	[ -d "$1/rootfs" ] || rootfs "$1/rootfs"
	sed -e "s|@JAVA@|$java|" -e "s|\"Shop\", \"2\"|\"$2\"|" -e '/"hooks"/,/^  },/d' \
		examples/demo/config.json >"$1/config.json"
}

run_bundle() {
	runc delete -f "$1" >/dev/null 2>&1 || :
	at_end "runc delete -f '$1' >/dev/null 2>&1"
	run runc run -d --bundle "$2" "$1" </dev/null >"$2/log" 2>&1 || { cat "$2/log" >&2; return 1; }
	warm "$1"
}

unchanged() {
	cmp "$1" "$2" && echo "$1 is what it was, byte for byte"
}
