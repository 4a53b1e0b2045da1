/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs -> pictures of all of them together. */
#ifndef DFG_REPORT_RENDER_H
#define DFG_REPORT_RENDER_H

#include <stdint.h>

#include "calltree/calltree.h"
#include "common/err.h"
#include "report/formats.h"
#include "report/load.h"

/* What the child says of the profile; texts are clean. */
struct render_result {
	struct quality quality;
	uint64_t cut;	  /* bytes of a damaged recording left out */
	uint64_t skipped; /* lines of text that could not be read */
	char leaf[512];	  /* the frame with most samples of its own, "" without samples */
	uint64_t leaf_self;
	char path[2048]; /* the stack with most samples, "a;b;c", cut in the middle if long */
	uint64_t path_self;
};

/* Draws into `outdir` (made if need be), each format under its own name, replaced only when it is
 * whole. roots (gather.h) are those of formats without details, which show them themselves. */
MUST_CHECK int render(const struct inputs *in, unsigned roots, const struct format_set *formats,
		      const char *outdir, struct render_result *ret, struct err *err);

/* Reads the inputs likewise, and has `write` write their call tree, with threads as roots and with
 * all details, to `fd`. Does not search for the hottest frame and path. */
MUST_CHECK int render_tree(const struct inputs *in,
			   int (*write)(const struct stacks *s, int fd, struct err *err), int fd,
			   struct render_result *ret, struct err *err);

#endif
