/* SPDX-License-Identifier: Apache-2.0 */
/* Taking away what ended containers left on the host. Results (graphs) always survive. */
#ifndef HOOK_SWEEP_H
#define HOOK_SWEEP_H

#include <stdbool.h>

#include "common/err.h"
#include "hook/record.h"
#include "hook/store.h"

/* Whether the container of this record still runs: same boot, same process. */
bool hook_sweep_alive(const struct hook_past *past);

/* poststop: the container's mounts go; its directory too, unless it has graphs, when its state.json
 * is marked as ended. An unknown id is fine. */
MUST_CHECK int hook_sweep_container(const struct hook_store *s, const char *id, struct err *err);

struct hook_sweep {
	unsigned swept; /* directories of ended containers */
	unsigned alive;
};

/* Every container that has ended, unless somebody holds its lock. */
void hook_sweep_gc(const struct hook_store *s, struct hook_sweep *ret);

/* gc; then unmounts the payloads that no running container uses, and, when there is none, the root
 * itself. Containers that run keep what they have. */
MUST_CHECK int hook_sweep_release(struct hook_store *s, struct hook_sweep *ret, struct err *err);

#endif
