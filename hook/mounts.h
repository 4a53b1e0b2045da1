/* SPDX-License-Identifier: Apache-2.0 */
/* The only file with mount calls: descriptor to descriptor, never by path. Attributes are those of
 * mount_setattr(2); MOUNT_ATTR_NOSYMFOLLOW needs Linux 5.14. */
#ifndef HOOK_MNT_H
#define HOOK_MNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct hook_tmpfs {
	const char *name; /* shown as the source */
	uint64_t bytes;
	unsigned inodes;
	mode_t mode;
	uid_t uid; /* of the root directory, as the host sees it */
	gid_t gid;
	const char *label; /* SELinux context of everything in it, or NULL */
};

/* Both return a mount that is not attached anywhere and vanishes when the descriptor is closed. */
MUST_CHECK int hook_mnt_tmpfs(const struct hook_tmpfs *t, uint64_t attrs, struct err *err);
MUST_CHECK int hook_mnt_image(const char *fstype, const char *device, uint64_t attrs,
			      struct err *err);

/* Makes the superblock read-only: unlike a read-only mount, it stays so for whoever clones it. */
MUST_CHECK int hook_mnt_seal(int mnt, struct err *err);

/* Another mount of the same tree, not attached. The kernel wants the original to be attached in the
 * caller's mount namespace (until Linux 6.15). */
MUST_CHECK int hook_mnt_clone(int dirfd, struct err *err);

MUST_CHECK int hook_mnt_set(int mnt, uint64_t attrs, struct err *err);

/* MS_PRIVATE, MS_SLAVE: who hears of mounts made below it. */
MUST_CHECK int hook_mnt_propagation(int mnt, uint64_t propagation, struct err *err);

/* Attaches it on top of the directory. */
MUST_CHECK int hook_mnt_attach(int mnt, int dirfd, struct err *err);

/* Lazily unmounts what is at dirfd/name; no mount there is fine. Changes the working directory. */
int hook_mnt_detach(int dirfd, const char *name);

/* Whether the directory is the root of a mount. */
bool hook_mnt_is_root(int dirfd);

#endif
