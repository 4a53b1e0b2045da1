/* SPDX-License-Identifier: Apache-2.0 */
/* The only file with mount calls: from descriptor to descriptor, never by path. Attributes are
 * those of mount_setattr(2); MOUNT_ATTR_NOSYMFOLLOW needs Linux 5.14. */
#ifndef HOOK_MOUNTS_H
#define HOOK_MOUNTS_H

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
	const char *label; /* SELinux context of all its files, or NULL */
};

/* Both return a detached mount, which vanishes when the descriptor is closed. */
MUST_CHECK int hook_mnt_tmpfs(const struct hook_tmpfs *t, uint64_t attrs, struct err *err);
MUST_CHECK int hook_mnt_image(const char *fstype, const char *device, uint64_t attrs,
			      struct err *err);

/* Makes the superblock read-only: unlike a read-only mount, it stays so in every clone. */
MUST_CHECK int hook_mnt_seal(int mnt, struct err *err);

/* Returns another mount of the same tree, detached. The kernel requires the original to be attached
 * in the caller's mount namespace (until Linux 6.15). */
MUST_CHECK int hook_mnt_clone(int dirfd, struct err *err);

MUST_CHECK int hook_mnt_set(int mnt, uint64_t attrs, struct err *err);

/* Sets the propagation type: MS_PRIVATE, MS_SLAVE. */
MUST_CHECK int hook_mnt_propagation(int mnt, uint64_t propagation, struct err *err);

/* Attaches it on top of the directory. */
MUST_CHECK int hook_mnt_attach(int mnt, int dirfd, struct err *err);

/* Lazily unmounts dirfd/name; no mount there is no error. Changes the working directory. */
int hook_mnt_detach(int dirfd, const char *name);

/* 1 if the directory is the root of a mount, 0 if not; -1 and errno: unknown. */
int hook_mnt_is_root(int dirfd);

/* Detached mounts for the container, each a descriptor. */
struct hook_mounts {
	int out, ctl, payload;
};

/* Mounts the container's two own file systems on the host's side, `dir`/out and `dir`/ctl, and sets
 * ret->out and ret->ctl to clones for the container. `out` needs its limits, owner and label; the
 * rest is set here. On failure nothing stays mounted. */
MUST_CHECK int hook_share_mount(int dir, const struct hook_tmpfs *out, struct hook_mounts *ret,
				struct err *err);

/* Unmounts both and removes their mount points. Open files stay usable. */
void hook_share_remove(int dir);

#endif
