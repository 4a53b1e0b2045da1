/* SPDX-License-Identifier: Apache-2.0 */
/* The payload, mounted once per image at <root>/payload/<key>: read-only in its superblock, so that
 * no container can make its mount writable, whatever its capabilities. */
#ifndef HOOK_PAYLOAD_H
#define HOOK_PAYLOAD_H

#include "common/err.h"
#include "hook/store.h"

/* Mounts `path`: a squashfs or erofs image, through a loop device; or a directory with the
 * payload's files, copied into a tmpfs, which is then made read-only. NULL: payload.squashfs beside
 * this program, else in DFG_LIBEXECDIR. If an image cannot be mounted (no loop device, no
 * squashfs), uses the directory "payload" beside it. `key` becomes the name of the mount point,
 * unique for the image's inode, size and time: an upgraded payload gets its own mount, the old one
 * stays for its users. Returns a descriptor of the mount's root. */
MUST_CHECK int hook_payload_open(struct hook_store *s, const char *path, char key[static 32],
				 struct err *err);

/* Unmounts and removes all payload mounts that no container uses. */
void hook_payload_release(const struct hook_store *s);

#endif
