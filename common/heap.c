// SPDX-License-Identifier: Apache-2.0
#include "common/heap.h"

#include <limits.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/str.h"

#define PIECE (32 << 20) /* the most that M_MMAP_THRESHOLD takes (malloc(3)) */

void heap_expect(size_t bytes)
{
	uintptr_t before = (uintptr_t)sbrk(0);

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, PIECE);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_TOP_PAD, (int)bytes);
	free(xmalloc(1 << 20)); /* more than is left of what there was */
	/* Only where it has grown: without glibc's malloc (ASan's) it has not. */
	madvise((void *)before, (uintptr_t)sbrk(0) - before, MADV_HUGEPAGE);
}
