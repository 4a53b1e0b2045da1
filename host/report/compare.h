/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the difference of two inputs, and computes the cost of each method on both sides. */
#ifndef DFG_REPORT_COMPARE_H
#define DFG_REPORT_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree/difference.h"
#include "common/err.h"
#include "common/outdir.h"
#include "report/formats.h"
#include "report/load.h"

struct compare_options {
	struct format_set formats;
	unsigned roots; /* merge.h; of pictures */
	bool kinds;	/* compiled, inlined and interpreted methods are different frames */
	bool normalize; /* counts in folded text */
	const struct outdir *outdir;
};

struct compare_change {
	double change, z;
	bool significant;
};

/* Samples, and their change by each measure. */
struct compare_cost {
	struct counts counts;
	struct compare_change by[MEASURES];
};

struct compare_row {
	char method[320]; /* sanitised, cut if longer */
	struct compare_cost self, total;
	/* By measure: index + 1 of the row of the callee that the change of its total comes from;
	 * 0: none alone. */
	uint32_t via[MEASURES];
};

struct compare_side {
	struct quality quality;
	uint64_t samples; /* or bytes, or ns: the event's unit */
	double worth;	  /* samples that tell as much (profile_worth) */
	double busy;	  /* samples of a processor that is busy all the time; 0: not known */
	uint64_t events[EVENT_KINDS]; /* of JFR recordings */
};

struct compare_result {
	struct compare_side before, after;
	uint64_t cut, skipped; /* of both, as in render.h */
	struct compare_cost whole;
	struct compare_row *rows; /* all methods, callers mostly first */
	size_t row_count;
};

/* Takes exactly two inputs; files are written as by render. The rows do not depend on the roots,
 * but for ROOT_FULL. *ret is released by compare_fini. */
MUST_CHECK int compare(const struct inputs *in, const struct compare_options *o,
		       struct compare_result *ret, struct err *err);
void compare_fini(struct compare_result *r);

static inline void cleanup_compare_fini(struct compare_result *r)
{
	compare_fini(r);
}

/* True if rates of both sides are known: both are sessions. */
static inline bool compare_has_rates(const struct compare_result *r)
{
	return r->before.busy > 0 && r->after.busy > 0;
}

/* Returns a count as share of its side, 0 to 1, or in processors. 0 if not known. */
double compare_value(const struct compare_side *side, uint64_t count, enum measure_kind measure);

#endif
