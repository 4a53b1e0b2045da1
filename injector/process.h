/* SPDX-License-Identifier: Apache-2.0 */
/* Who the process is, and whether it may be signalled. */
#ifndef INJECTOR_TARGET_H
#define INJECTOR_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/proc.h"
#include "injector/attach.h"

#define ATTACH_DISABLED_TEXT "it was started with -XX:+DisableAttachMechanism"
#define ATTACH_NO_TMP_TEXT   "its /tmp, where its socket must be, takes no file"

struct target {
	pid_t pid;
	int procfd; /* both are tied to the one process, whatever becomes of its pid */
	int pidfd;
	int rootfd; /* its root directory, O_PATH */
	int cwdfd;  /* its working directory, O_PATH; -1 when it cannot be opened */
	int tmpfd;  /* its /tmp, O_PATH */
	struct proc_status st;
	bool attach_disabled; /* its options say so */
};

#define TARGET_NONE                                                                                \
	{                                                                                          \
		.procfd = -1, .pidfd = -1, .rootfd = -1, .cwdfd = -1, .tmpfd = -1                  \
	}

/* Opens procfd and pidfd and reads the status. */
MUST_CHECK enum attach_result target_find(struct target *t, pid_t pid, struct err *err);

/* Looks at what only its own user and root may see: that it is a HotSpot JVM, its options, root and
 * working directory. A JVM that is only just starting is given until `deadline` (clock_ms) or half
 * a second. err->code is EACCES or EPERM where the caller may not look; it may try again with other
 * ids. */
MUST_CHECK enum attach_result target_look(struct target *t, uint64_t deadline, struct err *err);

/* Opens its /tmp, inside its root. */
MUST_CHECK enum attach_result target_open_tmp(struct target *t, struct err *err);

/* ATTACH_OK when SIGQUIT is safe at this moment: it is caught, the process runs, nobody traces it
 * and no freezer holds it. Refreshes t->st. */
MUST_CHECK enum attach_result target_check(struct target *t, struct err *err);

MUST_CHECK enum attach_result target_signal(const struct target *t, int sig, struct err *err);

/* Started within the last ten seconds, or so recently that it cannot be told. */
bool target_is_young(const struct target *t);

bool target_is_alive(const struct target *t);

/* Whether a HotSpot JVM's library is mapped: 1, 0, or -1 with err. Where maps may not be read, a
 * process named "java" counts as one. */
int target_is_jvm(int procfd, struct err *err);

void target_fini(struct target *t);
static inline void cleanup_target_fini(struct target *t)
{
	target_fini(t);
}

#endif
