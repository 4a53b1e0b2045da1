/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one snapshot; private to hs_snapshot*.c. */
#ifndef HS_SNAPSHOT_H
#define HS_SNAPSHOT_H

#include "dfg/request.h"
#include "hs_blob.h"
#include "hs_methods.h"
#include "hs_nmethod.h"
#include "hs_scan.h"
#include "hs_scope.h"

#define SNAP_WINDOW    (1u << 20)
#define SNAP_EXITS_MAX 4096u
#define SNAP_CALLS_MAX 8192u
#define SNAP_FILE_MAX  255u
#define SNAP_METHOD_MAX                                                                            \
	((sizeof(struct snap_method) + DFG_NAME_MAX + SNAP_FILE_MAX + 7) & ~(size_t)7)
#define SNAP_PENDING (256u << 10)
#define SNAP_RECORD                                                                                \
	(sizeof(struct snap_code) + HS_SCOPES_MAX * sizeof(struct snap_scope) +                    \
	 HS_REGIONS_MAX * sizeof(struct snap_region) + SNAP_EXITS_MAX * sizeof(struct snap_exit) + \
	 SNAP_CALLS_MAX * sizeof(uint32_t) + HS_BLOB_NAME_MAX + 8)

/* METHOD records that wait until the code that refers to them has been looked at again: what it
 * named may be something else by now. */
struct snap_pending {
	uint32_t count;
	size_t used;
	uint64_t *slot[SNAP_PENDING / sizeof(struct snap_method)];
	_Alignas(8) uint8_t records[SNAP_PENDING];
};

struct snapshot {
	struct hs hs;
	const struct hs_sink *sink;
	struct hs_result *result;
	uint32_t jdk;
	uint8_t base; /* of hs_stream */
	uint64_t low, high;
	uint32_t methods_written;
	bool full; /* the sink takes no more */
	struct hs_methods methods;
	struct snap_pending pending;
	struct hs_scopes scopes;
	struct hs_nmethod_room room;
	struct snap_exit exits[SNAP_EXITS_MAX];
	uint32_t calls[SNAP_CALLS_MAX];
	_Alignas(8) uint8_t record[SNAP_RECORD];
	_Alignas(8) uint8_t again[HS_BLOB_HEADER];
	_Alignas(8) uint8_t window[SNAP_WINDOW];
};

_Static_assert(sizeof(struct snapshot) <= HS_WORK_BYTES, "the work memory holds a snapshot");

/* Hands a whole record to the sink. False: it takes no more. */
bool snapshot_emit(struct snapshot *s, const void *record, size_t len);

/* Prepares the METHOD record of a Method*, unless there is one. Returns its id; 0 when it cannot be
 * named. *ret_full: there was no room, snapshot_methods_write and again. */
uint64_t snapshot_method(struct snapshot *s, uint64_t method, bool *ret_full);

/* Writes the prepared METHOD records; drop: forgets them. False: the sink takes no more. */
bool snapshot_methods_write(struct snapshot *s);
void snapshot_methods_drop(struct snapshot *s);

/* Writes METHOD records for all methods the set has met. False: the sink takes no more. */
bool snapshot_methods_all(struct snapshot *s);

/* Writes the CODE record of a block whose header is in the window, and the METHOD records it
 * needs. False: the sink takes no more. */
bool snapshot_code(struct snapshot *s, const struct hs_heap *heap, const struct hs_block *block);

#endif
