/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the symbolizer: frames that were found for an address, kept as long as it is. */
#ifndef DFG_ANSWERS_H
#define DFG_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "snapfile.h"

/* An address in a code of a snapshot, whenever that is there, or one of a process's generation. */
struct question {
	uint64_t addr;
	const struct snapfile_code *code; /* NULL: the generation's */
	uint32_t generation;
};

/* An answer once given holds. */
struct answer {
	struct question question;
	uint32_t first, count; /* frames of the pool; count 0: not yet given */
};

struct answers {
	struct answer *list; /* open addressing */
	size_t count, mask;
	uint32_t *pool;
	size_t pool_count, pool_cap;
};

void answers_init(struct answers *a);
void answers_fini(struct answers *a);

/* Borrowed until the next answers_keep. */
const struct answer *answers_find(const struct answers *a, struct question q);

/* Keeps the answer to a question that has none; n is at least 1. */
const struct answer *answers_keep(struct answers *a, struct question q, const uint32_t *frames,
				  size_t n);

#endif
