/* SPDX-License-Identifier: Apache-2.0 */
/* The payload, mounted once per image at <root>/payload/<key>: read-only in its superblock, so that
 * no container's mount of it can be made writable, whatever its capabilities. */
#ifndef HOOK_PAYLOAD_H
#define HOOK_PAYLOAD_H

#include "common/err.h"
#include "hook/store.h"

/* Mounts what `path` is: a squashfs or erofs image, through a loop device; or a directory with the
 * payload's files (copied into a tmpfs, which is then sealed). NULL: payload.squashfs beside this
 * program, or else in DFG_LIBEXECDIR. Where an image cannot be mounted (no loop device, no
 * squashfs), the directory "payload" beside it is used instead.
 * `key` becomes the name of the mount point, unique for the image's inode, size and time: an
 * upgraded payload gets a mount of its own, the old one stays for those that use it.
 * Returns a descriptor of the mount's root. */
MUST_CHECK int hook_payload_open(struct hook_store *s, const char *path, char key[static 32],
				 struct err *err);

/* Unmounts and removes all mounts of payloads but those that `keep` (may be NULL) wants. */
void hook_payload_release(struct hook_store *s, bool (*keep)(const char *key, void *arg),
			  void *arg);

#endif
