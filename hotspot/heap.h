/* SPDX-License-Identifier: Apache-2.0 */
/* The code heaps and a walk over their blocks (memory/heap.hpp).
 *
 * A heap is an array of segments; a block is a header and what it holds, a number of segments long.
 * The segment map has a byte for each segment: 0 where a block starts, 0xff where none is. It puts
 * the walk back on its feet when a header is read while the JVM splits or joins blocks. */
#ifndef HS_HEAP_H
#define HS_HEAP_H

#include "hotspot/tables.h"

#define HS_HEAPS_MAX  16
#define HS_HEAP_BYTES (2ull << 30) /* CODE_CACHE_SIZE_LIMIT */
#define HS_BLOCKS_MAX (1u << 20)

struct hs_heap {
	uint64_t at;	      /* the CodeHeap */
	uint64_t low, high;   /* committed memory */
	uint64_t segmap, end; /* its committed segment map */
	unsigned shift;	      /* log2 of a segment's bytes */
};

struct hs_heaps {
	unsigned count;
	struct hs_heap heap[HS_HEAPS_MAX]; /* by address */
};

struct hs_block {
	uint64_t start; /* of the header */
	uint64_t size;	/* bytes with the header */
	bool used;
};

struct hs_walk {
	const struct hs_heap *heap;
	uint64_t next;
	unsigned budget; /* blocks still allowed: set by the caller */
	bool cut;	 /* the walk ended before the heap's end: unreadable memory, or no budget */
};

/* False: the list of heaps cannot be read, or has none (a JVM that is starting). */
bool hs_heaps_read(struct hs *hs, struct hs_heaps *ret);

void hs_walk_start(struct hs_walk *walk, const struct hs_heap *heap, unsigned budget);

/* Moves walk.next to where the segment map says that the next block starts. False at the end. */
bool hs_walk_seek(struct hs *hs, struct hs_walk *walk);

/* Behind hs_walk_seek: has the headers of the next blocks, by the segment map, gathered as pieces
 * of `len` bytes; where blocks lie close to each other, instead in the window with all there is. */
void hs_walk_ahead(struct hs *hs, const struct hs_walk *walk, size_t len);

/* Behind hs_walk_seek: reads the block there, used or free, and moves behind it. False when its
 * header is nonsense; then one segment is left behind. Blocks never overlap. */
bool hs_walk_next(struct hs *hs, struct hs_walk *walk, struct hs_block *ret);

/* Reads a block's header at a place where one starts. */
bool hs_block_read(struct hs *hs, const struct hs_heap *heap, uint64_t start, struct hs_block *ret);

#endif
