/* SPDX-License-Identifier: Apache-2.0 */
/* The host side: the root directory, its locks, and the directory of each container.
 *
 * The root is bound onto itself, once, and made private: mounts made below it are not passed on to
 * containers that have the host's /var as a slave, nor to whatever else listens. */
#ifndef HOOK_STORE_H
#define HOOK_STORE_H

#include <stdbool.h>

#include "common/err.h"

struct hook_store {
	char path[256];
	int root;	/* descriptors */
	int containers; /* <root>/containers */
	int lock;	/* flock: shared by every hook, exclusive to change the base mounts */
};

/* Makes what is missing. Holds the shared lock until hook_store_close. */
MUST_CHECK int hook_store_open(const char *root, struct hook_store *ret, struct err *err);
void hook_store_close(struct hook_store *s);

/* Turns the lock into an exclusive one, or back. In between, others may have held it. */
MUST_CHECK int hook_store_lock(struct hook_store *s, bool exclusive, struct err *err);

/* Unmounts the root from itself, if it is bound onto itself. Needs the exclusive lock. */
void hook_store_unbind(struct hook_store *s);

/* containers/<id>, mode 0700. Returns a descriptor; -1 with ENOENT when missing and not to be made.
 */
MUST_CHECK int hook_store_container(const struct hook_store *s, const char *id, bool create,
				    struct err *err);

/* Takes containers/<id>/lock; closing the returned descriptor gives it back. With `wait` false, a
 * lock that is held is EWOULDBLOCK. */
MUST_CHECK int hook_store_container_lock(int dirfd, bool wait, struct err *err);

static inline void cleanup_hook_store_close(struct hook_store *s)
{
	hook_store_close(s);
}
#define HOOK_STORE_EMPTY                                                                           \
	{                                                                                          \
		.root = -1, .containers = -1, .lock = -1                                           \
	}

#endif
