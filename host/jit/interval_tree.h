/* SPDX-License-Identifier: Apache-2.0 */
/* What lies at an address at a time, of many things that each take a range of addresses for a
 * while. Takes memory in proportion to their number, and for a search a time that grows with the
 * square of its logarithm, whatever they are. */
#ifndef DFG_JIT_INTERVAL_TREE_H
#define DFG_JIT_INTERVAL_TREE_H

#include <stddef.h>
#include <stdint.h>

/* At [start, end) from time `first` up to, and without, `gone`: neither is empty. */
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
	uint64_t start, end; /* nothing ever lies outside of it */
};

/* Of n lives, no two of which are at an address at the same time. Takes over the array. */
void lifetree_build(struct lifetree *t, struct life *lives, size_t n);
void lifetree_fini(struct lifetree *t);

/* The lives that are at the address at any time from `first` to `last`: their numbers, at most
 * last - first + 1, so many the caller has room for. Returns how many. */
size_t lifetree_find(const struct lifetree *t, uint64_t addr, uint32_t first, uint32_t last,
		     uint32_t *ret);

#endif
