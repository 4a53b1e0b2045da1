// SPDX-License-Identifier: Apache-2.0
#include "hotspot/clock.h"
#include "hotspot/metadata.h"
#include "hotspot/records.h"

/* The first release whose packed numbers exclude 0 (JDK-8292758). */
#define JDK_EXCLUDES_ZERO 20

/* ---- HEAD and END ---- */

static uint32_t jdk_read(struct hs *hs)
{
	uint64_t n;

	/* JDK 8 has HotSpot 25. */
	if (hs_has(hs, HS_JDK_CURRENT) && hs_has(hs, HS_JDK_MAJOR) &&
	    hs_get(hs, hs_inside(hs, 0, HS_JDK_CURRENT), HS_JDK_MAJOR, &n) && n != 0)
		return (uint32_t)n;
	return hs_get(hs, 0, HS_VM_MAJOR, &n) && n < 1000 ? (uint32_t)n : 0;
}

static uint64_t flag_find(struct hs *hs, const char *name)
{
	uint64_t addr;
	uint8_t value;

	return hs_flag(hs, name, &addr, &value) ? addr : 0;
}

static bool flag_is_on(struct hs *hs, uint64_t addr)
{
	uint8_t value;

	return addr != 0 && hs_mem_read(&hs->mem, addr, &value, 1) && value != 0;
}

/* The place of a field, or of one in a field. */
static uint32_t place_of(const struct hs *hs, enum hs_field_id id)
{
	return hs_has(hs, id) ? (uint32_t)hs->tables.field[id].place : SNAP_NONE;
}

static uint32_t place_in(const struct hs *hs, enum hs_field_id outer, enum hs_field_id id)
{
	return hs_has(hs, outer) && hs_has(hs, id) ? place_of(hs, outer) + place_of(hs, id)
						   : SNAP_NONE;
}

static struct snap_layout layout_read(const struct hs *hs)
{
	const bool has_refs = !hs_has(hs, HS_SYMBOL_LENGTH);

	return (struct snap_layout){
		.record = {SNAP_LAYOUT, sizeof(struct snap_layout)},
		.class_name = place_of(hs, HS_KLASS_NAME),
		/* With the references it is the upper half. */
		.symbol_length = has_refs ? place_of(hs, HS_SYMBOL_LENGTH_REFS) + 2
					  : place_of(hs, HS_SYMBOL_LENGTH),
		.symbol_body = place_of(hs, hs_has(hs, HS_SYMBOL_BODY) ? HS_SYMBOL_BODY
								       : HS_SYMBOL_BODY_0),
		.allocated = place_of(hs, HS_THREAD_ALLOCATED),
		.tlab_start = place_in(hs, HS_THREAD_TLAB, HS_TLAB_START),
		.tlab_top = place_in(hs, HS_THREAD_TLAB, HS_TLAB_TOP),
	};
}

/* Reads the header fields that never change. */
static void head_read(struct hs_snapshot *s)
{
	struct hs *hs = &s->hs;
	struct snap_head *head = &s->fixed.head;

	*head = (struct snap_head){
		.record = {SNAP_HEAD, sizeof(*head)},
		.magic = SNAP_MAGIC,
		.version = SNAP_VERSION,
		.jdk = jdk_read(hs),
	};
	hs_constant(hs, "frame::entry_frame_call_wrapper_offset", &head->entry_wrapper);
	/* cpu/x86/frame_x86.hpp, cpu/aarch64/frame_aarch64.hpp */
	head->interpreter_method = -3;
#ifdef __aarch64__
	head->interpreter_bcp = head->jdk == 8 ? -7 : -9;
#else
	head->interpreter_bcp = head->jdk == 8 ? -7 : -8;
#endif
	s->fixed.layout = layout_read(hs);
	hs_objects_read(hs, head->jdk, &s->fixed.objects);
	s->fixed.preserve_fp = flag_find(hs, "PreserveFramePointer");
	s->fixed.debug_non_safe = flag_find(hs, "DebugNonSafepoints");
}

