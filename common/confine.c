// SPDX-License-Identifier: Apache-2.0
#include "common/confine.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <seccomp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NOBODY	   65534
#define FIRST_USER 2100000000u

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

int confine_user(struct err *err)
{
	uid_t id = FIRST_USER + (uid_t)getpid();
	struct err why;

	if (confine_ids(id, id, &why) == 0)
		return 0;
	if (why.code == EINVAL) /* a user namespace lacks it */
		return confine_ids(NOBODY, NOBODY, err);
	if (err)
		*err = why;
	return -1;
}

int confine_syscalls(const char *const *names, size_t n, struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && rc == 0; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);

		if (nr != __NR_SCMP_ERROR)
			rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
	}
	if (rc == 0)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc == 0 ? 0 : err_set(err, -rc, "load the system call filter");
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
