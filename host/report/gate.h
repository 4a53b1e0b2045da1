/* SPDX-License-Identifier: Apache-2.0 */
/* Limits for a comparison, for a script or CI to stop at: dfg-diff --fail-on. */
#ifndef DFG_REPORT_GATE_H
#define DFG_REPORT_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "report/compare.h"

#define GATE_LIMITS 64
#define GATE_WHOLE  "whole"

/* "+2%", "-2%", "2%" (either way), or one of them after a name: "app.Shop.pay:+2%", where a last
 * '*' stands for any rest, and "whole" is the whole profile. */
struct gate_limit {
	const char *text; /* borrowed */
	char method[320]; /* as that of a row; "": any, and the whole */
	bool any_rest;	  /* the name is a prefix */
	bool more, less;  /* changes that it is for */
	double percent;	  /* of the cost of the whole before */
};

struct gate {
	struct gate_limit limits[GATE_LIMITS];
	size_t count;
	enum measure_kind measure;
};

MUST_CHECK int gate_add(struct gate *g, const char *text, struct err *err);

/* Fails if a limit is for the whole, whose share of samples does not change. */
MUST_CHECK int gate_check_measure(const struct gate *g, struct err *err);

/* Fails if rates are measured, and an input has no duration. */
MUST_CHECK int gate_check_inputs(const struct gate *g, const struct inputs *in, struct err *err);

/* Fails if there are limits, and a side has no samples. */
MUST_CHECK int gate_check_samples(const struct gate *g, const struct inputs *in,
				  const struct compare_result *r, struct err *err);

/* Returns the least number of samples on each side with which a change of this limit can be told
 * from chance, or 0 if the sides have them. */
unsigned long long gate_samples_needed(const struct gate_limit *l, const struct compare_result *r);

/* Returns a change in percent of the cost of the whole before. */
double gate_percent(const struct gate *g, const struct compare_result *r,
		    const struct compare_cost *c);

/* True if the cost, with callees, of a row changed significantly and by more than the limit.
 * row NULL: the whole. */
bool gate_exceeds(const struct gate *g, const struct gate_limit *l, const struct compare_result *r,
		  const struct compare_row *row);

/* True if anything exceeds any limit. */
bool gate_fails(const struct gate *g, const struct compare_result *r);

#endif
