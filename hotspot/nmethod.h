/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled method's own description (code/nmethod.hpp): where its frame, its scopes and its
 * handlers are. Up to JDK 22 all of it is in the blob, from 23 on the scopes are on the C heap, and
 * from 25 on the metadata too. */
#ifndef HS_NMETHOD_H
#define HS_NMETHOD_H

#include "hotspot/blob.h"
#include "hotspot/scope.h"

#define HS_IMMUTABLE_MAX (1u << 20)
#define HS_METADATA_MAX	 8192u

/* Where what is not in the blob is read to. */
struct hs_nmethod_room {
	uint8_t immutable[HS_IMMUTABLE_MAX];
	uint8_t metadata[8 * HS_METADATA_MAX];
};

/* Fills deopt, deopt_mh, orig_pc, level and compile_id of ret. */
void hs_nmethod_numbers(struct hs *hs, const struct hs_blob *blob, struct snap_code *ret);

/* The offset of the entry behind the check of the receiver's class; 0 where it is not known. */
uint32_t hs_nmethod_entry(struct hs *hs, const struct hs_blob *blob);

/* Finds the scopes; `code_size` and `base` are the caller's. What is found points into the window
 * or into room, and lives until either is read into again. False: they cannot be read whole. A
 * method without any has pc_count 0. */
bool hs_nmethod_debug(struct hs *hs, const struct hs_blob *blob, struct hs_nmethod_room *room,
		      struct hs_debug *ret);

#endif
