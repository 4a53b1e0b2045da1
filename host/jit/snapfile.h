/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of snapshots (dfg/snapshot.h): the code and the methods of one JVM as they change over
 * time. The files come from a container: what contradicts itself is left out.
 *
 * Between two snapshots it is not known when a change took place. So what was there at a time is
 * asked of the snapshots around it: the last that was complete before, the first that began after,
 * and one that was being taken. Where they agree, or only one of them has something, that is the
 * answer; where they have different things, the searches give them all, and whoever asks has to
 * find out which it was, or to say that it cannot be known. Where two snapshots are seconds apart
 * and most code compiled in between has gone again unseen, what differs in them is no answer at
 * all. */
#ifndef DFG_JIT_SNAPFILE_H
#define DFG_JIT_SNAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "dfg/snapshot.h"

#define SNAPFILE_BYTES_MAX (256u << 20)
#define SNAPFILE_DEPTH	   256 /* scopes inlined into each other that are looked at */
#define SNAPFILE_AROUND	   3   /* snapshots around a time */

struct snapfile;

/* Code as its record has it. Arrays have the counts of `record`. */
struct snapfile_code {
	uint64_t start, end; /* [start, end) */
	const struct snap_code *record;
	const struct snap_scope *scopes;
	const struct snap_region *regions;
	const struct snap_exit *exits;
	const uint32_t *calls;
	const char *name; /* record->name_len bytes, not clean */
	const struct snapfile *file;
	uint32_t first, gone; /* it is in the snapshots [first, gone) */
	uint32_t from;	      /* the snapshot whose record this is */
};

struct snapfile_method {
	const char *name, *file; /* not clean, no NUL at their ends */
	size_t name_len, file_len;
};

/* A method in compiled code. */
struct snapfile_scope {
	struct snapfile_method method; /* name_len 0: unknown */
	int32_t bci, line;	       /* -1, 0: unknown */
};

/* The snapshots around a time. */
struct snapfile_span {
	uint32_t first, last; /* last - first < SNAPFILE_AROUND */
};

#define SNAPFILE_LATEST UINT64_MAX /* for a time that is not known */

struct snapfile *snapfile_new(void);
void snapfile_free(struct snapfile *sf);

/* Whether a file begins like a snapshot, by its first bytes. */
bool snapfile_is(int fd);

/* Adds the snapshots of a file. They follow those that were added before in time. Without its end,
 * a snapshot counts as far as it goes. Fails on what is none. At most SNAPFILE_BYTES_MAX bytes
 * count, which stay mapped (read) or copied (add). */
MUST_CHECK int snapfile_read(struct snapfile *sf, int fd, struct err *err);
MUST_CHECK int snapfile_add(struct snapfile *sf, const void *p, size_t len, struct err *err);

/* After the last snapshot, before the first search. */
void snapfile_finish(struct snapfile *sf);

size_t snapfile_count(const struct snapfile *sf); /* of codes */

/* The head of the snapshot added last; all 0 without one. */
const struct snap_head *snapfile_head(const struct snapfile *sf);

/* Whether all methods that were ever interpreted are known, but those of classes that came and
 * went between two snapshots. */
bool snapfile_methods_complete(const struct snapfile *sf);

/* `time`: CLOCK_MONOTONIC, ns. */
struct snapfile_span snapfile_around(const struct snapfile *sf, uint64_t time);

/* The codes at an address by the snapshots of the span, borrowed, in the order of time. Returns how
 * many. */
size_t snapfile_find(const struct snapfile *sf, uint64_t addr, struct snapfile_span span,
		     const struct snapfile_code *ret[SNAPFILE_AROUND]);

/* The numbers of the methods that an id stands for by the snapshots of the span, in the order of
 * time. Returns how many. */
size_t snapfile_find_method(const struct snapfile *sf, uint64_t id, struct snapfile_span span,
			    uint32_t ret[SNAPFILE_AROUND]);

/* All methods, by number. */
size_t snapfile_method_count(const struct snapfile *sf);
struct snapfile_method snapfile_method(const struct snapfile *sf, uint32_t number);

/* A stub's name, not clean, without a NUL at its end. */
struct snapfile_stub {
	uint64_t start, end; /* [start, end) */
	const char *name;
	size_t name_len;
};

/* The stub at an address, borrowed, or NULL. */
const struct snapfile_stub *snapfile_stub(const struct snapfile *sf, uint64_t addr);

/* ---- of one code ------------------------------------------------------------------------- */

/* The method of compiled code; false: it has none, or it is not known. */
bool snapfile_code_method(const struct snapfile_code *c, struct snapfile_method *ret);

/* The scopes at an offset into compiled code (of a return address: of the byte before it),
 * innermost first, the method that was compiled last. Returns their number, at most
 * SNAPFILE_DEPTH; 0 where the code has no region. */
size_t snapfile_scopes(const struct snapfile_code *c, uint64_t offset,
		       struct snapfile_scope ret[SNAPFILE_DEPTH]);

/* Whether two codes say the same of an address in both: of the same kind and level, of the same
 * method, with the same scopes by name and line there. */
bool snapfile_agree(const struct snapfile_code *a, const struct snapfile_code *b, uint64_t addr);

/* Whether a call instruction ends right before the offset, as far as the snapshot knows. */
bool snapfile_is_return(const struct snapfile_code *c, uint64_t offset);

/* The exit an offset is in, borrowed, or NULL. */
const struct snap_exit *snapfile_exit(const struct snapfile_code *c, uint64_t offset);

static inline void cleanup_snapfile_free(struct snapfile **sf)
{
	snapfile_free(*sf);
}

#endif
