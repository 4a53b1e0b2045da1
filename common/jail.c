// SPDX-License-Identifier: Apache-2.0
#include "common/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common/child.h"
#include "common/confine.h"
#include "common/fs.h"
#include "common/str.h"

#define THREADS_MAX 1024 /* more processors are not counted (parallel_cpus) */

/* ASan and TSan reserve terabytes of addresses, and report on stderr. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

/* ---- the empty root, without network and IPC --------------------------------------------- */

static const struct {
	const char *name;
	int type;
} spaces[] = {{"mnt", CLONE_NEWNS}, {"net", CLONE_NEWNET}, {"ipc", CLONE_NEWIPC}};

/* Namespaces that all jails share. A jail takes 0.45 ms with them, 1.5 ms where it makes them
 * itself, medians of 300. */
static struct {
	bool made;
	int fds[ARRAY_LEN(spaces)]; /* -1: could not be made */
} empty = {.fds = {-1, -1, -1}};

/* Leaves only a file system without files, which cannot be written, in this mount namespace. */
static bool empty_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", "/proc", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
		     "size=4k,mode=0") == 0 &&
	       chdir("/proc") == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
	       umount2(".", MNT_DETACH) == 0;
}

/* Makes the namespaces, and waits until the parent has opened them. */
static int make_spaces(void *arg)
{
	const int *sock = arg;
	uint8_t made[ARRAY_LEN(spaces)] = {empty_mounts(), unshare(CLONE_NEWNET) == 0,
					   unshare(CLONE_NEWIPC) == 0};
	char c;

	close(sock[0]);
	if (fs_write_all(sock[1], made, sizeof(made), NULL) == 0)
		(void)!read(sock[1], &c, 1);
	return 0;
}

static void open_spaces(pid_t pid, const uint8_t made[static ARRAY_LEN(spaces)])
{
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, spaces[i].name);
		if (made[i])
			empty.fds[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
}

void jail_prepare(void)
{
	uint8_t made[ARRAY_LEN(spaces)];
	struct child maker;
	int sock[2];

	if (empty.made || geteuid() != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0)
		return;
	empty.made = true;
	if (child_fork(make_spaces, sock, &maker, NULL) == 0) {
		close(sock[1]);
		if (read(sock[0], made, sizeof(made)) == sizeof(made))
			open_spaces(maker.pid, made);
		child_stop(&maker);
	} else {
		close(sock[1]);
	}
	close(sock[0]);
}

void jail_close_files(const int *keep, size_t n)
{
	CLEANUP(free) int *all = xcalloc(n + ARRAY_LEN(spaces), sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = keep[i];
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		all[n + i] = empty.fds[i];
	confine_files(all, n + ARRAY_LEN(spaces));
}

static void enter_spaces(void)
{
	jail_prepare();
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		if (empty.fds[i] >= 0)
			(void)setns(empty.fds[i], spaces[i].type);
}

/* ---- descriptors ------------------------------------------------------------------------- */

static bool is_kept(const struct jail *j, int fd)
{
	for (size_t i = 0; i < j->keep_count; i++)
		if (j->keep[i] == fd)
			return true;
	return fd == child_reply_fd() || (UNDER_ASAN && fd == STDERR_FILENO);
}

/* Closes all others. Returns the highest one left, or -1. */
static int close_files(const struct jail *j, int null, struct err *err)
{
	CLEANUP(free) int *keep = xcalloc(j->keep_count + 4, sizeof(*keep));
	int highest = STDERR_FILENO;
	size_t n = 0;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (!is_kept(j, fd) && fd != null && dup2(null, fd) < 0)
			return err_set(err, errno, "replace a standard descriptor");
		keep[n++] = fd;
	}
	for (size_t i = 0; i < j->keep_count; i++)
		keep[n++] = j->keep[i];
	keep[n++] = child_reply_fd();
	confine_files(keep, n);
	for (size_t i = 0; i < n; i++)
		if (keep[i] > highest)
			highest = keep[i];
	return highest;
}

static void be_ended_first(void)
{
	CLEANUP(close_fd) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "1000", 4);
}

/* ---- limits ------------------------------------------------------------------------------ */

static int limit(int resource, uint64_t value, const char *what, struct err *err)
{
	struct rlimit r;

	if (getrlimit((__rlimit_resource_t)resource, &r) < 0)
		return err_set(err, errno, "limit %s", what);
	if (r.rlim_max > value) /* RLIM_INFINITY is the greatest */
		r.rlim_max = value;
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	if (setrlimit((__rlimit_resource_t)resource, &r) < 0)
		return err_set(err, errno, "limit %s", what);
	return 0;
}

static int set_limits(const struct jail *j, int highest, struct err *err)
{
	if (j->memory && !UNDER_ASAN && limit(RLIMIT_AS, j->memory, "memory", err) < 0)
		return -1;
	if (j->cpu_seconds && limit(RLIMIT_CPU, j->cpu_seconds, "processor time", err) < 0)
		return -1;
	/* A write beyond it fails with EFBIG, which is reported. */
	signal(SIGXFSZ, SIG_IGN);
	if (limit(RLIMIT_FSIZE, j->file_bytes, "file size", err) < 0 ||
	    limit(RLIMIT_CORE, 0, "core size", err) < 0)
		return -1;
	/* Counts the processes of the user id, which is this one's only where it was changed. */
	if (geteuid() == 0 &&
	    limit(RLIMIT_NPROC, j->role == JAIL_DRAW ? THREADS_MAX : 1, "threads", err) < 0)
		return -1;
	return j->role == JAIL_DRAW || j->role == JAIL_TABLES
		       ? 0
		       : limit(RLIMIT_NOFILE, (uint64_t)highest + 1, "descriptors", err);
}

