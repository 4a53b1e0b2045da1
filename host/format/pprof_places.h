/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a call tree -> locations of pprof. A location is what one address stands for: a compiled
 * method and, on top of it, those inlined there. */
#ifndef DFG_FORMAT_PPROF_PLACES_H
#define DFG_FORMAT_PPROF_PLACES_H

#include "calltree/calltree.h"

struct pprof_place {
	uint32_t location; /* node of `locations`; 0: the node is a thread's name */
	uint32_t caller;   /* node of the tree below the location */
};

struct pprof_places {
	struct pprof_place *nodes; /* by node of the tree */
	/* Each node is one location; the path to it: its frames (of the tree), outermost first. */
	struct stacks *locations;
};

void pprof_places_make(struct pprof_places *p, const struct stacks *s);
void pprof_places_fini(struct pprof_places *p);

#endif
