/* SPDX-License-Identifier: Apache-2.0 */
/* Which methods are inlined where in a compiled method (code/debugInfoRec.cpp, code/scopeDesc.cpp).
 *
 * A PcDesc says where in the scopes' data the scope of a piece of code is described: the place of
 * its sender's description (0: it has none), its method as an index from 1 into the metadata, and
 * its bci + 1. A sender is always described before what it has inlined. */
#ifndef HS_SCOPE_H
#define HS_SCOPE_H

#include "dfg/snapshot.h"
#include "hotspot/tables.h"

#define HS_SCOPES_MAX  8192u
#define HS_REGIONS_MAX 32768u
#define HS_SCOPE_SLOTS (4 * HS_SCOPES_MAX)

/* What a compiled method says about itself, in this process' memory. */
struct hs_debug {
	const uint8_t *pcs;
	uint32_t pc_count;
	const uint8_t *data;
	uint32_t data_len;
	const uint8_t *metadata; /* pointers, not aligned */
	uint32_t metadata_count;
	const uint8_t *code; /* NULL: not at hand */
	uint32_t code_size;
	uint8_t base; /* of hs_stream */
};

struct hs_scopes {
	uint32_t scope_count, region_count;
	uint32_t places, plain; /* that were described, and of these as between safepoints */
	struct snap_scope scope[HS_SCOPES_MAX];
	struct snap_region region[HS_REGIONS_MAX];
	/* Two hash tables in one, by place and by content; an entry of another round is empty. Of
	 * the slots only as many are in use as the method can fill: what is near is in the cache.
	 */
	uint32_t round, shift;
	struct {
		uint32_t round, place, scope;
	} slot[HS_SCOPE_SLOTS];
};

/* Once, before the first use. */
void hs_scopes_init(struct hs_scopes *s);

/* Fills scope and region: ascending ends, neighbours with one scope joined unless the first ends
 * behind a call (that end is a return address), lines looked up. False:
 * what is there does not hold together, or is too much; the counts are 0 then. */
bool hs_scopes_read(struct hs *hs, struct hs_scopes *s, const struct hs_debug *debug);

#endif
