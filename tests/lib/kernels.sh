# SPDX-License-Identifier: Apache-2.0
# Debian's kernels of other suites, and programs that run on them in an emulated machine. Source it after tap.sh
# and engines.sh.

# kernels_get SUITE PACKAGE: the path of the kernel of the suite's last package of that name (a pattern of awk);
# downloaded once per build folder.
kernels_get() { (lock kernels && kernels_unpack "$@"); }
kernels_unpack() {
	local dir=$BUILD/kernels/$1 entry
	mkdir -p "$dir"
	if [ ! -e "$dir/done" ]; then
		engines_list "$1" "$dir/Packages" &&
			entry=$(awk -v RS= -v "p=^Package: $2\n" '$0 ~ p { last = $0 } END { print last }' "$dir/Packages") &&
			engines_deb "$entry" "$dir/kernel.deb" && dpkg -x "$dir/kernel.deb" "$dir/root" &&
			rm "$dir"/{kernel.deb,Packages*} && touch "$dir/done" || return 1
	fi
	find "$dir/root" -name 'vmlinuz*' -type f
}

# kernels_run KERNEL PROGRAM: its output, as the only program of a machine with that kernel.
kernels_run() {
	local dir=$TMPDIR/kernel lib
	rm -rf "$dir" && mkdir -p "$dir"/{bin,proc,sys,dev,tmp} || return 1
	cp "$(command -v busybox)" "$dir/bin/busybox"
	cp "$2" "$dir/program"
	for lib in $(ldd "$2" | grep -o '/[^ ]*'); do
		mkdir -p "$dir${lib%/*}"
		cp -L "$lib" "$dir$lib"
	done
	cat >"$dir/init" <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t tracefs trace /sys/kernel/tracing
/bin/busybox mount -t devtmpfs dev /dev
echo "kernel $(/bin/busybox uname -r)"
/program
echo "status $?"
/bin/busybox poweroff -f
END
	chmod +x "$dir/init"
	(cd "$dir" && find . | cpio -o -H newc 2>/dev/null) >"$dir.cpio"
	timeout 300 qemu-system-x86_64 -accel tcg -cpu max -m 1024 -smp 2 -nographic -nic none -no-reboot \
		-kernel "$1" -initrd "$dir.cpio" -append "console=ttyS0 quiet panic=-1" </dev/null 2>&1 | tr -d '\r'
}