/* ---- identity ---------------------------------------------------------------------------- */

static bool may_trace(void)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t on = CAP_CLEAR;

	if (caps)
		cap_get_flag(caps, CAP_SYS_PTRACE, CAP_PERMITTED, &on);
	cap_free(caps);
	return on == CAP_SET;
}

static int drop_identity(const struct jail *j, struct err *err)
{
	static const int trace[] = {CAP_SYS_PTRACE};
	size_t kept = j->role == JAIL_MEMORY && may_trace();
	pid_t parent = getppid();

	if (kept && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return err_set(err, errno, "keep a capability");
	if (geteuid() == 0 && confine_user(err) < 0)
		return -1;
	if (confine_caps(trace, kept, err) < 0 || confine_no_new_privs(err) < 0)
		return -1;
	/* The change of ids has cleared it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set(err, errno, "set the parent-death signal");
	return getppid() == parent ? 0 : err_set(err, ESRCH, "the parent has ended");
}

/* ---- system calls ------------------------------------------------------------------------ */

static int allow(scmp_filter_ctx ctx, const char *const *names, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);

		if (nr != __NR_SCMP_ERROR) /* known on this architecture */
			rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
	}
	return rc;
}

/* Allows a call where the lower half of its argument number `arg`, masked, has this value: the
 * upper half of an int's register is undefined. */
static int allow_if(scmp_filter_ctx ctx, int call, unsigned arg, uint32_t mask, uint32_t value)
{
	struct scmp_arg_cmp is = {
		.arg = arg, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};

	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call, 1, &is);
}

/* The path of newfstatat is in memory, which a filter cannot read: only the empty root keeps it
 * from other files than the descriptor's, with whose AT_EMPTY_PATH glibc (2.33 to 2.38) makes
 * fstat(3). */
static int allow_some(scmp_filter_ctx ctx)
{
	static const int commands[] = {F_GETFD, F_GETFL, F_DUPFD_CLOEXEC};
	int rc = allow_if(ctx, SCMP_SYS(tgkill), 0, UINT32_MAX, (uint32_t)getpid());

	if (rc == 0)
		rc = allow_if(ctx, SCMP_SYS(mmap), 2, PROT_EXEC, 0);
	if (rc == 0)
		rc = allow_if(ctx, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
	if (rc == 0)
		rc = allow_if(ctx, SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH);
	for (size_t i = 0; i < ARRAY_LEN(commands) && rc == 0; i++)
		rc = allow_if(ctx, SCMP_SYS(fcntl), 1, UINT32_MAX, (uint32_t)commands[i]);
	return rc;
}

/* Allows clone with the flags of pthread_create(3) only: no process, no namespace. The flags of
 * clone3 are in memory, too: with ENOSYS glibc uses clone
 * (sysdeps/unix/sysv/linux/clone-internal.c, 2.34 and later). */
static int allow_drawing(scmp_filter_ctx ctx)
{
	static const char *const calls[] = {"recvmsg", "recvfrom", "set_robust_list", "rseq",
					    "sched_getaffinity"};
	int rc = allow(ctx, calls, ARRAY_LEN(calls));

	if (rc == 0)
		rc = allow_if(ctx, SCMP_SYS(clone), 0, UINT32_MAX,
			      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND |
				      CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID |
				      CLONE_CHILD_CLEARTID);
	return rc ? rc : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int allow_reading(scmp_filter_ctx ctx, pid_t of)
{
	static const char *const calls[] = {"poll", "ppoll"};
	int rc = allow(ctx, calls, ARRAY_LEN(calls));

	if (rc == 0)
		rc = allow_if(ctx, SCMP_SYS(process_vm_readv), 0, UINT32_MAX, (uint32_t)of);
	/* By far the most frequent call: it is compared first. */
	return rc ? rc : seccomp_syscall_priority(ctx, SCMP_SYS(process_vm_readv), UINT8_MAX);
}

static int allow_building(scmp_filter_ctx ctx)
{
	static const char *const calls[] = {"poll", "ppoll", "recvmsg", "sendmsg"};

	return allow(ctx, calls, ARRAY_LEN(calls));
}

static int filter_calls(const struct jail *j, struct err *err)
{
	static const char *const calls[] = {
		"read",		"pread64",	  "readv",	  "write",     "pwrite64",
		"writev",	"lseek",	  "fstat",	  "munmap",    "mremap",
		"brk",		"madvise",	  "close",	  "exit",      "exit_group",
		"futex",	"clock_gettime",  "getpid",	  "gettid",    "getrandom",
		"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "ftruncate", "sigaltstack",
	};
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = ctx ? allow(ctx, calls, ARRAY_LEN(calls)) : -ENOMEM;

	if (rc == 0)
		rc = allow_some(ctx);
	if (rc == 0 && j->role == JAIL_DRAW)
		rc = allow_drawing(ctx);
	if (rc == 0 && j->role == JAIL_TABLES)
		rc = allow_building(ctx);
	if (rc == 0 && j->role == JAIL_MEMORY)
		rc = allow_reading(ctx, j->of);
	if (rc == 0)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc == 0 ? 0 : err_set(err, -rc, "load the system call filter");
}

int jail_enter(const struct jail *j, struct err *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), highest;

	if (null < 0)
		return err_set(err, errno, "open /dev/null");
	be_ended_first();
	enter_spaces();
	highest = close_files(j, null, err);
	if (highest < 0 || set_limits(j, highest, err) < 0 || drop_identity(j, err) < 0)
		return -1;
	return filter_calls(j, err);
}
