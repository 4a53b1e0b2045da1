#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# arm64 on this machine: cross-builds everything, and runs unit tests, fuzz corpora and lint of it
# with qemu's user emulation. Kernels and JVMs of arm64: tests/e2e/record/arm64.t.
#
#   tests/arm64.sh [TARGET...]   builds these only
#
# The libraries are of a Debian's packages for arm64, unpacked in $BUILD/arm64/root (for good).
set -eu
cd "$(dirname "$0")/.."

# What cannot be run in the emulation, and why.
unable=$(sed 's/:.*//' <<'END'
test_confine test_debug_files test_doctor_perf test_gather test_inputs test_jail: it has no seccomp filters
test_look test_mapped_files: it has no seccomp filters
test_message: it does not tell that files of a message were cut
test_agent_client test_agent_share test_change test_containerd test_docker test_doctor: it has no openat2
test_handle: it has no clone3
test_outdir test_retention test_session: it has another /tmp, below its root directory
test_doctor_findings test_doctor_jvm test_fs test_hook_state test_oci_spec test_setup: it has no openat2
test_hook_container test_hook_main test_hook_mounts test_hook_payload: it has no mount_setattr
test_hook_runtime test_hook_self test_hook_store test_hook_worker: it has no mount_setattr
test_collector test_containers test_daemon test_jvm test_jvm_poller test_memory_reader: its own threads are in /proc
test_perf test_proc test_record_find test_record_run test_session_files: its own threads are in /proc
test_stack_depth test_target test_worker: its own threads are in /proc
test_hotspot_java: the JVMs are of this machine
test_attach_exchange test_attach_load test_attach_process test_attach_trigger: it has no openat2, and its own signals
test_agent_dump test_agent_events test_agent_load test_agent_memory test_agent_sys: its own threads, signals, memory
test_inject test_install test_push_send: it runs no other program
test_room: it keeps the limit of the number of processes to itself
test_child: it keeps signal 32 to itself
test_stack_recorder: it loads no BPF programs, but kernels do (tests/e2e/record/kernels.t)
test_live test_screen_drawn: ncurses crashes in it when it reads the keys of a terminal (_nc_init_keytry)
END
)

build=${BUILD:-build}/arm64
root=$(readlink -m "$build/root")
triplet=aarch64-linux-gnu
packages=libc6-dev,linux-libc-dev,libgcc-12-dev,libjansson-dev,libcap-dev,libseccomp-dev,libdw-dev
packages=$packages,libelf-dev,liblzma-dev,libiberty-dev,zlib1g-dev,libncurses-dev,libcurl4-openssl-dev,libbpf-dev,busybox-static

mkdir -p "$build"
. tests/lib/arm64-root.sh
arm64_root "$root" bookworm "$packages"

export PKG_CONFIG_LIBDIR="$root/usr/lib/$triplet/pkgconfig:$root/usr/share/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$root"
gcc="${CCACHE:-} $triplet-gcc --sysroot=$root"
# Return addresses are signed in a way that is fast to emulate.
targets=$*
make -j"$(nproc)" ${targets:-check-emulated} BUILD="$build" CC="$gcc" STATIC_CC="$gcc" STATIC_INC= \
	CFLAGS="-O2 -g" \
	EMULATOR="qemu-aarch64-static -cpu max,pauth-impdef=on -L $root" UNABLE="$(echo $unable)"
[ "$targets" ] || BUILD=$build prove -e '' tests/lint/agent-links.t tests/lint/hardening.t
