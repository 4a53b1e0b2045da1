/* SPDX-License-Identifier: Apache-2.0 */
/* Cache of what the snapshots of a JVM have at return addresses, by address: the stacks of a
 * recording hold the same ones again and again. */
#ifndef DFG_UNWIND_RETURN_CACHE_H
#define DFG_UNWIND_RETURN_CACHE_H

#include "common/table.h"
#include "jit/code_history.h"

/* Entry for one address and one span of snapshots: all that a step needs for most return addresses,
 * without reading the code's record. */
struct returns_answer {
	_Alignas(64) uint64_t addr;
	struct snapfile_span span;
	/* The codes before it, since a return address belongs to the call before it; first those
	 * that can return there. */
	const struct snapfile_code *codes[SNAPFILE_AROUND];
	uint8_t count, returns; /* of codes, and of those that can return there */
	bool frozen;		/* where thawed frames of a virtual thread return to */
	bool known;		/* set by the caller: the entry is filled in */
	/* Size of the frame that is returned to if it is certain: compiled, and the only candidate.
	 * 0: not certain. */
	uint32_t frame;
	uint32_t names; /* of the code at the byte before it: for the caller's use; 0: none yet */
};

_Static_assert(sizeof(struct returns_answer) == 64, "a line of the cache");

struct returns {
	struct snapfile_span span;
	struct returns_answer *answers;
	struct returns_answer *last; /* the previous result, which a step requests again; or NULL */
	size_t count;
	struct hash_table by_addr; /* of answers */
};

struct returns *returns_new(void);
void returns_free(struct returns *r);

/* Sets the snapshots of the following calls. Entries of others stay valid if their one code is in
 * all of these, too: there are never two codes at an address. */
void returns_at(struct returns *r, struct snapfile_span span);

/* Returns the entry, to be filled in by the caller unless `known`; valid until the next call.
 * Memory is bounded: the cache is emptied when it is full. */
struct returns_answer *returns_search(struct returns *r, uint64_t addr);

static inline struct returns_answer *returns_slot(struct returns *r, uint64_t addr)
{
	return r->last && r->last->addr == addr ? r->last : returns_search(r, addr);
}

static inline void cleanup_returns_free(struct returns **r)
{
	returns_free(*r);
}

#endif
