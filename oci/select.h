/* SPDX-License-Identifier: Apache-2.0 */
/* Which containers get the mounts: dfg.conf and the container's annotations decide. Pure. */
#ifndef HOOK_SELECT_H
#define HOOK_SELECT_H

#include <jansson.h>
#include <stdbool.h>

#include "common/err.h"
#include "hook/reason.h"
#include "oci/conf.h"

/* `notes`: the container's annotations, or NULL. They come from whoever made the container, so they
 * may only narrow. `asked`: the hook came by a way that somebody chose for this container, which is
 * as good as the annotation "true". HOOK_NONE, or HOOK_SKIP_OPTOUT with the reason in err. */
enum hook_reason hook_select(const struct hook_conf *conf, bool asked, const json_t *notes,
			     struct err *err);

#endif
