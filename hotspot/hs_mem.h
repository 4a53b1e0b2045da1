/* SPDX-License-Identifier: Apache-2.0 */
/* The target's memory behind a page cache of fixed size, since one read costs a system call.
 *
 * A cached page is as old as its first use in this dump. What must be true *now* (that a block is
 * still the one it was) is read again after hs_mem_forget. */
#ifndef HS_MEM_H
#define HS_MEM_H

#include "dfg/hotspot.h"

#define HS_PAGE_SHIFT 12
#define HS_PAGE	      (1u << HS_PAGE_SHIFT)
#define HS_PAGES      768u

struct hs_mem {
	const struct hs_source *source;
	uint64_t tag[HS_PAGES];	 /* page number + 1; 0: empty */
	uint32_t have[HS_PAGES]; /* bytes of the page that could be read */
	uint8_t page[HS_PAGES][HS_PAGE];
};

void hs_mem_init(struct hs_mem *mem, const struct hs_source *source);

/* All len bytes, or false. buf is untouched or partly written on failure. */
bool hs_mem_read(struct hs_mem *mem, uint64_t addr, void *buf, size_t len);

/* The cached bytes from addr to the end of its page: NULL and 0 at a hole. Valid until the next
 * call of any function here. */
const uint8_t *hs_mem_view(struct hs_mem *mem, uint64_t addr, size_t *ret_len);

/* A NUL-terminated text. Returns its length, cut to cap - 1; -1 when it cannot be read. */
int hs_mem_text(struct hs_mem *mem, uint64_t addr, char *buf, size_t cap);

/* Makes the next read of this range go to the target. */
void hs_mem_forget(struct hs_mem *mem, uint64_t addr, size_t len);

static inline bool hs_mem_ptr(struct hs_mem *mem, uint64_t addr, uint64_t *ret)
{
	return hs_mem_read(mem, addr, ret, sizeof(*ret));
}

#endif
