/* SPDX-License-Identifier: Apache-2.0 */
/* A container's own two file systems, as the host sees them: containers/<id>/out and ctl. */
#ifndef HOOK_SHARE_H
#define HOOK_SHARE_H

#include "common/err.h"
#include "hook/container.h"
#include "oci/conf.h"

/* Mounts both below the container's directory `dir` and fills ret->out and ret->ctl with clones for
 * the container. On failure nothing stays mounted. `label`: SELinux context, or NULL. */
MUST_CHECK int hook_share_make(int dir, const struct conf *conf, const struct hook_target *t,
			       const char *label, struct hook_mounts *ret, struct err *err);

/* Unmounts both and removes their mount points. What is open stays usable. */
void hook_share_remove(int dir);

#endif
