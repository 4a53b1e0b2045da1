/* SPDX-License-Identifier: Apache-2.0 */
/* The host side: the root directory, its locks, the directory of each container, and the clean-up
 * after containers that have ended. Results (graphs) are never removed.
 *
 * The root is bind-mounted onto itself, once, and made private: mounts below it do not propagate to
 * containers that have the host's /var as a slave, nor to other peers. */
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
#define HOOK_STORE_EMPTY                                                                           \
	{                                                                                          \
		.root = -1, .containers = -1, .lock = -1                                           \
	}

/* Creates missing directories. Holds the shared lock until hook_store_unlock or hook_store_close.
 */
MUST_CHECK int hook_store_open(const char *root, struct hook_store *ret, struct err *err);
void hook_store_close(struct hook_store *s);

/* Converts the lock to exclusive or back. In between, others may have held it. */
MUST_CHECK int hook_store_lock(struct hook_store *s, bool exclusive, struct err *err);

/* Gives the lock up for good. Whoever holds the lock of a container keeps its directory, and the
 * payload that its state.json names, without it. */
void hook_store_unlock(struct hook_store *s);

/* Unmounts the root from itself, if it is bound onto itself. Needs the exclusive lock. */
void hook_store_unbind(struct hook_store *s);

/* Opens containers/<id>, mode 0700. Without `create`, ENOENT if it is missing. */
MUST_CHECK int hook_store_open_container(const struct hook_store *s, const char *id, bool create,
					 struct err *err);

/* Locks containers/<id>/lock; closing the returned descriptor unlocks it. Without `wait`,
 * EWOULDBLOCK if another process holds it. */
MUST_CHECK int hook_store_lock_container(int dirfd, bool wait, struct err *err);

/* True if a container that has not ended has this payload. */
bool hook_store_uses_payload(const struct hook_store *s, const char *key);

/* poststop: removes the container's mounts, and its directory unless it has graphs; then marks its
 * state.json as ended. An unknown id is no error. */
MUST_CHECK int hook_store_end_container(const struct hook_store *s, const char *id,
					struct err *err);

struct hook_sweep {
	unsigned removed; /* containers that had ended */
	unsigned running; /* or locked by another process */
};

/* Ends every container whose process has ended. */
void hook_store_sweep(const struct hook_store *s, struct hook_sweep *ret);

static inline void cleanup_hook_store_close(struct hook_store *s)
{
	hook_store_close(s);
}

#endif