/* Reads the bounds of the code, and two stubs, which a starting JVM does not have yet. */
static void bounds_read(struct hs_snapshot *s, const struct hs_heaps *heaps)
{
	struct snap_head *head = &s->fixed.head;
	uint64_t low, high;

	hs_get(&s->hs, 0, HS_CALL_STUB_RETURN, &head->call_stub_return);
	hs_get(&s->hs, 0, HS_CONT_RETURN, &head->cont_return);
	head->code_low = heaps->heap[0].low;
	head->code_high = heaps->heap[heaps->count - 1].high;
	/* The reserved range, if known: the heaps may still grow. */
	if (hs_get(&s->hs, 0, HS_CODE_LOW, &low) && hs_get(&s->hs, 0, HS_CODE_HIGH, &high) &&
	    low <= head->code_low && high >= head->code_high) {
		head->code_low = low;
		head->code_high = high;
	}
}

static bool head_write(struct hs_snapshot *s, uint64_t time, uint32_t flags)
{
	struct snap_head head = s->fixed.head;

	head.time = time;
	head.flags = flags | (s->delta ? SNAP_DELTA : 0);
	if (flag_is_on(&s->hs, s->fixed.preserve_fp))
		head.flags |= SNAP_PRESERVE_FP;
	if (flag_is_on(&s->hs, s->fixed.debug_non_safe))
		head.flags |= SNAP_DEBUG_NON_SAFE;
	return hs_record_write(s, &head, sizeof(head)) &&
	       (s->delta || (hs_record_write(s, &s->fixed.layout, sizeof(s->fixed.layout)) &&
			     hs_record_write(s, &s->fixed.objects, sizeof(s->fixed.objects))));
}

static bool end_write(struct hs_snapshot *s)
{
	struct snap_end end = {
		.record = {SNAP_END, sizeof(end)},
		.status = (uint32_t)s->result->status,
		.codes = s->result->entries,
		.methods = s->methods_written,
		.skipped = s->result->skipped,
		.time = hs_clock_ns(),
	};

	return hs_record_write(s, &end, sizeof(end));
}

/* ---- code and methods ---- */

/* Reads the header of the block at walk->next: of a map or a delta as one piece of many, since the
 * rest of most blocks is not needed, else with all that follows it. */
static void header_read(struct hs_snapshot *s, const struct hs_walk *walk)
{
	struct hs_mem *mem = &s->hs.mem;
	struct hs_pieces *p = &mem->pieces;

	if (hs_mem_in_window(mem, walk->next, HS_BLOB_HEADER))
		return;
	if (!s->delta && !s->is_map) {
		hs_mem_window(mem, walk->next, (size_t)(walk->heap->high - walk->next));
		return;
	}
	while (s->piece < p->count && p->at[s->piece] < walk->next)
		s->piece++;
	if (s->piece >= p->count || p->at[s->piece] != walk->next) {
		hs_walk_read_ahead(&s->hs, walk, hs_blob_header(&s->hs));
		s->piece = 0;
	}
	if (p->count > 0)
		hs_mem_use_piece(mem, s->piece);
}

/* Reads all of a block into the window, as far as it fits. False: it is no longer valid. */
static bool block_read(struct hs_snapshot *s, const struct hs_block *block, struct hs_blob *ret,
		       char text[HS_BLOB_NAME_MAX])
{
	struct hs_mem *mem = &s->hs.mem;

	if (hs_mem_in_window(mem, block->start, (size_t)block->size))
		return true;
	hs_mem_window(mem, block->start, (size_t)block->size);
	return hs_blob_read(&s->hs, block, ret, text);
}

