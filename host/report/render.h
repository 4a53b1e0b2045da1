/* SPDX-License-Identifier: Apache-2.0 */
/* Draws all inputs together as one profile. */
#ifndef DFG_REPORT_RENDER_H
#define DFG_REPORT_RENDER_H

#include <stdint.h>

#include "calltree/calltree.h"
#include "calltree/compilations.h"
#include "calltree/pauses.h"
#include "calltree/subjects.h"
#include "calltree/verdict.h"
#include "calltree/wall.h"
#include "common/err.h"
#include "common/outdir.h"
#include "report/formats.h"
#include "report/load.h"

/* Returned by the sandbox; texts are sanitised. */
struct render_result {
	struct quality quality;
	struct verdict verdict;
	struct pauses pauses;
	struct compilation_list compilations;
	struct wall_list wall;
	struct subjects subjects; /* of events other than the processor's time */
	struct session_cpu cpu;	  /* of one session; used: by its samples if not known otherwise */
	uint64_t cut;		  /* bytes of damaged recordings that were left out */
	uint64_t skipped;	  /* lines of text that could not be read */
	uint64_t nameless_files;  /* files with more symbols than are read */
	uint64_t events[EVENT_KINDS]; /* of JFR recordings */
	char leaf[512];		      /* frame with most self samples; "": no samples */
	uint64_t leaf_self;
	char path[2048]; /* the stack with most samples, "a;b;c", cut in the middle if long */
	uint64_t path_self;
};

/* Draws each format into its file of `outdir`; files are replaced when they are complete. `roots`
 * (merge.h) apply to formats without details; the others show threads and containers in their own
 * way. */
MUST_CHECK int render(const struct inputs *in, unsigned roots, const struct format_set *formats,
		      const struct outdir *outdir, struct render_result *ret, struct err *err);

/* Reads the inputs likewise, and has `write` write their call tree, with threads as roots and with
 * all details, to `fd`. Does not search for the hottest frame and path. */
MUST_CHECK int render_tree(const struct inputs *in,
			   int (*write)(const struct stacks *s, int fd, struct err *err), int fd,
			   struct render_result *ret, struct err *err);

#endif
