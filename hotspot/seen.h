/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of methods: those a snapshot has met, and those that earlier snapshots have written. */
#ifndef HS_SEEN_H
#define HS_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define HS_METHODS_SLOTS (1u << 17)
#define HS_METHODS_MAX	 (HS_METHODS_SLOTS / 4 * 3)

#define HS_METHODS_LEFT UINT32_MAX

enum hs_method_state {
	HS_METHOD_MET = 0,
	HS_METHOD_WRITTEN = 1,
	HS_METHOD_NAMELESS = 2, /* its memory is invalid */
};

struct hs_methods {
	uint32_t count;
	uint32_t order[HS_METHODS_MAX];	 /* slots in the order of insertion, mostly neighbours in
					  * memory; HS_METHODS_LEFT: skipped */
	uint64_t slot[HS_METHODS_SLOTS]; /* address, the state in the lowest bits; 0: empty */
};

void hs_methods_init(struct hs_methods *m);

/* Finds or adds the slot of a Method*. NULL: the set is full, or this cannot be an address. */
uint64_t *hs_methods_add(struct hs_methods *m, uint64_t method);

static inline enum hs_method_state hs_method_state(uint64_t slot)
{
	return (enum hs_method_state)(slot & 3);
}

#define HS_WRITTEN_SLOTS (1u << 16)
#define HS_WRITTEN_MAX	 (HS_WRITTEN_SLOTS / 4 * 3) /* further ones are written each time */

/* Fingerprints of methods; 0 is never in the set. The set begins small, and grows: a table of
 * `size` slots is at slot[size], below the one of twice its size. */
struct hs_written {
	uint32_t count, size; /* size 0: nothing was added yet */
	uint64_t slot[2 * HS_WRITTEN_SLOTS];
};

void hs_written_add(struct hs_written *w, uint64_t fingerprint);
bool hs_written_has(const struct hs_written *w, uint64_t fingerprint);
void hs_written_reset(struct hs_written *w);

#endif
