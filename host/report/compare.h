/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the difference of two inputs and finds the methods that changed most. */
#ifndef DFG_REPORT_COMPARE_H
#define DFG_REPORT_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree/difference.h"
#include "common/err.h"
#include "common/outdir.h"
#include "report/formats.h"
#include "report/load.h"

#define COMPARE_ROWS 100

struct compare_options {
	struct format_set formats;
	unsigned roots; /* merge.h */
	bool kinds;	/* compiled, inlined and interpreted methods are different frames */
	bool normalize; /* counts in folded text */
	unsigned rows;	/* at most, COMPARE_ROWS */
	const struct outdir *outdir;
};

struct compare_change {
	struct counts counts;
	double change, z;
	bool significant;
};

struct compare_row {
	char method[320]; /* sanitised, cut if longer */
	struct compare_change self, total;
};

struct compare_result {
	struct quality before, after;
	uint64_t cut, skipped; /* of both, as in render.h */
	uint64_t before_samples, after_samples;
	uint64_t before_events[EVENT_KINDS], after_events[EVENT_KINDS]; /* of JFR recordings */
	uint64_t methods;						/* in all */
	unsigned row_count;
	struct compare_row rows[COMPARE_ROWS]; /* the greatest change first */
};

/* Takes exactly two inputs; files are written as by render. */
MUST_CHECK int compare(const struct inputs *in, const struct compare_options *o,
		       struct compare_result *ret, struct err *err);

/* Print the summary on stdout: text, or JSON (docs/formats.md). */
void compare_print(const struct inputs *in, const struct compare_options *o,
		   const struct compare_result *r);
void compare_json(const struct inputs *in, const struct compare_options *o,
		  const struct compare_result *r);

#endif
