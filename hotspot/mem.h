/* SPDX-License-Identifier: Apache-2.0 */
/* The target's memory through a page cache and a window, both of fixed size: a read costs two
 * microseconds for the system call and one for each page.
 *
 * The cache serves scattered data (methods, names). The window serves what is walked in order (code
 * heaps): one read covers many blocks. Pieces serve the headers of many blocks: one system call
 * reads a thousand. A cached page is as old as its first use in this dump; to read current data,
 * read the window or the pieces again. */
#ifndef HS_MEM_H
#define HS_MEM_H

#include "hotspot/hotspot.h"

#define HS_PAGE_SHIFT 12
#define HS_PAGE	      (1u << HS_PAGE_SHIFT)
#define HS_WAYS	      4u /* slots for a page */

/* Limits what one dump may cost, in steps of 20 to 30 ns: then all memory is a hole, so that each
 * walk ends, whatever a hostile JVM has made of its lists. A JVM with 14 463 pieces of code takes
 * 5.8 million steps for its first snapshot, one with 100 000 classes of 6 methods 5.5 million for
 * its last; 100 000 pieces and 500 000 classes would take 70 million. */
#define HS_STEPS       200000000u /* 5 s */
#define HS_STEPS_READ  100u	  /* a system call */
#define HS_STEPS_PIECE 50u
#define HS_STEP_BYTES  32u /* of the window: they are searched, too */

#define HS_PIECES 1024u
#define HS_PIECE  512u /* bytes, at most */

/* The current window: its own bytes, or a piece. */
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
	uint32_t steps; /* left */
	struct hs_window window;
	uint8_t *room; /* for the window's bytes; owned by the caller */
	size_t cap;
	struct hs_pieces pieces;
	uint8_t oldest[HS_PAGES / HS_WAYS]; /* the slot replaced next */
	uint64_t tag[HS_PAGES];		    /* page number + 1; 0: empty */
	uint32_t have[HS_PAGES];	    /* readable bytes of the page */
	uint16_t place[HS_PAGES];	    /* of the page's bytes: in the order of their first
					     * use, so that a small JVM touches little memory */
	uint16_t used;			    /* places taken */
	uint8_t page[HS_PAGES][HS_PAGE];
};

/* `window` has cap bytes and outlives mem; 0: no window. */
void hs_mem_init(struct hs_mem *mem, const struct hs_source *source, void *window, size_t cap);

/* True if the dump has cost too much. */
static inline bool hs_mem_is_spent(const struct hs_mem *mem)
{
	return mem->steps == 0;
}

/* Drops all cached pages. */
void hs_mem_drop_pages(struct hs_mem *mem);

/* Reads all len bytes, or returns false, with buf undefined. */
bool hs_mem_read(struct hs_mem *mem, uint64_t addr, void *buf, size_t len);

/* The same without the cache. */
bool hs_mem_read_now(struct hs_mem *mem, uint64_t addr, void *buf, size_t len);

/* Returns the cached bytes from addr to the end of its page or of the window; NULL and 0 at a hole.
 * Valid until the next call of any function here. */
const uint8_t *hs_mem_view(struct hs_mem *mem, uint64_t addr, size_t *ret_len);

/* Reads a NUL-terminated text. Returns its length, cut to cap - 1; -1: it cannot be read. */
int hs_mem_text(struct hs_mem *mem, uint64_t addr, char *buf, size_t cap);

/* Reads len bytes (at most the window's size; fewer at a hole) into the window, which serves reads
 * of them from now on. */
void hs_mem_window(struct hs_mem *mem, uint64_t addr, size_t len);

/* Reads len bytes at each of pieces.at[0, pieces.count), set by the caller. */
void hs_mem_read_pieces(struct hs_mem *mem, size_t len);

/* Makes the i-th piece the window. */
void hs_mem_use_piece(struct hs_mem *mem, size_t i);

static inline bool hs_mem_in_window(const struct hs_mem *mem, uint64_t addr, size_t len)
{
	const struct hs_window *w = &mem->window;

	return addr >= w->at && addr - w->at <= w->have && len <= w->have - (addr - w->at);
}

static inline bool hs_mem_ptr(struct hs_mem *mem, uint64_t addr, uint64_t *ret)
{
	return hs_mem_read(mem, addr, ret, sizeof(*ret));
}

/* Compares two texts. */
static inline bool hs_text_is(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

#endif
