/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the container's mount namespace: runs in a child of its own and never comes back. */
#ifndef HOOK_ENTER_H
#define HOOK_ENTER_H

#include "hook/container.h"

/* File systems of the host that a container may have on its /dev by a bind mount. */
struct hook_host {
	dev_t devs[8];
	unsigned count;
};

/* In the host's namespace, before the child is made. */
void hook_enter_prepare(struct hook_host *ret);

/* See hook_target_mount. Gives up capabilities and system calls on its way, for good. */
enum hook_reason hook_enter(const struct hook_target *t, const char *path,
			    const struct hook_mounts *mounts, const struct hook_host *host,
			    struct err *err);

#endif
