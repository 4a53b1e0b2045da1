// SPDX-License-Identifier: Apache-2.0
#include "hook/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/capability.h>

#include "common/confine.h"
#include "common/fs.h"
#include "hook/idmap.h"

/* A user namespace of the caller's own has no say over the host's mounts. */
static enum hook_reason check_rootless(struct err *err)
{
	CLEANUP(str_fini) struct str map = {0};
	CLEANUP(close_fd) int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fs_read_all(fd, 65536, &map, err) < 0) {
		err_set(err, errno, "/proc/self/uid_map");
		return HOOK_ERR_HOST;
	}
	if (geteuid() != 0 || !map.buf || !idmap_is_full(map.buf)) {
		err_set(err, 0, "not root of the host");
		return HOOK_SKIP_ROOTLESS;
	}
	return HOOK_NONE;
}

/* What the work takes, its child in the container included. Not there: executing, sockets, tracing,
 * changing ids, mounts by path, anything that loads code into the kernel. */
static const char *const calls[] = {
	/* files */
	"access",
	"close",
	"copy_file_range",
	"dup",
	"dup2",
	"dup3",
	"faccessat",
	"faccessat2",
	"fchdir",
	"fchmod",
	"fcntl",
	"flock",
	"fstat",
	"fstatfs",
	"getdents64",
	"ioctl",
	"lseek",
	"mkdirat",
	"newfstatat",
	"openat",
	"openat2",
	"pread64",
	"read",
	"readlink",
	"readlinkat",
	"renameat",
	"renameat2",
	"stat",
	"statx",
	"unlinkat",
	"write",
	/* mounts, by descriptor */
	"fsconfig",
	"fsmount",
	"fsopen",
	"fspick",
	"mount_setattr",
	"move_mount",
	"open_tree",
	"setns",
	"umount2",
	/* privileges, only to give them up */
	"capget",
	"capset",
	"prctl",
	"seccomp",
	"setfsgid",
	"setfsuid",
	/* processes and memory */
	"brk",
	"clone",
	"clone3",
	"exit",
	"exit_group",
	"futex",
	"geteuid",
	"getpid",
	"gettid",
	"getuid",
	"kill",
	"madvise",
	"mmap",
	"mprotect",
	"mremap",
	"munmap",
	"pipe2",
	"poll",
	"ppoll",
	"restart_syscall",
	"rseq",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"set_robust_list",
	"tgkill",
	"wait4",
	"waitid",
	/* time */
	"clock_gettime",
	"clock_nanosleep",
	"getrandom",
	"gettimeofday",
	"nanosleep",
	"time",
};

enum hook_reason hook_confine_worker(struct err *err)
{
	/* SYS_ADMIN mounts; SYS_PTRACE opens /proc/PID/ns of an init that is not dumpable; the
	 * others are for the child in the container (hook_enter.c). */
	static const int caps[] = {CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_SYS_CHROOT,
				   CAP_SETUID,	  CAP_SETGID,	  CAP_DAC_READ_SEARCH};

	enum hook_reason reason = check_rootless(err);

	if (reason != HOOK_NONE)
		return reason;
	if (confine_caps(caps, ARRAY_LEN(caps), err) < 0 ||
	    confine_syscalls(calls, ARRAY_LEN(calls), err) < 0)
		return HOOK_ERR_PRIVILEGES;
	return HOOK_NONE;
}
