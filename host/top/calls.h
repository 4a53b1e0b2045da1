/* SPDX-License-Identifier: Apache-2.0 */
/* Callers and callees of a method in a call tree, as trees. Pure. */
#ifndef DFG_TOP_CALLS_H
#define DFG_TOP_CALLS_H

#include "calltree/view.h"

/* One line of such a tree, in preorder; siblings with most samples first. */
struct call {
	unsigned depth; /* 0: calls the method, or is called by it */
	const char *name;
	enum frame_kind kind;
	uint64_t samples;
};

/* Each sample with the method counts once: of a recursive one, the outermost call; calls of itself
 * are among its callees. */
struct calls {
	uint64_t total;
	struct call *callers, *callees;
	size_t caller_count, callee_count;
	struct stacks *trees[2]; /* own the names */
};

/* `kind` as in struct row. Omits lines with less than 1/`least` of the method's samples. */
void calls_make(const struct stacks *s, const struct lens *lens, const char *name,
		enum frame_kind kind, unsigned least, struct calls *ret);
void calls_fini(struct calls *c);

static inline void cleanup_calls_fini(struct calls *c)
{
	calls_fini(c);
}

#endif
