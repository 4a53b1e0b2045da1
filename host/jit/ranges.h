/* SPDX-License-Identifier: Apache-2.0 */
/* Which of many ranges of addresses has an address, where ranges overlap: the one added last. */
#ifndef DFG_JIT_RANGES_H
#define DFG_JIT_RANGES_H

#include <stddef.h>
#include <stdint.h>

/* The part of a range that no later range covers. */
struct range_piece {
	uint64_t start, end; /* [start, end) */
	uint32_t range;	     /* number of the range, in the order of ranges_add from 0 on */
};

struct ranges {
	struct range_piece *list; /* as added; NULL behind ranges_finish */
	size_t count, cap;
	struct range_piece *pieces; /* sorted, no overlap */
	size_t piece_count, piece_cap;
};

/* start < end. A zeroed struct ranges is empty. */
void ranges_add(struct ranges *r, uint64_t start, uint64_t end);

/* After the last range, before the first search. */
void ranges_finish(struct ranges *r);

/* Borrowed; NULL: in no range. */
const struct range_piece *ranges_find(const struct ranges *r, uint64_t addr);

void ranges_fini(struct ranges *r);

#endif