/* Writes a used block whose header has been read. False: the sink is full. */
static bool block_write(struct hs_snapshot *s, const struct hs_heap *heap,
			const struct hs_block *block)
{
	char text[HS_BLOB_NAME_MAX];
	struct hs_blob blob;

	if (!hs_blob_read(&s->hs, block, &blob, text)) {
		s->result->skipped++;
		return true;
	}
	if (hs_text_is(text, "vtable chunks") && s->vtables < HS_VTABLES_MAX)
		s->vtable[s->vtables++] = (struct hs_span){blob.code, blob.code_end};
	if (hs_blob_is_dead(&blob) ||
	    (s->state &&
	     hs_state_unchanged(s->state, blob.code, hs_blob_fingerprint(&s->hs, &blob))))
		return true;
	if (!hs_batch_has_room(s) && !hs_batch_flush(s, heap))
		return false;
	if (s->is_map)
		hs_record_line(s, block, &blob, text);
	else if (block_read(s, block, &blob, text))
		hs_record_code(s, block, &blob, text);
	else
		s->result->skipped++;
	return true;
}

/* Writes all code. False: the sink is full. */
static bool heaps_write(struct hs_snapshot *s, const struct hs_heaps *heaps)
{
	unsigned budget = HS_BLOCKS_MAX;

	for (unsigned i = 0; i < heaps->count; i++) {
		const struct hs_heap *heap = &heaps->heap[i];
		struct hs_walk walk;
		struct hs_block block;

		hs_walk_start(&walk, heap, budget);
		while (hs_walk_seek(&s->hs, &walk)) {
			header_read(s, &walk);
			if (hs_walk_next(&s->hs, &walk, &block) && block.used &&
			    !block_write(s, heap, &block))
				return false;
		}
		if (walk.cut)
			s->result->status = DFG_DUMP_READ;
		budget = walk.budget;
		if (!hs_batch_flush(s, heap))
			return false;
	}
	return true;
}

/* Skips methods of the set, from an index on, that earlier snapshots have written. */
static void methods_skip_written(struct hs_snapshot *s, uint32_t from)
{
	struct hs_methods *m = &s->methods;

	for (uint32_t i = from; i < m->count; i++)
		if (hs_written_has(&s->state->written,
				   hs_method_fingerprint(&s->hs, m->slot[m->order[i]] & ~7ull)))
			m->order[i] = HS_METHODS_LEFT;
}

/* Writes METHOD records for the first `count` methods of the set, but for those skipped. False: the
 * sink is full. */
static bool methods_write(struct hs_snapshot *s, uint32_t count)
{
	struct hs_methods *m = &s->methods;

	for (uint32_t i = 0; i < count; i++) {
		if (m->order[i] == HS_METHODS_LEFT)
			continue;
		if (!hs_batch_has_room(s) && !hs_batch_flush(s, NULL))
			return false;
		hs_record_method(s, m->slot[m->order[i]] & ~7ull);
	}
	return hs_batch_flush(s, NULL);
}

/* Writes the code that is gone; uses the batch's memory. False: the sink is full. */
static bool gone_write(struct hs_snapshot *s)
{
	uint32_t count = hs_state_gone(s->state);
	uint64_t *start = (uint64_t *)(s->batch.records + sizeof(struct snap_gone));
	uint32_t most = (HS_BATCH - sizeof(struct snap_gone)) / sizeof(*start);

	for (uint32_t i = 0; i < count;) {
		uint32_t n = count - i < most ? count - i : most;
		struct snap_gone gone = {.count = n};

		for (uint32_t k = 0; k < n; k++)
			start[k] = hs_state_gone_at(s->state, i++);
		gone.record = (struct snap_record){SNAP_GONE,
						   (uint32_t)(sizeof(gone) + n * sizeof(*start))};
		__builtin_memcpy(s->batch.records, &gone, sizeof(gone));
		if (!hs_record_write(s, s->batch.records, gone.record.size))
			return false;
	}
	return true;
}

/* ---- dumps ---- */

