/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of events other than the processor's time: what was most allocated, or waited for, by
 * which method, and who held it; operations that stopped a JVM, by who asked for them. Pure. */
#ifndef DFG_CALLTREE_SUBJECTS_H
#define DFG_CALLTREE_SUBJECTS_H

#include "calltree/samples.h"

#define SUBJECTS 5

/* Texts are clean (str.h), and cut if longer. */
struct subject {
	char class[160];
	char method[320]; /* the innermost of the application, or what there is; "": none */
	char holder[320]; /* of the holder's stack likewise */
	uint64_t amount;
};

struct subjects {
	enum event_kind event;
	uint64_t amount; /* of all */
	size_t count;
	struct subject list[SUBJECTS]; /* by amount; those with less than 1 % of it are left out */
};

/* The stacks end with a class, or have the holder of a lock of that class above it. */
void subjects_make(const struct stacks *s, enum event_kind event, struct subjects *ret);

/* Makes subjects of an untrusted process safe to use. */
void subjects_check(struct subjects *s);

#endif
