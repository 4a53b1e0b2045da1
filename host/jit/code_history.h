/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled code, methods, stubs and thread names of one JVM over time, from its snapshots
 * (dfg/snapshot.h). The files come from a container: records that contradict themselves are
 * skipped.
 *
 * When a change took place between two snapshots is unknown. A search for a time therefore covers
 * the snapshots around it: the last one that was complete before, the first one that began after,
 * and one that was being taken. Where these agree, or only one of them has a result, that is it.
 * Where they differ, the search returns all results, and the caller finds out which one holds or
 * reports the frame as ambiguous. Where two snapshots are seconds apart and most code compiled in
 * between has gone again unseen, what differs in them is not returned at all. */
#ifndef DFG_JIT_CODE_HISTORY_H
#define DFG_JIT_CODE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "dfg/snapshot.h"

#define SNAPFILE_BYTES_MAX (256u << 20)
#define SNAPFILE_DEPTH	   256 /* most scopes inlined into each other */
#define SNAPFILE_AROUND	   3   /* most snapshots around a time */

struct snapfile;

/* Code as its record has it. Arrays have the counts of `record`. */
struct snapfile_code {
	uint64_t start, end; /* [start, end) */
	const struct snap_code *record;
	const struct snap_scope *scopes;
	const struct snap_region *regions;
	const struct snap_exit *exits;
	const uint32_t *calls;
	const struct snap_spill *spills;
	size_t spill_count;
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
	uint32_t unloads;     /* so many times of unloading are known up to it */
};

#define SNAPFILE_LATEST UINT64_MAX /* for a time that is not known */

struct snapfile *snapfile_new(void);
void snapfile_free(struct snapfile *sf);

/* True if the file begins with the head of a snapshot. */
bool snapfile_is(int fd);

/* Adds the snapshots of a file, which must be later than those added before. A snapshot without an
 * end counts as far as it goes. Fails if the file has none. At most SNAPFILE_BYTES_MAX bytes are
 * read; they stay mapped. */
MUST_CHECK int snapfile_read(struct snapfile *sf, int fd, struct err *err);

/* Adds the snapshots of a file that grows, from byte *at on, and moves *at to where the next one
 * begins: one without an end is left for later. Fails if there is none with an end; *at is 0 then
 * where no snapshot begins there. */
MUST_CHECK int snapfile_read_ended(struct snapfile *sf, int fd, uint64_t *at, struct err *err);

/* Adds the snapshots of bytes, 8-byte aligned, which stay the caller's and must stay valid. Fails
 * if there is none. */
MUST_CHECK int snapfile_add(struct snapfile *sf, const void *p, size_t len, struct err *err);

/* To be called after the last file, before the first search. */
void snapfile_finish(struct snapfile *sf);

/* The head of the latest snapshot; all 0 without one. */
const struct snap_head *snapfile_head(const struct snapfile *sf);

/* The layouts that the latest whole snapshot tells; all SNAP_NONE without one. */
const struct snap_layout *snapfile_layout(const struct snapfile *sf);
const struct snap_objects *snapfile_objects(const struct snapfile *sf);

/* True if all methods that were ever interpreted are known, except those of classes that were
 * loaded and unloaded between two snapshots. */
bool snapfile_methods_complete(const struct snapfile *sf);

/* `time`: CLOCK_MONOTONIC, ns. */
struct snapfile_span snapfile_around(const struct snapfile *sf, uint64_t time);

/* Finds the codes at an address in the snapshots of the span, borrowed, in the order of time.
 * Returns their number. */
size_t snapfile_find(const struct snapfile *sf, uint64_t addr, struct snapfile_span span,
		     const struct snapfile_code *ret[SNAPFILE_AROUND]);

/* Finds the numbers of the methods with an id in the snapshots of the span, in the order of time.
 * Returns how many: of two, the one that it was, if the times of unloading tell. */
size_t snapfile_find_method(const struct snapfile *sf, uint64_t id, struct snapfile_span span,
			    uint32_t ret[SNAPFILE_AROUND]);

/* A method by its number. */
struct snapfile_method snapfile_method(const struct snapfile *sf, uint32_t number);

