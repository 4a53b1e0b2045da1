/* SPDX-License-Identifier: Apache-2.0 */
/* Merges inputs to one profile. */
#ifndef DFG_REPORT_MERGE_H
#define DFG_REPORT_MERGE_H

#include <stdbool.h>

#include "calltree/samples.h"
#include "report/sandbox.h"

/* Frames below a stack's first function. */
enum roots {
	ROOT_NONE = 0,
	ROOT_CONTAINER = 1,
	ROOT_THREAD = 2, /* above the container, if both are set */
};

/* Parses "container,thread", "container", "thread" or "none". */
MUST_CHECK int roots_parse(const char *list, unsigned *ret, struct err *err);

struct gathered {
	struct profile profile;
	/* The stacks with the roots of the options; NULL: those of the profile have them. */
	struct stacks *rooted;
	uint64_t skipped; /* lines of text that could not be read */
};

/* Reads the next n inputs, in the sandbox. With details, the profile keeps places and samples, and
 * its own stacks begin with the thread. *ret must be released after a failure, too. */
MUST_CHECK int gather(struct reading *r, size_t n, unsigned roots, bool details,
		      struct gathered *ret, struct err *err);
void gathered_fini(struct gathered *g);

#endif
