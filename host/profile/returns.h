/* SPDX-License-Identifier: Apache-2.0 */
/* What the snapshots of a JVM say of the addresses that its stacks hold, kept by address: a
 * recording asks for the same ones again and again. */
#ifndef DFG_RETURNS_H
#define DFG_RETURNS_H

#include "snapfile.h"

/* Of one address, for one span of snapshots. */
struct returns_answer {
	uint64_t addr;
	struct snapfile_span span;
	/* The code in front of it, if a return address belongs to the call in front of it; first
	 * what can return there. */
	const struct snapfile_code *codes[SNAPFILE_AROUND];
	uint8_t count, returns; /* of codes, and of those that can return there */
	bool frozen;		/* where thawed frames of a virtual thread return to */
	bool known;		/* by the caller: what stands above has been found out */
};

struct returns;

struct returns *returns_new(void);
void returns_free(struct returns *r);

/* From here on for these snapshots. Answers for others hold where the one code that they found is
 * there in all of these, too: there are never two at an address. */
void returns_at(struct returns *r, struct snapfile_span span);

/* The answer to be read or, where it is not known, to be written; valid until the next call. Memory
 * is bounded: all are forgotten when there are too many. */
struct returns_answer *returns_slot(struct returns *r, uint64_t addr);

static inline void cleanup_returns_free(struct returns **r)
{
	returns_free(*r);
}

#endif
