/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of events other than the processor's time: what was most allocated, or waited for,
 * by which method, and who held it; operations that stopped a JVM, by who asked for them. Pure. */
#ifndef DFG_CALLTREE_SUBJECTS_H
#define DFG_CALLTREE_SUBJECTS_H

#include "calltree/samples.h"
#include "calltree/subject.h"

#define SUBJECTS 5

struct subjects {
	enum event_kind event;
	uint64_t amount; /* of all */
	size_t count;
	struct subject list[SUBJECTS]; /* by amount; those with less than 1 % of it are left out */
};

/* The stacks end with a class, or have the holder of a lock of that class above it. Others count as
 * a part of the whole only. */
void subjects_make(const struct stacks *s, enum event_kind event, struct subjects *ret);

/* The subject of the stacks that end at a node. */
void subject_of(const struct stacks *s, enum event_kind event, uint32_t node, struct subject *ret);

/* Makes subjects of an untrusted process safe to use. */
void subjects_check(struct subjects *s);

#endif
