/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a call tree is to be seen, and in which order. Pure. */
#ifndef DFG_TOP_LENS_H
#define DFG_TOP_LENS_H

#include <stdbool.h>

#include "calltree/calltree.h"

enum lens_order {
	ORDER_SELF,
	ORDER_TOTAL,
};

struct lens {
	enum lens_order order;
	const char *thread; /* only stacks of this one; NULL: of all */
	const char *filter; /* only what has this in its name, whatever the case; "", NULL: all */
};

bool lens_has_thread(const struct lens *lens, const char *name);
bool lens_has_name(const struct lens *lens, const char *name);

/* The stacks that are to be seen: those of the thread with a frame that the filter lets pass.
 * Without places. */
struct stacks *lens_stacks(const struct stacks *s, const struct lens *lens);

#endif