static void dump_init(struct hs_snapshot *s, const struct hs_source *source,
		      const struct hs_sink *sink, struct hs_state *state, struct hs_result *result)
{
	*result = (struct hs_result){.status = DFG_DUMP_OK};
	s->sink = sink;
	s->result = result;
	s->state = state;
	s->is_map = false;
	s->nameless = false;
	s->delta = state && state->ready;
	s->methods_written = 0;
	s->full = false;
	s->piece = 0;
	s->fresh = 0;
	s->vtables = 0;
	s->batch.codes = 0;
	s->batch.names = 0;
	s->batch.used = 0;
	hs_mem_init(&s->hs.mem, source, s->window, sizeof(s->window));
}

static void fixed_copy(struct hs_snapshot *s, const struct hs_state *from)
{
	s->hs.tables = from->tables;
	s->fixed = from->fixed;
}

/* Reads the tables and the fixed header fields, and keeps them in the state; a delta has them from
 * there. */
static bool fixed_read(struct hs_snapshot *s, struct hs_state *state)
{
	if (s->delta) {
		fixed_copy(s, state);
		return true;
	}
	if (!hs_tables_read(&s->hs))
		return false;
	head_read(s);
	if (state) {
		state->tables = s->hs.tables;
		state->fixed = s->fixed;
		state->has_tables = true;
	}
	return true;
}

/* Adds the methods of classes to the set. Returns the header's flag for that. */
static uint32_t methods_list(struct hs_snapshot *s, uint64_t time, bool named)
{
	struct hs_loaders *loaders = s->state ? &s->state->loaders : NULL;
	enum hs_methods_of of = s->with_rare ? HS_METHODS_OF_NEW : HS_METHODS_OF_NEW_LOADERS;
	bool new = s->delta ? hs_methods_walk(&s->hs, &s->methods, loaders, of) : false;
	bool complete;
	uint32_t count = s->methods.count;

	/* Memory of unloaded methods is reused; a list of all methods shows which. */
	if (s->delta && !named && !hs_loaders_due(loaders, time))
		return 0;
	complete = hs_methods_walk(&s->hs, &s->methods, loaders, HS_METHODS_OF_ALL);
	if (named && new) {
		/* Except those of new classes, which may be where others were. */
		methods_skip_written(s, count);
		return complete ? SNAP_METHODS_NAMED : 0;
	}
	if (loaders) {
		hs_loaders_listed(loaders, time);
		hs_written_reset(&s->state->written);
	}
	return complete ? SNAP_METHODS_COMPLETE : 0;
}

/* False: the sink is full. */
static bool records_write(struct hs_snapshot *s, const struct hs_heaps *heaps, uint64_t time,
			  bool named)
{
	uint32_t listed;

	s->with_rare = !s->delta || named || time - s->state->rare_time >= HS_RARE_NS;
	if (!head_write(s, time, methods_list(s, time, named)) || !hs_asked_write(s))
		return false;
	listed = s->methods.count;
	hs_batch_refresh(s);
	/* Code adds its methods as it is read; the rest of the listed ones follow. */
	if (!heaps_write(s, heaps) || !methods_write(s, listed))
		return false;
	/* After a walk that was cut nothing is known to be gone. */
	if (s->delta && s->result->status == DFG_DUMP_OK && !gone_write(s))
		return false;
	if (s->with_rare && (!hs_threads_write(s, s->state ? &s->state->threads : NULL) ||
			     !hs_stubs_write(s, heaps, s->state ? &s->state->stubs : NULL)))
		return false;
	if (s->with_rare && s->state)
		s->state->rare_time = time;
	if (hs_mem_is_spent(&s->hs.mem))
		s->result->status = DFG_DUMP_READ;
	return end_write(s);
}

