/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles as one call tree with the samples of each stack before and after. Counts are
 * compared as shares of their side's total, so that recordings may differ in length. */
#ifndef DFG_CALLTREE_DIFFERENCE_H
#define DFG_CALLTREE_DIFFERENCE_H

#include "calltree/calltree.h"
#include "calltree/samples.h"
#include "common/err.h"

struct difference_side {
	uint64_t *self;	 /* samples that end at a node, by node */
	uint64_t *total; /* samples of a node and all below it */
	uint64_t samples;
	double worth; /* samples that tell as much (profile_worth); 0: all */
};

/* Stacks that only one side has are in the tree, too. The tree's own counts are the sums of both
 * sides, its children are sorted; it keeps no places. */
struct difference {
	struct stacks *tree;
	struct difference_side before, after;
};

/* Samples of a node or a method, by itself or with its callees. */
struct counts {
	uint64_t before, after;
};

/* A frame at all its places in the tree; recursion counts once. */
struct difference_method {
	uint32_t frame; /* of the tree */
	struct counts self, total;
};

/* With `kinds`, frames are the same if folded text has the same for them (GRAFT_TEXT): a method
 * that is compiled on one side and inlined or interpreted on the other gives different frames.
 * Without, a Java method is one frame (GRAFT_METHODS), since the decisions of the JVM's compiler
 * and the addresses in the names of lambdas differ from run to run. */
void difference_make(struct difference *ret, const struct stacks *before,
		     const struct stacks *after, bool kinds);
void difference_fini(struct difference *d);

/* Returns share after - share before, -1 to 1. A side without samples has shares of 0. */
double difference_change(const struct difference *d, struct counts c);

/* Returns how many samples one of the side's counts is worth: 1, less of bytes. */
double difference_worth(const struct difference_side *side);

/* Returns the z-score of the two-proportion test with pooled variance: the change in standard
 * errors. The test assumes independent samples, which those of one thread are not quite. 0 where it
 * is not defined. */
double difference_z(const struct difference *d, struct counts c);

/* True if chance makes such a change in less than 1 of 100 nodes that did not change. */
#define DIFFERENCE_Z 2.576
bool difference_is_significant(const struct difference *d, struct counts c);

static inline struct counts difference_self(const struct difference *d, uint32_t node)
{
	return (struct counts){d->before.self[node], d->after.self[node]};
}

static inline struct counts difference_total(const struct difference *d, uint32_t node)
{
	return (struct counts){d->before.total[node], d->after.total[node]};
}

/* Returns all frames but threads: first those whose own share changed significantly, the greatest
 * change first, then the others in the same order. Owned by the caller. */
struct difference_method *difference_methods(const struct difference *d, size_t *ret_count);

#endif
