/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a call tree into rectangles. Uses integers only, so that a picture is the same on every
 * machine. */
#ifndef DFG_FORMAT_LAYOUT_H
#define DFG_FORMAT_LAYOUT_H

#include "calltree/calltree.h"

struct layout_box {
	uint32_t node;
	uint32_t depth; /* in rows; 0: the root of all */
	uint64_t start; /* left edge, in samples */
	uint64_t samples;
};

/* Boxes in preorder: a box is followed by its subtree. Children stand side by side from their
 * parent's left edge, in the tree's order; the rest at the right is the parent's own time. */
struct layout {
	struct layout_box *boxes;
	size_t count;
	size_t cap;
	uint64_t total;
	uint32_t rows; /* deepest box + 1; 0 without samples */
};

/* Leaves out boxes narrower than 1/narrowest of the whole, with their subtrees; their samples still
 * count in their parents. narrowest 0: keeps all boxes. */
void layout_make(struct layout *l, const struct stacks *s, uint64_t narrowest);

/* The same with given widths instead of the tree's: by node, of the node and its subtree. */
void layout_of(struct layout *l, const struct stacks *s, const uint64_t *totals,
	       uint64_t narrowest);
void layout_fini(struct layout *l);

static inline void cleanup_layout_fini(struct layout *l)
{
	layout_fini(l);
}

/* value * mul / div without overflow of the product; div is not 0, value <= div. */
static inline uint64_t layout_scale(uint64_t value, uint32_t mul, uint64_t div)
{
	uint64_t product;

	if (!__builtin_mul_overflow(value, (uint64_t)mul, &product))
		return product / div;
	return (uint64_t)((unsigned __int128)value * mul / div);
}

#endif
