# SPDX-License-Identifier: Apache-2.0
# Kernels of Debian's and Ubuntu's suites, and programs that run on them in an emulated machine. Source it after tap.sh
# and engines.sh.

# kernels_get MACHINE SUITE PACKAGE: the path of the kernel of the suite's newest package of that name (a pattern of
# sed); downloaded once per build folder.
kernels_get() { (lock kernels && kernels_unpack "$@"); }
kernels_unpack() {
	local dir=$BUILD/kernels/$1/$2/$3 name entry ENGINES_MIRROR=$ENGINES_MIRROR
	[[ $2 != @(jammy|noble|resolute)* ]] || ENGINES_MIRROR=${KERNELS_MIRROR:-http://archive.ubuntu.com/ubuntu}
	mkdir -p "$dir"
	if [ ! -s "$dir/kernel" ]; then
		engines_list "$2" "$dir/Packages" "$1" &&
			name=$(sed -n "s/^Package: \($3\)$/\1/p" "$dir/Packages" | sort -V | tail -n 1) &&
			entry=$(awk -v RS= -v p="Package: $name\n" 'index($0, p) == 1' "$dir/Packages") &&
			engines_deb "$entry" "$dir/kernel.deb" &&
			dpkg-deb --fsys-tarfile "$dir/kernel.deb" | tar -xO --wildcards '*/vmlinuz*' >"$dir/vmlinuz" &&
			kernels_plain "$dir/vmlinuz" >"$dir/part" && mv "$dir/part" "$dir/kernel" &&
			rm "$dir"/{vmlinuz,kernel.deb,Packages*} || return 1
	fi
	echo "$dir/kernel"
}
# kernels_plain FILE: a kernel as QEMU takes it. Some of arm64 are programs of EFI that unpack themselves: their heads
# say where the packed kernel is, and its bytes.
kernels_plain() {
	local head
	if [ "$(dd if="$1" bs=4 skip=1 count=1 status=none | tr -d '\0')" != zimg ]; then
		cat "$1"
		return
	fi
	read -ra head < <(od -A n -t u4 -j 8 -N 8 "$1")
	tail -c "+$((head[0] + 1))" "$1" | head -c "${head[1]}" | case $(dd if="$1" bs=8 skip=3 count=1 status=none | tr -d '\0') in
	zstd*) zstd -dc ;;
	*) gzip -dc ;;
	esac
}

# kernels_run MACHINE KERNEL PROGRAM: its output, as the only program of a machine with that kernel. What arm64
# needs is below $BUILD/arm64/root (tests/arm64.sh).
kernels_run() {
	local dir=$TMPDIR/kernel root=''
	[ "$1" = amd64 ] || root=$BUILD/$1/root
	rm -rf "$dir" && mkdir -p "$dir/bin" || return 1
	cp "$root/bin/busybox" "$dir/bin/busybox"
	cp "$3" "$dir/program"
	kernels_libraries "$1" "$3" | while read -r lib; do
		mkdir -p "$dir${lib%/*}"
		cp -L "$root$lib" "$dir$lib"
	done
	echo 'exec /program' >"$dir/run"
	kernels_boot "$1" "$2" "$dir"
}
kernels_libraries() {
	case $1 in
	arm64) qemu-aarch64-static -L "$BUILD/arm64/root" -E LD_TRACE_LOADED_OBJECTS=1 "$2" ;;
	*) ldd "$2" ;;
	esac | grep -o '/[^ ]*'
}

# kernels_boot MACHINE KERNEL DIR: the output of DIR/run, a script for busybox's shell, on a machine with that kernel
# and that root file system, in which this puts what it takes to begin and end. Emulated, a kernel that patches its own
# code at boot may meet half of it, on a busy machine: one that ended before its first program began is booted again.
kernels_boot() {
	local tries
	mkdir -p "$3"/{proc,sys,dev,tmp}
	cat >"$3/init" <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t tracefs trace /sys/kernel/tracing
/bin/busybox mount -t devtmpfs dev /dev
echo "kernel $(/bin/busybox uname -r)"
/bin/busybox sh /run
echo "status $?"
/bin/busybox poweroff -f
END
	chmod +x "$3/init"
	(cd "$3" && find . | cpio -o -H newc 2>/dev/null) >"$3.cpio"
	for tries in 1 2 3; do
		kernels_emulator "$1" -accel tcg -m "$((1024 + $(stat -c %s "$3.cpio") / 524288))" -smp 2 -nographic -nic none \
			-no-reboot -kernel "$2" -initrd "$3.cpio" | tr -d '\r' >"$3.said"
		! grep -qa 'kernel [0-9]' "$3.said" || break
		diag "$2: try $tries did not boot"
	done
	cat "$3.said"
	rm "$3.cpio" "$3.said"
}
kernels_emulator() {
	local append='quiet panic=-1'
	case $1 in
	arm64) set -- qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on "${@:2}" -append "console=ttyAMA0 $append" ;;
	*) set -- qemu-system-x86_64 -cpu max "${@:2}" -append "console=ttyS0 no_timer_check $append" ;;
	esac
	timeout "${WAIT_SECONDS:-300}" "$@" </dev/null 2>&1
}
