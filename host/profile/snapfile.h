/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of snapshots (dfg/snapshot.h): the code of one JVM, from one or more of them. The files
 * come from a container: what contradicts itself is left out. */
#ifndef DFG_SNAPFILE_H
#define DFG_SNAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dfg/err.h"
#include "dfg/snapshot.h"

#define SNAPFILE_BYTES_MAX (256u << 20)
#define SNAPFILE_DEPTH	   256 /* scopes inlined into each other that are looked at */

struct snapfile;
struct snapshot;

/* Code as its record has it. Arrays have the counts of `record`. */
struct snapfile_code {
	uint64_t start, end; /* [start, end) */
	const struct snap_code *record;
	const struct snap_scope *scopes;
	const struct snap_region *regions;
	const struct snap_exit *exits;
	const uint32_t *calls;
	const char *name; /* record->name_len bytes, not clean */
	const struct snapshot *from;
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

struct snapfile *snapfile_new(void);
void snapfile_free(struct snapfile *sf);

/* Whether a file begins like a snapshot, by its first bytes. */
bool snapfile_is(int fd);

/* Adds a snapshot; where the code of two overlaps, the one added later wins. Without its end, a
 * snapshot counts as far as it goes. Fails on what is none. At most SNAPFILE_BYTES_MAX bytes are
 * read; their copy stays in memory. */
MUST_CHECK int snapfile_read(struct snapfile *sf, int fd, struct err *err);
MUST_CHECK int snapfile_add(struct snapfile *sf, const void *p, size_t len, struct err *err);

/* After the last snapshot, before the first search. */
void snapfile_finish(struct snapfile *sf);

size_t snapfile_count(const struct snapfile *sf); /* of codes */

/* The head of the snapshot added last; all 0 without one. */
const struct snap_head *snapfile_head(const struct snapfile *sf);

/* The code at an address, borrowed, or NULL. `time` is a sample's. */
const struct snapfile_code *snapfile_find(const struct snapfile *sf, uint64_t addr, uint64_t time);

/* Other code that an earlier snapshot than that of `c` had at the address; NULL: none. */
const struct snapfile_code *snapfile_older(const struct snapfile *sf, const struct snapfile_code *c,
					   uint64_t addr, uint64_t time);

/* A method by its id, as the latest snapshot that knows it has it. */
bool snapfile_method(const struct snapfile *sf, uint64_t id, uint64_t time,
		     struct snapfile_method *ret);

/* The method of compiled code; false: it has none, or it is not known. */
bool snapfile_code_method(const struct snapfile_code *c, struct snapfile_method *ret);

/* The scopes at an offset into compiled code (of a return address: of the byte before it),
 * innermost first, the method that was compiled last. Returns their number, at most
 * SNAPFILE_DEPTH; 0 where the code has no region. */
size_t snapfile_scopes(const struct snapfile_code *c, uint64_t offset,
		       struct snapfile_scope ret[SNAPFILE_DEPTH]);

/* Whether a call instruction ends right before the offset, as far as the snapshot knows. */
bool snapfile_is_return(const struct snapfile_code *c, uint64_t offset);

/* The exit an offset is in, borrowed, or NULL. */
const struct snap_exit *snapfile_exit(const struct snapfile_code *c, uint64_t offset);

static inline void cleanup_snapfile_free(struct snapfile **sf)
{
	snapfile_free(*sf);
}

#endif
