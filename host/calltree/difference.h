/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles as one call tree with the samples of each stack before and after. Counts are
 * compared as shares or as rates, so that recordings may differ in length. */
#ifndef DFG_CALLTREE_DIFFERENCE_H
#define DFG_CALLTREE_DIFFERENCE_H

#include "calltree/calltree.h"
#include "calltree/samples.h"
#include "common/err.h"

struct difference_side {
	uint64_t *self;	 /* samples that end at a node, by node */
	uint64_t *total; /* samples of a node and all below it */
	uint64_t samples;
	uint32_t *nodes; /* by node of this side's stacks: the node of the tree */
};

/* Samples of a node or a method, by itself or with its callees. */
struct counts {
	uint64_t before, after;
};

/* The ways to compare counts. Shares of a side's samples say nothing of sides that both became
 * slower; processor seconds per second of recording do. */
enum measure_kind { MEASURE_SHARE, MEASURE_RATE, MEASURES };

struct measure {
	enum measure_kind kind;
	/* Counts are divided by these: a side's samples, or the samples of a processor that is busy
	 * all the time. 0: not known. */
	double before, after;
	/* Samples that tell as much as one of a side's counts: 1, less of bytes (profile_worth).
	 * Above 0. */
	double before_worth, after_worth;
	/* A significant change has at least this |z|, by the procedure of Benjamini and Hochberg
	 * for all methods: of the changes that are called significant, 1 in 100 is expected to be
	 * chance; where nothing changed, 99 of 100 comparisons call none significant. */
	double least_z;
};

#define DIFFERENCE_Z 2.576 /* the smallest least_z: 1 in 100, for a single test */

struct difference_cost {
	struct counts counts;
	/* By measure: the factor by which the standard error is greater than that of independent
	 * samples, at least 1. */
	double spread[MEASURES];
};

/* A frame at all its places in the tree; recursion counts once. */
struct difference_method {
	uint32_t frame; /* of the tree */
	struct difference_cost self, total;
	/* By measure: index + 1 of the method that has DIFFERENCE_PASSED or more of the change of
	 * its total where this one calls it; 0: none. */
	uint32_t via[MEASURES];
};

#define DIFFERENCE_PASSED 0.8

/* Stacks that only one side has are in the tree, too. The tree's own counts are the sums of both
 * sides, its children are sorted; it keeps no places. */
struct difference {
	struct stacks *tree;
	struct difference_side before, after;
	struct difference_method *methods; /* all frames but threads, callers mostly first */
	size_t method_count;
	double spread[MEASURES]; /* of the whole */
	unsigned freedom;	 /* degrees of freedom of spreads; 0: all are 1 */
	double *frame_spread;	 /* by frame: of the share of its total; NULL: all are 1 */
	struct measure by[MEASURES];
};

/* With `kinds`, frames are the same if folded text has the same for them (GRAFT_TEXT): a method
 * that is compiled on one side and inlined or interpreted on the other gives different frames.
 * Without, a Java method is one frame (GRAFT_METHODS), since the decisions of the JVM's compiler
 * and the addresses in the names of lambdas differ from run to run. */
void difference_make(struct difference *ret, const struct stacks *before,
		     const struct stacks *after, bool kinds);
void difference_fini(struct difference *d);

/* Adds what is known of each side beside its stacks, and chooses the least z anew: its samples (of
 * the stacks given to difference_make), how many a processor that was busy all the time would have
 * (0: not known), and how many tell as much as its counts (profile_worth; 0: each count is one). */
struct difference_time {
	const struct samples *samples; /* NULL: none */
	double busy, worth;
};
void difference_add_time(struct difference *d, const struct difference_time *before,
			 const struct difference_time *after);

/* Cuts each side's samples into blocks of equal time, and sets the spreads of all methods and of
 * the whole from how much counts vary between them (batch means): samples of one thread in one long
 * call, of a collection or of a phase of the program come together, and vary more from run to run
 * than independent ones. Without samples (NULL), or times of them, a side counts as independent:
 * events of JFR that count bytes or time have a worth only.
 * For difference_add_time. */
#define DIFFERENCE_BLOCKS 20
void difference_find_spread(struct difference *d, const struct samples *before,
			    const struct samples *after);

/* Returns the value after - the value before: of shares -1 to 1, of rates in processors. A side
 * whose divisor is not known has 0. */
double measure_change(const struct measure *m, struct counts c);

/* Returns the change in standard errors of independent samples, by the variance of both sides
 * together: a two-proportion test of shares, a test of two Poisson rates. Counts are taken for as
 * many samples as they are worth. 0 where it is not defined. */
double measure_z(const struct measure *m, struct counts c);

/* Returns the same for a method with its spread, as the z of the same probability. */
double difference_cost_z(const struct difference *d, const struct difference_cost *c,
			 enum measure_kind kind);

/* True if |z| is at least the least one, and there are samples enough to judge. */
bool difference_cost_is_significant(const struct difference *d, const struct difference_cost *c,
				    enum measure_kind kind);

/* Takes over what another difference of the same profiles, with other roots, has found: what counts
 * are worth, the spreads of frames, and the least z of shares. Frames that it does not have (pools,
 * containers, the start of threads) get the spread of the callee that has most of them. */
void difference_copy_spread(struct difference *to, const struct difference *from);

/* True if the share of a node, with all below it, changed significantly, with the spread of its
 * frame. */
bool difference_node_is_significant(const struct difference *d, uint32_t node);

/* The same for shares, without a spread. */
double difference_change(const struct difference *d, struct counts c);
double difference_z(const struct difference *d, struct counts c);
bool difference_is_significant(const struct difference *d, struct counts c);

static inline struct counts difference_self(const struct difference *d, uint32_t node)
{
	return (struct counts){d->before.self[node], d->after.self[node]};
}

static inline struct counts difference_total(const struct difference *d, uint32_t node)
{
	return (struct counts){d->before.total[node], d->after.total[node]};
}

#endif
