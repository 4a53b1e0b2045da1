/* SPDX-License-Identifier: Apache-2.0 */
/* The code heaps (memory/heap.hpp), their blocks, and the CodeBlobs in them (code/codeBlob.hpp).
 *
 * A heap is an array of segments. A block is a header and its content, a number of segments long.
 * The segment map has a byte for each segment: 0 where a block starts, 0xff where none is. With it
 * the walk recovers after it has read a header that the JVM was splitting or joining.
 *
 * The code of a blob is code_begin to code_end, as in jcmd Compiler.perfmap: of a compiled method
 * the entry, the body and the stub section (exception and deoptimisation handlers, static call
 * stubs), without constants and metadata. */
#ifndef HS_CODE_HEAP_H
#define HS_CODE_HEAP_H

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

static inline bool hs_heap_has(const struct hs_heap *heap, uint64_t addr)
{
	return addr >= heap->low && addr < heap->high;
}

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
	unsigned budget; /* blocks still allowed */
	bool cut;	 /* ended before the heap's end: unreadable memory, or no budget left */
};

/* False: the list of heaps cannot be read, or is empty (the JVM is starting). */
bool hs_heaps_read(struct hs *hs, struct hs_heaps *ret);

void hs_walk_start(struct hs_walk *walk, const struct hs_heap *heap, unsigned budget);

/* Moves walk.next to the next start of a block, by the segment map. False at the end. */
bool hs_walk_seek(struct hs *hs, struct hs_walk *walk);

/* After hs_walk_seek: reads the first `len` bytes of the next blocks as pieces; if they are close
 * together, reads all of their memory into the window instead. */
void hs_walk_read_ahead(struct hs *hs, const struct hs_walk *walk, size_t len);

/* After hs_walk_seek: reads the block there, used or free, and moves past it. False: its header is
 * invalid; moves past one segment. Blocks never overlap. */
bool hs_walk_next(struct hs *hs, struct hs_walk *walk, struct hs_block *ret);

/* Finds the start of the block of an address by the segment map, in which a byte other than 0 says
 * by how many segments to go back (memory/heap.cpp, CodeHeap::mark_segmap_as_used, JDK 8 to 27).
 * False: there is none. */
bool hs_block_find(struct hs *hs, const struct hs_heap *heap, uint64_t addr, uint64_t *ret);

/* Reads the header of a block. */
bool hs_block_read(struct hs *hs, const struct hs_heap *heap, uint64_t start, struct hs_block *ret);

#define HS_BLOB_NAME_MAX 256

/* An upper bound for any release: bytes of a block that hs_blob_read reads. */
#define HS_BLOB_HEADER 512

/* The same for this release, for hs_blob_fingerprint too. */
size_t hs_blob_header(const struct hs *hs);

struct hs_blob {
	uint64_t start; /* of the CodeBlob */
	uint64_t size;	/* bytes of the CodeBlob */
	uint64_t code, code_end;
	uint64_t name;	 /* address of the text */
	uint64_t method; /* Method*; 0 unless it is an nmethod */
	bool is_nmethod;
};

/* True for a compiled method whose class was unloaded (nmethod::make_unloaded, JDK 17): it is on no
 * stack and waits for the sweeper. */
static inline bool hs_blob_is_dead(const struct hs_blob *blob)
{
	return blob->is_nmethod && blob->method == 0;
}

/* Reads the blob of a block; text gets CodeBlob::_name. False: the block has no valid blob, or not
 * yet, or no longer. */
bool hs_blob_read(struct hs *hs, const struct hs_block *block, struct hs_blob *ret,
		  char text[HS_BLOB_NAME_MAX]);

/* Hashes what distinguishes this blob from others at the same address. 0: a compiled method that is
 * not installed yet (nmethod::not_installed, JDK 9 and later). */
uint32_t hs_blob_fingerprint(struct hs *hs, const struct hs_blob *blob);

/* Reads the block again: true if it still has the same blob. */
bool hs_blob_still(struct hs *hs, const struct hs_heap *heap, const struct hs_block *block,
		   const struct hs_blob *blob);

#endif
