/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the symbolizer: frames that were found for an address, kept as long as it is. */
#ifndef DFG_SYMBOLS_ANSWERS_H
#define DFG_SYMBOLS_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "jit/code_history.h"

/* An address in a code of a snapshot, whenever that is there, or one of a process's generation. */
struct question {
	uint64_t addr;
	const struct snapfile_code *code; /* NULL: the generation's */
	uint32_t generation;
};

struct answers {
	struct answer *list; /* open addressing */
	size_t count, mask;
	uint32_t *pool; /* at an answer's number, how many frames it has, then they */
	size_t pool_count, pool_cap;
};

void answers_init(struct answers *a);
void answers_fini(struct answers *a);

/* The number of the answer, 0: none yet. One that was given holds. */
uint32_t answers_find(const struct answers *a, struct question q);

/* Keeps the answer to a question that has none; n is at least 1. */
uint32_t answers_keep(struct answers *a, struct question q, const uint32_t *frames, size_t n);

/* The frames of an answer, borrowed until the next answers_keep. Returns how many. */
static inline size_t answers_frames(const struct answers *a, uint32_t number, const uint32_t **ret)
{
	*ret = a->pool + number + 1;
	return a->pool[number];
}

#endif
