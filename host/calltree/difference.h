/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles as one call tree: what each stack had before and what it has after. Counts are
 * compared as shares of their side's total, so that recordings of different length can be. */
#ifndef DFG_CALLTREE_DIFFERENCE_H
#define DFG_CALLTREE_DIFFERENCE_H

#include "calltree/calltree.h"
#include "calltree/samples.h"
#include "common/err.h"

struct difference_side {
	uint64_t *self;	 /* samples that end at a node, by node */
	uint64_t *total; /* and below it */
	uint64_t samples;
};

/* Stacks that only one side has are in the tree, too. The tree's own counts are the sums of both,
 * its children are sorted; it keeps no places. */
struct difference {
	struct stacks *tree;
	struct difference_side before, after;
};

/* What is compared: a node, a method, samples by themselves or with all they call. */
struct counts {
	uint64_t before, after;
};

/* A frame wherever it stands; recursion counts once. */
struct difference_method {
	uint32_t frame; /* of the tree */
	struct counts self, total;
};

/* Frames are the same by their names and by what folded text knows of their kinds. With `kinds`,
 * methods that are compiled here and inlined or interpreted there are different frames, and names
 * are taken as they are, as in folded text; without, a Java method is one frame (FRAME_JAVA), since
 * what the JVM's compiler decides differs from run to run, and so do addresses in the names of
 * lambdas; and from JDK to JDK, how a thread gets to its first Java method (GRAFT_METHODS). */
void difference_make(struct difference *ret, const struct stacks *before,
		     const struct stacks *after, bool kinds);
void difference_fini(struct difference *d);

/* Share after - share before, -1 to 1. A side without samples has shares of 0. */
double difference_change(const struct difference *d, struct counts c);

/* How many standard errors the change is from none: the z-score of the two-proportion test with
 * pooled variance. It takes samples for independent, which those of one thread are not quite.
 * 0 where it is not defined. */
double difference_z(const struct difference *d, struct counts c);

/* Whether chance makes such a change in less than 1 of 100 nodes that did not change. */
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

/* What is written beside. Texts are clean (str.h). */
struct difference_picture {
	const char *before, *after; /* "web: 30.0 s at 99 Hz" */
	struct quality before_quality, after_quality;
	bool normalize; /* folded text: counts before are scaled to the samples after */
};

/* Interactive SVG: a frame's width is the mean of its shares before and after, so that what is new
 * and what vanished is seen; red grew, blue shrank, grey may be chance. */
MUST_CHECK int draw_difference_svg(const struct difference *d, const struct difference_picture *p,
				   int fd, struct err *err);

/* One page that needs nothing else, with the same widths and colours. */
MUST_CHECK int draw_difference_page(const struct difference *d, const struct difference_picture *p,
				    int fd, struct err *err);

/* "frame;frame before after": what FlameGraph's difffolded.pl writes. */
MUST_CHECK int draw_difference_folded(const struct difference *d,
				      const struct difference_picture *p, int fd, struct err *err);

/* All frames but threads: those first whose own share changed significantly, the greatest change
 * first, then the others in the same way. Owned by the caller. */
struct difference_method *difference_methods(const struct difference *d, size_t *ret_count);

#endif