/* Reads what every dump requires. False: a table is missing. */
static bool tables_read(struct hs_snapshot *s, struct hs_state *known, struct hs_heaps *ret)
{
	hs_methods_init(&s->methods);
	hs_scopes_init(&s->scopes);
	if (!fixed_read(s, known) || !hs_heaps_read(&s->hs, ret)) {
		s->result->status = DFG_DUMP_NO_TABLES;
		return false;
	}
	s->base = s->fixed.head.jdk >= JDK_EXCLUDES_ZERO;
	bounds_read(s, ret);
	return true;
}

static void snapshot_write(struct hs_snapshot *s, bool named)
{
	uint64_t time = hs_clock_ns();
	struct hs_heaps heaps;

	if (!tables_read(s, s->state, &heaps))
		return;
	if (s->state)
		hs_state_begin(s->state, s->fixed.head.code_low);
	if (records_write(s, &heaps, time, named) && s->state && s->result->status == DFG_DUMP_OK)
		hs_state_commit(s->state);
	else if (s->state)
		hs_state_reset(s->state);
	if (s->result->status == DFG_DUMP_OK && !hs_tables_whole(&s->hs))
		s->result->status = DFG_DUMP_PARTLY;
}

void hs_dump_snapshot(const struct hs_source *source, const struct hs_sink *sink, void *work,
		      struct hs_result *ret)
{
	dump_init(work, source, sink, NULL, ret);
	snapshot_write(work, true);
}

void hs_dump_delta(const struct hs_source *source, const struct hs_sink *sink, void *work,
		   void *state, bool named, struct hs_result *ret)
{
	dump_init(work, source, sink, state, ret);
	snapshot_write(work, named);
}

#if __STDC_HOSTED__ /* the agent is not asked */
/* Writes the code at an address of the heap. False: the sink is full. */
static bool code_write_at(struct hs_snapshot *s, const struct hs_heap *heap, uint64_t addr)
{
	struct hs_block block;
	uint64_t start;

	if (!hs_block_find(&s->hs, heap, addr, &start))
		return true;
	hs_mem_window(&s->hs.mem, start, HS_BLOB_HEADER);
	return !hs_block_read(&s->hs, heap, start, &block) || !block.used ||
	       block_write(s, heap, &block);
}

static bool codes_write(struct hs_snapshot *s, const struct hs_heaps *heaps, const uint64_t *at,
			size_t n)
{
	for (unsigned i = 0; i < heaps->count; i++) {
		const struct hs_heap *heap = &heaps->heap[i];

		for (size_t k = 0; k < n; k++)
			if (hs_heap_has(heap, at[k]) && !code_write_at(s, heap, at[k]))
				return false;
		if (!hs_batch_flush(s, heap))
			return false;
	}
	return true;
}

void hs_dump_codes(const struct hs_source *source, const struct hs_sink *sink, void *work,
		   void *state, bool named, const uint64_t *at, size_t n, struct hs_result *ret)
{
	struct hs_snapshot *s = work;
	struct hs_state *known = state;
	uint64_t time = hs_clock_ns();
	struct hs_heaps heaps;

	dump_init(s, source, sink, NULL, ret);
	s->delta = known->has_tables;
	s->nameless = !named;
	if (!tables_read(s, known, &heaps))
		return;
	s->delta = true;
	if (head_write(s, time, 0) && codes_write(s, &heaps, at, n) &&
	    hs_asked_answer(s, &known->asked, &heaps, at, n))
		(void)end_write(s);
}
#endif

void hs_dump_map(const struct hs_source *source, const struct hs_sink *sink, void *work,
		 struct hs_result *ret)
{
	struct hs_snapshot *s = work;
	struct hs_heaps heaps;

	dump_init(s, source, sink, NULL, ret);
	s->is_map = true;
	if (hs_tables_read(&s->hs) && hs_heaps_read(&s->hs, &heaps))
		heaps_write(s, &heaps);
	else
		ret->status = DFG_DUMP_NO_TABLES;
}