/* True if one of the snapshots has all code: what came before it does not count. */
bool snapfile_is_whole(const struct snapfile *sf);

/* Goes through the starts of code that the snapshots say is gone; *at: two zeros at first. 0: no
 * more. */
struct snapfile_gone {
	size_t list, at;
};
uint64_t snapfile_next_gone(const struct snapfile *sf, struct snapfile_gone *at);

/* Go through all codes, or the ids of all methods, of the latest snapshot: *at is 0 at first. NULL,
 * or 0: no more. */
const struct snapfile_code *snapfile_next_code(const struct snapfile *sf, size_t *at);
uint64_t snapfile_next_method(const struct snapfile *sf, size_t *at);

/* Goes through all codes that were ever listed. */
const struct snapfile_code *snapfile_next_listed(const struct snapfile *sf, size_t *at);

/* Codes of all snapshots. */
size_t snapfile_code_count(const struct snapfile *sf);

struct snapfile_stub {
	uint64_t start, end; /* [start, end) */
	const char *name;    /* not clean, no NUL at its end */
	size_t name_len;
};

/* The stub at an address, borrowed, or NULL. */
const struct snapfile_stub *snapfile_stub(const struct snapfile *sf, uint64_t addr);

/* Java's last name of a thread, by its id in the JVM's pid namespace. Borrowed, not clean, no NUL
 * at its end; NULL: it has none. */
const char *snapfile_thread(const struct snapfile *sf, uint32_t tid, size_t *ret_len);

/* ---- in one code ------------------------------------------------------------------------- */

/* The method of compiled code; false: it has none, or it is not known. */
bool snapfile_code_method(const struct snapfile_code *c, struct snapfile_method *ret);

/* Finds the scopes at an offset into compiled code (of a return address: of the byte before it),
 * innermost first; the last one is the compiled method. Returns their number, at most
 * SNAPFILE_DEPTH; 0 where the code has no region. */
size_t snapfile_scopes(const struct snapfile_code *c, uint64_t offset,
		       struct snapfile_scope ret[SNAPFILE_DEPTH]);

/* True if two codes give the same frames for an address in both: the same kind and level, the same
 * method, and the same scopes by name and line. */
bool snapfile_agree(const struct snapfile_code *a, const struct snapfile_code *b, uint64_t addr);

/* Finds the code that began there with this compile id, which was known to be there at the time of
 * the span, or just before: if the last snapshot of the span has it still, or none of them has
 * anything else at the address, but what gives the same frame. NULL: it may have been replaced by
 * then, or no one of them has it, nor has it been asked for. */
const struct snapfile_code *snapfile_find_known(const struct snapfile *sf, uint64_t addr,
						struct snapfile_span span, uint64_t start,
						uint32_t compile_id);

/* True if the thawed frames of a virtual thread return to it: Java code returns to the barrier only
 * of these stubs. JDK 21 and later. */
bool snapfile_is_barrier(const struct snapfile_code *c);

/* True if it is vtable and itable stubs, which call a method of an object by its class. */
bool snapfile_selects(const struct snapfile_code *c);

/* True if it is C1's slow_subtype_check (c1/c1_Runtime1, JDK 8 to 27), which pushes registers below
 * its return address, and has no frame. */
bool snapfile_pushes(const struct snapfile_code *c);

/* True if it is ExceptionBlob, which goes to an exception's handler. */
bool snapfile_is_thrower(const struct snapfile_code *c);

/* True if a call instruction, known to the snapshot, ends right before the offset. */
bool snapfile_is_return(const struct snapfile_code *c, uint64_t offset);

/* The exit that holds an offset, borrowed, or NULL. */
const struct snap_exit *snapfile_exit(const struct snapfile_code *c, uint64_t offset);

/* Returns by how many bytes the stack pointer is below the frame at an offset: 0 outside slow paths
 * of GC barriers. */
uint32_t snapfile_spilled(const struct snapfile_code *c, uint64_t offset);

static inline void cleanup_snapfile_free(struct snapfile **sf)
{
	snapfile_free(*sf);
}

#endif
