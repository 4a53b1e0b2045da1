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
	ROOT_POOL = 4,	 /* instead of the thread: its pool (calltree/thread_root.h) */
	ROOT_FULL = 8,	 /* keeps the frames that start a thread; else they are one frame */
};

/* Parses "container,pool", "container,thread", "container", "pool", "thread" or "none". Keeps
 * ROOT_FULL of *ret. */
MUST_CHECK int roots_parse(const char *list, unsigned *ret, struct err *err);

/* Returns how formats with details show threads (struct picture). */
const char *roots_threads(unsigned roots);

struct gathered {
	struct profile profile;
	/* The stacks with the roots of the options; NULL: those of the profile have them. Set only
	 * with details: without, the stacks of the profile are changed. */
	struct stacks *rooted;
	uint64_t skipped; /* lines of text that could not be read */
};

/* Reads the next n inputs, in the sandbox. With details, the profile keeps places and samples, and
 * its own stacks begin with the thread. *ret must be released after a failure, too. */
MUST_CHECK int gather(struct reading *r, size_t n, unsigned roots, bool details,
		      struct gathered *ret, struct err *err);
void gathered_fini(struct gathered *g);

#endif
