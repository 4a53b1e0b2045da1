// SPDX-License-Identifier: Apache-2.0
#include "injector/ids.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int drop_capabilities(struct err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	/* A JVM of root leaves the ids as they are, and with them the capabilities. */
	if (syscall(SYS_capset, &head, none) < 0)
		return err_set(err, errno, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(err, errno, "give up new privileges");
	return 0;
}

int ids_take(uid_t uid, gid_t gid, struct err *err)
{
	bool same = geteuid() == uid && getegid() == gid;

	/* A user of a container may have no right to do this; then its groups are the container's.
	 */
	if (setgroups(0, NULL) < 0 && !same)
		return err_set(err, errno, "it belongs to user %u (this is user %u)", (unsigned)uid,
			       (unsigned)geteuid());
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return err_set(err, errno, "take the ids %u:%u of the JVM", (unsigned)uid,
			       (unsigned)gid);
	return drop_capabilities(err);
}
