/* SPDX-License-Identifier: Apache-2.0 */
/* Interval tree: which of many codes occupied an address at a given time. Takes memory in
 * proportion to their number and, for any input, a time per search that grows with the square of
 * its logarithm. */
#ifndef DFG_JIT_INTERVAL_TREE_H
#define DFG_JIT_INTERVAL_TREE_H

#include <stddef.h>
#include <stdint.h>

/* Occupies [start, end) from time `first` to before `gone`: neither is empty. */
struct life {
	uint64_t start, end;
	uint32_t first, gone;
	uint32_t number; /* the caller's */
};

struct lifetree_node;

struct lifetree {
	struct life *lives;
	struct lifetree_node *nodes;
	size_t count;
	uint64_t start, end; /* bounds of all lives */
};

/* Builds the tree of n lives, no two of which overlap in both address and time. Takes over the
 * array. */
void lifetree_build(struct lifetree *t, struct life *lives, size_t n);
void lifetree_fini(struct lifetree *t);

/* Finds the numbers of the lives at the address at any time from `first` to `last`: at most
 * last - first + 1, which `ret` must have room for. Returns how many. */
size_t lifetree_find(const struct lifetree *t, uint64_t addr, uint32_t first, uint32_t last,
		     uint32_t *ret);

#endif
