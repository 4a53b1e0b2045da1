/* SPDX-License-Identifier: Apache-2.0 */
/* What snapshots of one JVM have said so far: struct hs_state is the opaque memory of
 * hs_dump_delta.
 *
 * Code is remembered as a list by address, in the order of the walk: the last snapshot's list is
 * gone through beside the walk that makes the next, so that what is new, what is as it was and what
 * has gone fall out of one comparison. */
#ifndef HS_STATE_H
#define HS_STATE_H

#include "dfg/snapshot.h"
#include "hotspot/loaders.h"
#include "hotspot/seen.h"

#define HS_STATE_CODES 200000u

#define HS_THREADS_SLOTS 4096u

/* How often a delta looks at threads' names, and for new classes of old loaders. */
#define HS_SELDOM_NS 500000000ull

struct hs_known {
	uint32_t at;	/* of the code, bytes from the lowest heap */
	uint32_t print; /* what its header said, hashed; 0: to be written again */
};

/* What a head says that stays as it is for as long as the JVM runs. */
struct hs_fixed {
	struct snap_head head;
	uint64_t preserve_fp, debug_non_safe; /* addresses of the flags; 0: not there */
};

/* The names of threads that were last written; all 0: none. */
struct hs_threads_known {
	uint32_t count;
	struct {
		uint32_t tid, hash; /* of the name; tid 0: empty */
	} slot[HS_THREADS_SLOTS];
};

/* The list of the JVM's stubs. */
struct hs_stubs_known {
	bool sought;	/* in a JVM that had a call stub by then */
	uint64_t list;	/* the variable that has it; 0: not found */
	uint64_t first; /* the first one when they were last written */
};

struct hs_state {
	bool ready;	 /* there is a last snapshot */
	unsigned turn;	 /* its list is list[turn] */
	uint64_t seldom; /* when what seldom changes was last looked at */
	uint64_t base;
	uint32_t count[2];
	uint32_t cursor, gone; /* how much of the last list has been passed, and was gone */
	struct hs_tables tables;
	struct hs_fixed fixed;
	struct hs_known list[2][HS_STATE_CODES];
	struct hs_loaders loaders;
	struct hs_named named;
	struct hs_threads_known threads;
	struct hs_stubs_known stubs;
};

_Static_assert(sizeof(struct hs_state) <= HS_STATE_BYTES, "the state fits");

/* Before the walk; `base` is the lowest address there is. Forgets all if that has changed. */
void hs_state_begin(struct hs_state *st, uint64_t base);

/* Whether the code that starts at `code` is what it was; then it is remembered on. Calls come with
 * rising addresses. */
bool hs_state_same(struct hs_state *st, uint64_t code, uint32_t print);

/* Remembers code that is written now. NULL: there is no room, it is written each time. */
struct hs_known *hs_state_keep(struct hs_state *st, uint64_t code, uint32_t print);

/* It was not written after all. */
void hs_state_drop(struct hs_known *known);

/* Behind the walk: how many of the last snapshot's are gone, or are something else now. */
uint32_t hs_state_gone(struct hs_state *st);

/* The start of the i-th of them, ascending. */
uint64_t hs_state_gone_at(const struct hs_state *st, uint32_t i);

/* This snapshot is the last one now. */
void hs_state_commit(struct hs_state *st);

/* It has failed: the next one is whole. */
void hs_state_forget(struct hs_state *st);

#endif
