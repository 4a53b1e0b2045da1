/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of earlier snapshots of a JVM: struct hs_state is the memory of hs_dump_delta.
 *
 * Code is a list sorted by address, in the order of the walk: the walk for the next snapshot passes
 * through the last list in parallel, which finds new, unchanged and gone code in one comparison. */
#ifndef HS_STATE_H
#define HS_STATE_H

#include "dfg/snapshot.h"
#include "hotspot/classes.h"
#include "hotspot/seen.h"

#define HS_STATE_CODES 200000u

#define HS_THREADS_SLOTS 4096u
#define HS_ASKED_BYTES	 (256u << 10)

/* Interval at which deltas include thread names, and new classes of old loaders. */
#define HS_RARE_NS 500000000ull

struct hs_known_code {
	uint32_t at;	      /* offset from the lowest heap */
	uint32_t fingerprint; /* of its header; 0: write it again */
};

/* Header fields that never change. */
struct hs_fixed {
	struct snap_head head;
	struct snap_layout layout;
	struct snap_objects objects;
	uint64_t preserve_fp, debug_non_safe; /* addresses of the flags; 0: none */
};

/* Thread names as last written. */
struct hs_known_threads {
	uint32_t count;
	uint64_t slot[HS_THREADS_SLOTS]; /* tid << 32 | hash of the name; 0: empty */
};

/* The list of the JVM's stubs. */
struct hs_known_stubs {
	bool searched;	/* in a JVM that had a call stub */
	uint64_t list;	/* address of the variable; 0: not found */
	uint64_t first; /* the first stub when they were last written */
	uint32_t vtable_stubs;
};

/* Records for the next snapshot: methods and codes that were asked for since the last one
 * (SNAP_ASKED, SNAP_ASKED_CODE), and when classes were unloaded (SNAP_UNLOADED). */
struct hs_asked {
	size_t used;
	_Alignas(8) uint8_t records[HS_ASKED_BYTES];
};

struct hs_state {
	bool ready;	    /* there is a last snapshot */
	bool has_tables;    /* and what is fixed */
	unsigned turn;	    /* its list is list[turn] */
	uint64_t rare_time; /* of the last snapshot with what rarely changes */
	uint64_t base;
	uint32_t count[2];
	uint32_t cursor, gone; /* entries of the last list passed, and of these gone */
	struct hs_tables tables;
	struct hs_fixed fixed;
	struct hs_known_code list[2][HS_STATE_CODES];
	struct hs_loaders loaders;
	struct hs_written written;
	struct hs_known_threads threads;
	struct hs_known_stubs stubs;
#if __STDC_HOSTED__
	struct hs_asked asked;
#endif
};

_Static_assert(sizeof(struct hs_state) <= HS_STATE_BYTES, "the state fits");

/* Before the walk; `base` is the lowest address of code. Resets the state if it has changed. */
void hs_state_begin(struct hs_state *st, uint64_t base);

/* True if the code that starts at `code` is unchanged; adds it to the new list then. Addresses must
 * ascend. */
bool hs_state_unchanged(struct hs_state *st, uint64_t code, uint32_t fingerprint);

/* Adds code that is written now. NULL: the list is full, it is written each time. */
struct hs_known_code *hs_state_add(struct hs_state *st, uint64_t code, uint32_t fingerprint);

/* Undoes hs_state_add: the code was not written. */
void hs_state_remove(struct hs_known_code *known);

/* After the walk: returns how much code of the last snapshot is gone or was replaced. */
uint32_t hs_state_gone(struct hs_state *st);

/* Returns the start of the i-th of them, ascending. */
uint64_t hs_state_gone_at(const struct hs_state *st, uint32_t i);

/* Makes this snapshot the last one. */
void hs_state_commit(struct hs_state *st);

/* After a failure: the next snapshot is whole. */
void hs_state_reset(struct hs_state *st);

#endif
