/* SPDX-License-Identifier: Apache-2.0 */
/* What the snapshots of a JVM say of the addresses that its stacks hold, kept by address: a
 * recording asks for the same ones again and again. */
#ifndef DFG_UNWIND_RETURN_CACHE_H
#define DFG_UNWIND_RETURN_CACHE_H

#include "jit/code_history.h"

/* Of one address, for one span of snapshots. As long as a line of the cache: what a step asks of
 * most return addresses stands here, so that it need not look into the code's record. */
struct returns_answer {
	_Alignas(64) uint64_t addr;
	struct snapfile_span span;
	/* The code in front of it, if a return address belongs to the call in front of it; first
	 * what can return there. */
	const struct snapfile_code *codes[SNAPFILE_AROUND];
	uint8_t count, returns; /* of codes, and of those that can return there */
	bool frozen;		/* where thawed frames of a virtual thread return to */
	bool known;		/* by the caller: what stands here has been found out */
	/* Bytes of the frame that is returned to, where that is certain: it is compiled, and there
	 * is nothing else that it may be. 0: it is not. */
	uint32_t frame;
};

_Static_assert(sizeof(struct returns_answer) == 64, "a line of the cache");

/* Open addressing; an address of 0 is never asked for: its slot is free. */
struct returns {
	struct snapfile_span span;
	struct returns_answer *slots;
	struct returns_answer *last; /* the slot given last: a step asks the same again; or NULL */
	size_t count, size;	     /* size: a power of two */
};

struct returns *returns_new(void);
void returns_free(struct returns *r);

/* From here on for these snapshots. Answers for others hold where the one code that they found is
 * there in all of these, too: there are never two at an address. */
void returns_at(struct returns *r, struct snapfile_span span);

/* The answer to be read or, where it is not known, to be written; valid until the next call. Memory
 * is bounded: all are forgotten when there are too many. */
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
