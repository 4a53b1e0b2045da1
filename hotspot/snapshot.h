/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one snapshot; private to hs_snapshot*.c. */
#ifndef HS_SNAPSHOT_H
#define HS_SNAPSHOT_H

#include "dfg/request.h"
#include "hotspot/blob.h"
#include "hotspot/methods.h"
#include "hotspot/nmethod.h"
#include "hotspot/scan.h"
#include "hotspot/scope.h"
#include "hotspot/state.h"

#define SNAP_WINDOW    (1u << 20)
#define SNAP_EXITS_MAX 4096u
#define SNAP_CALLS_MAX 8192u
#define SNAP_FILE_MAX  255u
#define SNAP_METHOD_MAX                                                                            \
	((sizeof(struct snap_method) + DFG_NAME_MAX + SNAP_FILE_MAX + 7) & ~(size_t)7)
#define SNAP_RECORD                                                                                \
	(sizeof(struct snap_code) + HS_SCOPES_MAX * sizeof(struct snap_scope) +                    \
	 HS_REGIONS_MAX * sizeof(struct snap_region) + SNAP_EXITS_MAX * sizeof(struct snap_exit) + \
	 SNAP_CALLS_MAX * sizeof(uint32_t) + DFG_NAME_MAX + 8)
#define SNAP_FRESH_NS	 50000000u
#define SNAP_BATCH	 (1u << 20)
#define SNAP_BATCH_CODES 1024u
#define SNAP_BATCH_NAMES 8192u

/* Records held back until the code that they are of has been looked at again: what was read may be
 * something else by now. */
struct snap_batch {
	uint32_t codes, names;
	size_t used;
	struct {
		struct hs_block block;
		struct hs_blob blob;
		struct hs_known *known; /* NULL: it is not remembered */
		uint32_t names_end;
		size_t end; /* of its records, the METHODs it brought included */
	} code[SNAP_BATCH_CODES];
	struct {
		uint64_t *slot; /* NULL: the set is full */
		uint64_t print;
	} name[SNAP_BATCH_NAMES]; /* the methods with a record here */
	_Alignas(8) uint8_t records[SNAP_BATCH];
};

struct snapshot {
	struct hs hs;
	const struct hs_sink *sink;
	struct hs_result *result;
	struct hs_state *state; /* NULL: nothing is remembered */
	bool delta;
	bool seldom;  /* what seldom changes is looked at, too */
	uint8_t base; /* of hs_stream */
	struct hs_fixed fixed;
	uint32_t methods_written;
	bool full;	/* the sink takes no more */
	size_t piece;	/* of the walk's, the one that comes next */
	uint64_t fresh; /* when the pages at hand were last dropped */
	struct hs_methods methods;
	struct snap_batch batch;
	struct hs_scopes scopes;
	struct hs_nmethod_room room;
	struct snap_exit exits[SNAP_EXITS_MAX];
	uint32_t calls[SNAP_CALLS_MAX];
	_Alignas(8) uint8_t window[SNAP_WINDOW];
};

_Static_assert(SNAP_BATCH_CODES <= HS_PIECES, "a batch is looked at again at once");
_Static_assert(sizeof(struct snapshot) <= HS_WORK_BYTES, "the work memory holds a snapshot");

/* Hands a whole record to the sink. False: it takes no more. */
bool snapshot_emit(struct snapshot *s, const void *record, size_t len);

/* Adds the METHOD record of a Method* to the batch, unless it has been written. Returns its id; 0
 * when it cannot be named, or when there is no room. */
uint64_t snapshot_method(struct snapshot *s, uint64_t method);

/* Leaves out those methods of the set, from number `from` on, that a snapshot so far has named. */
void snapshot_methods_leave(struct snapshot *s, uint32_t from);

/* Writes METHOD records for the first `count` methods of the set, but for what is left out. False:
 * the sink takes no more. */
bool snapshot_methods_all(struct snapshot *s, uint32_t count);

/* Reads what the head says: `fixed` once, bounds with the two stubs and flags each time. */
void snapshot_head_read(struct snapshot *s);
void snapshot_bounds_read(struct snapshot *s, const struct hs_heaps *heaps);
bool snapshot_head_write(struct snapshot *s, uint64_t time, uint32_t flags);

/* Adds the CODE record of a block whose header is in the window, and the METHOD records it needs,
 * to the batch. snapshot_batch_room comes first. `text` is the blob's name. */
void snapshot_code(struct snapshot *s, const struct hs_block *block, const struct hs_blob *blob,
		   const char *text);

/* Whether any code's records fit. */
static inline bool snapshot_batch_room(const struct snapshot *s)
{
	return s->batch.codes < SNAP_BATCH_CODES && s->batch.names < SNAP_BATCH_NAMES / 2 &&
	       s->batch.used + SNAP_RECORD <= SNAP_BATCH * 3 / 4;
}

/* Names of code must be read when the code is, since methods go with it and others take their
 * memory: no page stays at hand from one batch of a delta to the next, nor for longer than
 * SNAP_FRESH_NS in a whole snapshot. */
void snapshot_refresh(struct snapshot *s);

/* Names [from, to) of the batch are not written: they are to be where something else refers to
 * them.
 */
void snapshot_names_forget(struct snapshot *s, uint32_t from, uint32_t to);

/* Writes what is still what it was, by headers read again, and empties the batch. Only what the
 * window itself shows stays at hand. False: the sink takes no more. */
bool snapshot_batch_flush(struct snapshot *s, const struct hs_heap *heap);

#endif
