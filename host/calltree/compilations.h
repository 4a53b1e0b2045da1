/* SPDX-License-Identifier: Apache-2.0 */
/* Counts how often a recording's JVMs have compiled each method, and made code of it not entrant.
 * Pure. */
#ifndef DFG_CALLTREE_COMPILATIONS_H
#define DFG_CALLTREE_COMPILATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/table.h"

#define COMPILATIONS_MAX   50
#define COMPILATIONS_USUAL 2u /* by C1 and then by C2, which takes the place of C1's code */
#define COMPILE_LEVELS	   5  /* 0: not known; 1 to 3 C1, 4 C2 */

struct compiled {
	uint32_t times[COMPILE_LEVELS]; /* compilations, by level */
	uint32_t discarded;
	uint64_t ns; /* of the compilations */
};

/* Of all methods. */
struct compilations {
	struct compiled_method {
		char *name;
		struct compiled compiled;
	} * list;
	size_t count, cap;
	struct hash_table index;
};

/* The methods that were compiled, or had code made not entrant, more often than is usual: the most
 * often compiled ones first. */
struct compilation_list {
	uint64_t times, discarded, methods; /* in all */
	size_t listed;
	struct {
		char method[320]; /* clean (str.h) */
		struct compiled compiled;
	} list[COMPILATIONS_MAX];
};

/* Adds what is known of a method. */
void compilations_add(struct compilations *c, const char *method, const struct compiled *what);
void compilations_merge(struct compilations *to, const struct compilations *from);
void compilations_list(const struct compilations *c, struct compilation_list *ret);
void compilations_fini(struct compilations *c);

uint32_t compiled_times(const struct compiled *c);

/* Makes a list of an untrusted process safe to use. */
void compilation_list_check(struct compilation_list *l);

#endif
