/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to a method and on from it, of a call tree: its callers and callees, as trees. Pure. */
#ifndef DFG_TOP_CALLS_H
#define DFG_TOP_CALLS_H

#include "top/view.h"

/* One line of such a tree, in preorder, those with most samples first. */
struct call {
	unsigned depth; /* 0: calls the method, or is called by it */
	const char *name;
	enum frame_kind kind;
	uint64_t samples;
};

/* Samples with the method, each once: of a recursive one, the outermost call counts, and the calls
 * of itself are among its callees. */
struct calls {
	uint64_t total;
	struct call *callers, *callees;
	size_t caller_count, callee_count;
	struct stacks *trees[2]; /* own the names */
};

/* `kind` as in struct row. Lines with less than 1/`least` of the method's samples are left out. */
void calls_make(const struct stacks *s, const struct lens *lens, const char *name,
		enum frame_kind kind, unsigned least, struct calls *ret);
void calls_fini(struct calls *c);

static inline void cleanup_calls_fini(struct calls *c)
{
	calls_fini(c);
}

#endif
