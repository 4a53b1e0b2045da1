/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one dump, and the records (of a map: lines) it writes. records.c collects the
 * records of code in a batch and writes them if the code is still the same; threads.c and stubs.c
 * write the other records. */
#ifndef HS_RECORDS_H
#define HS_RECORDS_H

#include "dfg/request.h"
#include "hotspot/nmethod.h"
#include "hotspot/state.h"

#define HS_WINDOW     (1u << 20)
#define HS_EXITS_MAX  4096u
#define HS_CALLS_MAX  8192u
#define HS_SPILLS_MAX 2048u
#define HS_RECORD_MAX                                                                              \
	(sizeof(struct snap_code) + HS_SCOPES_MAX * sizeof(struct snap_scope) +                    \
	 HS_REGIONS_MAX * sizeof(struct snap_region) + HS_EXITS_MAX * sizeof(struct snap_exit) +   \
	 HS_CALLS_MAX * sizeof(uint32_t) + DFG_NAME_MAX + 8 +                                      \
	 HS_SPILLS_MAX * sizeof(struct snap_spill))
#define HS_BATCH       (1u << 20)
#define HS_BATCH_CODES 1024u
#define HS_BATCH_NAMES 8192u
#define HS_VTABLES_MAX 64u

struct hs_batch_code {
	struct hs_block block;
	struct hs_blob blob;
	struct hs_known_code *known; /* NULL: not in the state */
	uint32_t names_end;
	size_t end; /* of its records, with the METHODs it brought */
};

/* Records held back until the headers of their code have been read again: the JVM may have replaced
 * the code meanwhile. */
struct hs_batch {
	uint32_t codes, names;
	size_t used;
	struct hs_batch_code code[HS_BATCH_CODES];
	struct {
		uint64_t *slot; /* NULL: the set is full */
		uint64_t fingerprint;
	} name[HS_BATCH_NAMES]; /* the methods with a record here */
	_Alignas(8) uint8_t records[HS_BATCH];
};

struct hs_snapshot {
	struct hs hs;
	const struct hs_sink *sink;
	struct hs_result *result;
	struct hs_state *state; /* NULL: none */
	bool is_map;
	bool delta;
	bool with_rare; /* includes what rarely changes */
	bool nameless;	/* has no METHOD records */
	uint8_t base;	/* of hs_stream */
	struct hs_fixed fixed;
	uint32_t methods_written;
	bool full;	     /* the sink is full */
	size_t piece;	     /* the walk's next piece */
	uint64_t fresh;	     /* when the pages were last dropped */
	uint32_t vtables;    /* code named "vtable chunks" */
	uint32_t stub_steps; /* entries that the search for stubs may still follow */
	struct hs_span vtable[HS_VTABLES_MAX];
	struct hs_methods methods;
	struct hs_batch batch;
	struct hs_scopes scopes;
	struct hs_debug_buffer buffer;
	struct snap_exit exits[HS_EXITS_MAX];
	uint32_t calls[HS_CALLS_MAX];
	struct snap_spill spills[HS_SPILLS_MAX];
	uint32_t spill_count;
	_Alignas(8) uint8_t window[HS_WINDOW];
};

_Static_assert(sizeof(struct hs_snapshot) <= HS_WORK_BYTES, "the work memory holds a snapshot");

/* Writes one whole record to the sink. False: it is full. */
bool hs_record_write(struct hs_snapshot *s, const void *record, size_t len);

/* Makes the METHOD record of a Method* at the end of the batch, to which it is not added. Returns
 * its length; 0: it has no name. Requires hs_batch_has_room. */
size_t hs_record_make_method(struct hs_snapshot *s, uint64_t method);

/* Adds the METHOD record of a Method* to the batch, unless it is written already. Returns its id;
 * 0: it has no name, or there is no room. */
uint64_t hs_record_method(struct hs_snapshot *s, uint64_t method);

/* Adds the CODE record of a block that is in the window, and the METHOD records it needs. Requires
 * hs_batch_has_room. `text` is the blob's name. */
void hs_record_code(struct hs_snapshot *s, const struct hs_block *block, const struct hs_blob *blob,
		    const char *text);

/* The same for the line of a map. */
void hs_record_line(struct hs_snapshot *s, const struct hs_block *block, const struct hs_blob *blob,
		    const char *text);

/* True if the records of any code fit. */
static inline bool hs_batch_has_room(const struct hs_snapshot *s)
{
	return s->batch.codes < HS_BATCH_CODES && s->batch.names < HS_BATCH_NAMES / 2 &&
	       s->batch.used + HS_RECORD_MAX <= HS_BATCH * 3 / 4;
}

/* Drops the cached pages before each batch of a delta, else after FRESH_NS: names must be read when
 * the code is, since methods are freed with it and their memory is reused. */
void hs_batch_refresh(struct hs_snapshot *s);

/* Writes the records whose code has not changed, by its headers read again, and empties the batch.
 * Of the window only its own bytes stay valid, not a piece. False: the sink is full. */
bool hs_batch_flush(struct hs_snapshot *s, const struct hs_heap *heap);

/* threads.c: writes a SNAP_THREAD record for each Java thread whose name can be read; with `known`,
 * only for new names. A virtual thread has its carrier's. False: the sink is full. */
bool hs_threads_write(struct hs_snapshot *s, struct hs_known_threads *known);

/* Encoding of references and class words: (address - base) >> shift. */
struct narrow {
	bool used;
	unsigned shift;
	uint64_t base;
};

/* The place of an object's class. */
struct class_word {
	struct narrow narrow;
	bool in_mark; /* compact headers, JDK 24: in the upper bits of the mark */
	uint32_t at;
	uint8_t bytes;
};

/* Reads how references are encoded. False: unknown. */
bool hs_ref_encoding(struct hs *hs, struct narrow *ret);

/* Reads where the class of an object is. False: unknown. */
bool hs_class_encoding(struct hs *hs, struct class_word *ret);

static inline uint64_t hs_widen(const struct narrow *n, uint64_t value)
{
	return value && n->used ? n->base + (value << n->shift) : value;
}

/* Returns the class of an object, 0: none. */
uint64_t hs_class_of(struct hs *hs, const struct class_word *class, uint64_t object);

/* objects.c: reads how Java objects are laid out, of a release of the JDK. */
void hs_objects_read(struct hs *hs, uint32_t jdk, struct snap_objects *ret);

/* asked.c: writes the records that are kept for this snapshot, and forgets them. False: the sink is
 * full. */
#if __STDC_HOSTED__
bool hs_asked_write(struct hs_snapshot *s);
#else
static inline bool hs_asked_write(const struct hs_snapshot *s)
{
	(void)s;
	return true; /* the agent is not asked */
}
#endif

/* On the host only: writes the methods among n addresses, and keeps them for the next snapshot.
 * False: the sink is full. */
bool hs_asked_answer(struct hs_snapshot *s, struct hs_asked *asked, const struct hs_heaps *heaps,
		     const uint64_t *at, size_t n);

/* stubs.c: writes a SNAP_STUB record for each stub with a name (one blob, "StubRoutines (2)" or
 * "vtable chunks", holds many); with `known`, which a whole snapshot sets anew, a delta writes only
 * new ones. The batch must be empty. False: the sink is full. */
bool hs_stubs_write(struct hs_snapshot *s, const struct hs_heaps *heaps,
		    struct hs_known_stubs *known);

#endif
