/* SPDX-License-Identifier: Apache-2.0 */
/* Which methods the snapshots so far have named, so that a list of all names only the others. */
#ifndef HS_NAMED_H
#define HS_NAMED_H

#include <stdbool.h>
#include <stdint.h>

#define HS_NAMED_SLOTS (1u << 16)
#define HS_NAMED_MAX   (HS_NAMED_SLOTS / 4 * 3) /* what is over is named each time */

struct hs_named {
	uint32_t count;
	uint64_t slot[HS_NAMED_SLOTS]; /* prints (hs_name.h); 0: empty */
};

/* A print of 0 is never in it. */
void hs_named_add(struct hs_named *n, uint64_t print);
bool hs_named_has(const struct hs_named *n, uint64_t print);
void hs_named_forget(struct hs_named *n);

#endif
