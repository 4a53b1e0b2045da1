// SPDX-License-Identifier: Apache-2.0
#include "common/confine.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define NOBODY 65534

int confine_caps(const int *caps, size_t n, struct err *err)
{
	cap_t set = cap_init();
	cap_value_t keep[64];
	int rc = 0;

	if (!set)
		return err_set(err, errno, "capabilities");
	/* The bounding set needs SETPCAP; without it, an earlier call has emptied the set. */
	for (int cap = 0, bound; cap < 64 && (bound = cap_get_bound(cap)) >= 0; cap++)
		if (bound)
			(void)cap_drop_bound(cap);
	(void)cap_reset_ambient();
	for (size_t i = 0; i < n && i < ARRAY_LEN(keep); i++)
		keep[i] = caps[i];
	if (n && (cap_set_flag(set, CAP_PERMITTED, (int)n, keep, CAP_SET) < 0 ||
		  cap_set_flag(set, CAP_EFFECTIVE, (int)n, keep, CAP_SET) < 0))
		rc = err_set(err, errno, "capabilities");
	if (rc == 0 && cap_set_proc(set) < 0)
		rc = err_set(err, errno, "set capabilities");
	cap_free(set);
	return rc;
}

int confine_no_new_privs(struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(err, errno, "disable new privileges");
	return 0;
}

int confine_ids(uid_t uid, gid_t gid, struct err *err)
{
	if (setgroups(0, NULL) < 0)
		return err_set(err, errno, "drop supplementary groups");
	if (setresgid(gid, gid, gid) < 0)
		return err_set(err, errno, "become group %u", (unsigned)gid);
	if (setresuid(uid, uid, uid) < 0)
		return err_set(err, errno, "become user %u", (unsigned)uid);
	return 0;
}

/* Allows clone with the flags of pthread_create(3) only: no process, no namespace. The flags of
 * clone3 are in memory, which a filter cannot read: with ENOSYS glibc uses clone
 * (sysdeps/unix/sysv/linux/clone-internal.c, 2.34 and later). */
static int allow_threads(scmp_filter_ctx ctx)
{
	static const int also[] = {SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
				   SCMP_SYS(sched_getaffinity)};
	struct scmp_arg_cmp flags = {.arg = 0,
				     .op = SCMP_CMP_EQ,
				     .datum_a = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM |
						CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
						CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID};
	int rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, &flags);

	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	for (size_t i = 0; i < ARRAY_LEN(also) && rc == 0; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, also[i], 0);
	return rc;
}

/* of: the process whose memory the caller may read, or 0. */
static int load_filter(const char *const *names, size_t n, bool threads, pid_t of, struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && rc == 0; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);

		if (nr != __NR_SCMP_ERROR)
			rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
	}
	if (rc == 0 && threads)
		rc = allow_threads(ctx);
	if (rc == 0 && of) {
		/* A pid_t: the upper half of the register is undefined. */
		struct scmp_arg_cmp is_of = {.arg = 0,
					     .op = SCMP_CMP_MASKED_EQ,
					     .datum_a = UINT32_MAX,
					     .datum_b = (scmp_datum_t)of};

		rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(process_vm_readv), 1,
					    &is_of);
		/* By far the most frequent call: it is compared first. */
		if (rc == 0)
			rc = seccomp_syscall_priority(ctx, SCMP_SYS(process_vm_readv), UINT8_MAX);
	}
	if (rc == 0)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc == 0 ? 0 : err_set(err, -rc, "load the system call filter");
}

int confine_syscalls(const char *const *names, size_t n, struct err *err)
{
	return load_filter(names, n, false, 0, err);
}

static int limit(int resource, uint64_t value, const char *what, struct err *err)
{
	struct rlimit r;

	if (getrlimit((__rlimit_resource_t)resource, &r) < 0)
		return err_set(err, errno, "limit %s", what);
	if (r.rlim_max == RLIM_INFINITY || r.rlim_max > value)
		r.rlim_max = value;
	r.rlim_cur = r.rlim_max;
	if (setrlimit((__rlimit_resource_t)resource, &r) < 0)
		return err_set(err, errno, "limit %s", what);
	return 0;
}

/* ASan reserves terabytes of addresses. */
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

static bool may_trace(void)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t on = CAP_CLEAR;

	if (caps)
		cap_get_flag(caps, CAP_SYS_PTRACE, CAP_PERMITTED, &on);
	cap_free(caps);
	return on == CAP_SET;
}

static int become_reader(uint64_t memory, unsigned cpu_seconds, pid_t of, struct err *err)
{
	static const char *const calls[] = {
		"read",	      "pread64",      "readv",		"write",	"pwrite64",
		"writev",     "lseek",	      "_llseek",	"fstat",	"newfstatat",
		"fstat64",    "mmap",	      "mmap2",		"munmap",	"mremap",
		"brk",	      "madvise",      "mprotect",	"close",	"exit",
		"exit_group", "futex",	      "clock_gettime",	"getpid",	"gettid",
		"tgkill",     "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
		"getrandom",  "fcntl",	      "ftruncate",	"recvmsg",	"recvfrom",
		"poll",	      "ppoll",
	};
	static const int trace[] = {CAP_SYS_PTRACE};
	size_t kept = of && may_trace();

	if (memory && !UNDER_ASAN && limit(RLIMIT_AS, memory, "memory", err) < 0)
		return -1;
	if (cpu_seconds && limit(RLIMIT_CPU, cpu_seconds, "processor time", err) < 0)
		return -1;
	if (limit(RLIMIT_CORE, 0, "core size", err) < 0)
		return -1;
	if (kept && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return err_set(err, errno, "keep a capability");
	if (geteuid() == 0 && confine_ids(NOBODY, NOBODY, err) < 0)
		return -1;
	if (confine_caps(trace, kept, err) < 0 || confine_no_new_privs(err) < 0)
		return -1;
	/* The change of ids has cleared it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set(err, errno, "set the parent-death signal");
	return load_filter(calls, ARRAY_LEN(calls), !of, of, err);
}

int confine_reader(uint64_t memory, unsigned cpu_seconds, struct err *err)
{
	return become_reader(memory, cpu_seconds, 0, err);
}

int confine_reader_of(pid_t pid, uint64_t memory, struct err *err)
{
	return become_reader(memory, 0, pid, err);
}

void confine_files(const int *keep, size_t n)
{
	/* Closes from each kept descriptor to the next above it. */
	for (unsigned from = 0, next;; from = next + 1) {
		next = UINT_MAX;
		for (size_t i = 0; i < n; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next > from)
			(void)syscall(SYS_close_range, from, next - (next != UINT_MAX), 0);
		if (next == UINT_MAX)
			return;
	}
}
