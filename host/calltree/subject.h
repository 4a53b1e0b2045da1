/* SPDX-License-Identifier: Apache-2.0 */
/* The subject of an event: what was allocated, waited for, or done by the JVM; by which method; and
 * what it was waited for. Pure. */
#ifndef DFG_CALLTREE_SUBJECT_H
#define DFG_CALLTREE_SUBJECT_H

#include <stdint.h>

/* Texts are clean (str.h), and cut if longer. */
struct subject {
	char class[160];
	/* The innermost of the application, else of a library, else of the JDK; "": none. */
	char method[320];
	char holder[320]; /* of the holder's stack likewise */
	uint64_t amount;
};

/* Makes a subject of an untrusted process safe to use. */
void subject_check(struct subject *s);

#endif
