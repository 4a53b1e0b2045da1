/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled methods (code/nmethod.hpp): frame, handlers, and which methods are inlined where
 * (code/debugInfoRec.cpp, code/scopeDesc.cpp).
 *
 * A PcDesc gives the position in the scopes data where the scope of a piece of code is described:
 * the position of its sender (0: none), its method as an index from 1 into the metadata, and its
 * bci + 1. A sender is always described before the scopes inlined into it. Up to JDK 22 all of this
 * is in the blob; from 23 on the scopes are on the C heap, from 25 on the metadata too. */
#ifndef HS_NMETHOD_H
#define HS_NMETHOD_H

#include "dfg/snapshot.h"
#include "hotspot/code_heap.h"

#define HS_IMMUTABLE_MAX (1u << 20)
#define HS_METADATA_MAX	 8192u
#define HS_SCOPES_MAX	 8192u
#define HS_REGIONS_MAX	 32768u
#define HS_SCOPE_SLOTS	 (4 * HS_SCOPES_MAX)

/* The debug information of a compiled method, in this process' memory. */
struct hs_debug {
	const uint8_t *pcs;
	uint32_t pc_count;
	const uint8_t *data;
	uint32_t data_len;
	const uint8_t *metadata; /* pointers, not aligned */
	uint32_t metadata_count;
	const uint8_t *code; /* NULL: not available */
	uint32_t code_size;
	uint8_t base; /* of hs_stream */
};

struct hs_scopes {
	uint32_t scope_count, region_count;
	uint32_t places, plain; /* described places; of these, as between safepoints */
	struct snap_scope scope[HS_SCOPES_MAX];
	struct snap_region region[HS_REGIONS_MAX];
	/* Two hash tables in one, by place and by content; an entry of another round is empty. A
	 * method uses only as many slots as it can fill. */
	uint32_t round, shift;
	struct {
		uint32_t round, place, scope;
	} slot[HS_SCOPE_SLOTS];
};

void hs_scopes_init(struct hs_scopes *s);

/* Fills scope and region: ascending ends, neighbours of one scope joined unless the first ends
 * after a call (that end is a return address). False: the data is invalid or too large; the counts
 * are 0 then. */
bool hs_scopes_read(struct hs *hs, struct hs_scopes *s, const struct hs_debug *debug);

/* Adds a region that ends at `end`, with the scope of the one that has the code at `like`. False:
 * no region has one of them, it is the same scope anyway, or there are too many. */
bool hs_scopes_split(struct hs_scopes *s, uint32_t end, uint32_t like);

/* Holds debug information that is not in the blob. */
struct hs_debug_buffer {
	uint8_t immutable[HS_IMMUTABLE_MAX];
	uint8_t metadata[8 * HS_METADATA_MAX];
};

/* Sets deopt, deopt_mh, orig_pc, level and compile_id of ret. */
void hs_nmethod_numbers(struct hs *hs, const struct hs_blob *blob, struct snap_code *ret);

/* Returns the offset of the entry after the check of the receiver's class; 0: unknown. */
uint32_t hs_nmethod_entry(struct hs *hs, const struct hs_blob *blob);

/* Finds the scopes; the caller sets code_size and base. The result points into the window or the
 * buffer and is valid until either is overwritten. False: they cannot be read completely. A method
 * without scopes has pc_count 0. */
bool hs_debug_read(struct hs *hs, const struct hs_blob *blob, struct hs_debug_buffer *buffer,
		   struct hs_debug *ret);

#endif
