/* SPDX-License-Identifier: Apache-2.0 */
/* The longest pauses of a recording's JVMs. Pure. */
#ifndef DFG_CALLTREE_PAUSES_H
#define DFG_CALLTREE_PAUSES_H

#include <stddef.h>
#include <stdint.h>

#include "calltree/subject.h"

#define PAUSES_MAX   50
#define PAUSES_LEAST 1000000u /* ns: shorter ones are not listed */

struct pause {
	uint64_t begin;			  /* ns since the recording began */
	uint64_t stopping, all;		  /* ns until all threads had stopped, and in all */
	uint64_t heap_before, heap_after; /* bytes used, around a collection; both 0: not known */
	struct subject subject;		  /* its amount is not used */
};

struct pauses {
	uint64_t count; /* of at least PAUSES_LEAST */
	size_t listed;
	struct pause list[PAUSES_MAX]; /* by `all`, the longest first */
};

void pauses_add(struct pauses *p, const struct pause *new);
void pauses_merge(struct pauses *to, const struct pauses *from);

/* Makes pauses of an untrusted process safe to use. */
void pauses_check(struct pauses *p);

#endif
