/* SPDX-License-Identifier: Apache-2.0 */
/* A set of numbers below a bound that is known before, in their order: every step takes the same
 * few operations, whatever is in it. */
#ifndef DFG_JIT_ORDSET_H
#define DFG_JIT_ORDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDSET_LEVELS 6 /* 2^36 numbers */
#define ORDSET_NONE   SIZE_MAX

struct ordset {
	/* A bit for each number; above it, a bit for each word that is not 0. */
	uint64_t *level[ORDSET_LEVELS];
	unsigned levels;
	size_t bound;
};

/* Empty, of numbers below `bound`. */
void ordset_init(struct ordset *s, size_t bound);
void ordset_fini(struct ordset *s);

void ordset_add(struct ordset *s, size_t n);
void ordset_remove(struct ordset *s, size_t n);

/* The smallest number that is n or more, and the largest below n; ORDSET_NONE: there is none. */
size_t ordset_next(const struct ordset *s, size_t n);
size_t ordset_before(const struct ordset *s, size_t n);

static inline void cleanup_ordset_fini(struct ordset *s)
{
	ordset_fini(s);
}

#endif
