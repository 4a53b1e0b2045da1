/* SPDX-License-Identifier: Apache-2.0 */
/* The target's memory behind a page cache and a window, both of fixed size, since one read costs a
 * system call: two microseconds, and one more for each page.
 *
 * The cache is for what lies about (methods, names). The window is for what is walked through (code
 * heaps): one read brings many blocks. Pieces are for a little of each of many things (their
 * headers): one system call brings a thousand. What is cached is as old as its first use in this
 * dump; what must be true *now* is read again by loading the window or pieces again. */
#ifndef HS_MEM_H
#define HS_MEM_H

#include "hotspot/hotspot.h"

#define HS_PAGE_SHIFT 12
#define HS_PAGE	      (1u << HS_PAGE_SHIFT)
#define HS_WAYS	      4u /* places a page can be at */

#define HS_PIECES 1024u
#define HS_PIECE  512u /* bytes, at most */

/* What is at hand: the window's own bytes, or a piece. */
struct hs_window {
	const uint8_t *bytes;
	uint64_t at;
	size_t have;
};

struct hs_pieces {
	size_t count, len; /* len: bytes of each */
	uint64_t at[HS_PIECES];
	uint16_t have[HS_PIECES];
	uint8_t bytes[HS_PIECES * HS_PIECE];
};

struct hs_mem {
	const struct hs_source *source;
	struct hs_window window;
	uint8_t *room; /* the window's bytes, the owner's, of cap bytes */
	size_t cap;
	struct hs_pieces pieces;
	size_t last;			    /* the place that was asked for */
	uint8_t oldest[HS_PAGES / HS_WAYS]; /* the place that is taken next */
	uint64_t tag[HS_PAGES];		    /* page number + 1; 0: empty */
	uint32_t have[HS_PAGES];	    /* bytes of the page that could be read */
	uint8_t page[HS_PAGES][HS_PAGE];
};

/* `window` is where the window's bytes go, and outlives mem; 0 bytes: none is wanted. */
void hs_mem_init(struct hs_mem *mem, const struct hs_source *source, void *window, size_t cap);

/* Drops the pages: what is read from now on is as it is now. */
void hs_mem_forget(struct hs_mem *mem);

/* All len bytes, or false. buf is untouched or partly written on failure. */
bool hs_mem_read(struct hs_mem *mem, uint64_t addr, void *buf, size_t len);

/* The same from the target itself, for what must be so now. */
bool hs_mem_read_now(struct hs_mem *mem, uint64_t addr, void *buf, size_t len);

/* The cached bytes from addr to the end of its page, or of the window: NULL and 0 at a hole. Valid
 * until the next call of any function here. */
const uint8_t *hs_mem_view(struct hs_mem *mem, uint64_t addr, size_t *ret_len);

/* A NUL-terminated text. Returns its length, cut to cap - 1; -1 when it cannot be read. */
int hs_mem_text(struct hs_mem *mem, uint64_t addr, char *buf, size_t cap);

/* Reads len bytes (at most what the window holds) from addr on into the window: from now on, reads
 * of them are served there. Fewer at a hole. */
void hs_mem_window(struct hs_mem *mem, uint64_t addr, size_t len);

/* Reads len bytes at each of pieces.at[0, pieces.count), which the caller has set. */
void hs_mem_gather(struct hs_mem *mem, size_t len);

/* The i-th piece takes the window's place. */
void hs_mem_show(struct hs_mem *mem, size_t i);

static inline bool hs_mem_in_window(const struct hs_mem *mem, uint64_t addr, size_t len)
{
	const struct hs_window *w = &mem->window;

	return addr >= w->at && addr - w->at <= w->have && len <= w->have - (addr - w->at);
}

static inline bool hs_mem_ptr(struct hs_mem *mem, uint64_t addr, uint64_t *ret)
{
	return hs_mem_read(mem, addr, ret, sizeof(*ret));
}

#endif
