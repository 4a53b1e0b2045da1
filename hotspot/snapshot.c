// SPDX-License-Identifier: Apache-2.0
#include "hotspot/snapshot.h"

#include "hotspot/clock.h"
#include "hotspot/stubs.h"
#include "hotspot/threads.h"

/* The first release whose packed numbers leave out 0 (JDK-8292758). */
#define JDK_EXCLUDES_ZERO 20

/* Has the header of the block at walk->next at hand: as one piece of many where most blocks will be
 * as they were, else together with all that lies behind it. */
static void header_show(struct snapshot *s, const struct hs_walk *walk)
{
	struct hs_mem *mem = &s->hs.mem;
	struct hs_pieces *p = &mem->pieces;

	if (hs_mem_in_window(mem, walk->next, HS_BLOB_HEADER))
		return;
	if (!s->delta) {
		hs_mem_window(mem, walk->next, (size_t)(walk->heap->high - walk->next));
		return;
	}
	while (s->piece < p->count && p->at[s->piece] < walk->next)
		s->piece++;
	if (s->piece >= p->count || p->at[s->piece] != walk->next) {
		hs_walk_ahead(&s->hs, walk, hs_blob_header(&s->hs));
		s->piece = 0;
	}
	if (p->count > 0)
		hs_mem_show(mem, s->piece);
}

/* All of a block at once, as far as the window goes. False: it is none any more. */
static bool block_show(struct snapshot *s, const struct hs_block *block, struct hs_blob *ret,
		       char text[HS_BLOB_NAME_MAX])
{
	struct hs_mem *mem = &s->hs.mem;

	if (hs_mem_in_window(mem, block->start, (size_t)block->size))
		return true;
	hs_mem_window(mem, block->start, (size_t)block->size);
	return hs_blob_read(&s->hs, block, ret, text);
}

/* A block in use, whose header is at hand. False: the sink takes no more. */
static bool block_write(struct snapshot *s, const struct hs_heap *heap,
			const struct hs_block *block)
{
	char text[HS_BLOB_NAME_MAX];
	struct hs_blob blob;

	if (!hs_blob_read(&s->hs, block, &blob, text)) {
		s->result->skipped++;
		return true;
	}
	if (hs_blob_is_dead(&blob) ||
	    (s->state && hs_state_same(s->state, blob.code, hs_blob_print(&s->hs, &blob))))
		return true;
	if (!snapshot_batch_room(s) && !snapshot_batch_flush(s, heap))
		return false;
	if (block_show(s, block, &blob, text))
		snapshot_code(s, block, &blob, text);
	else
		s->result->skipped++;
	return true;
}

/* False: the sink takes no more. */
static bool heap_write(struct snapshot *s, const struct hs_heap *heap, unsigned *budget)
{
	struct hs_walk walk;
	struct hs_block block;

	hs_walk_start(&walk, heap, *budget);
	while (hs_walk_seek(&s->hs, &walk)) {
		header_show(s, &walk);
		if (hs_walk_next(&s->hs, &walk, &block) && block.used &&
		    !block_write(s, heap, &block))
			return false;
	}
	if (walk.cut)
		s->result->status = DFG_DUMP_READ;
	*budget = walk.budget;
	return snapshot_batch_flush(s, heap);
}

/* The code that has gone, in the batch's memory. False: the sink takes no more. */
static bool gone_write(struct snapshot *s)
{
	uint32_t count = hs_state_gone(s->state);
	uint64_t *start = (uint64_t *)(s->batch.records + sizeof(struct snap_gone));
	uint32_t most = (SNAP_BATCH - sizeof(struct snap_gone)) / sizeof(*start);

	for (uint32_t i = 0; i < count;) {
		uint32_t n = count - i < most ? count - i : most;
		struct snap_gone gone = {.count = n};

		for (uint32_t k = 0; k < n; k++)
			start[k] = hs_state_gone_at(s->state, i++);
		gone.record = (struct snap_record){SNAP_GONE,
						   (uint32_t)(sizeof(gone) + n * sizeof(*start))};
		__builtin_memcpy(s->batch.records, &gone, sizeof(gone));
		if (!snapshot_emit(s, s->batch.records, gone.record.size))
			return false;
	}
	return true;
}

static bool end_write(struct snapshot *s)
{
	struct snap_end end = {
		.record = {SNAP_END, sizeof(end)},
		.status = (uint32_t)s->result->status,
		.codes = s->result->entries,
		.methods = s->methods_written,
		.skipped = s->result->skipped,
		.time = hs_clock_ns(),
	};

	return snapshot_emit(s, &end, sizeof(end));
}

static void snapshot_init(struct snapshot *s, const struct hs_source *source,
			  const struct hs_sink *sink, struct hs_state *state,
			  struct hs_result *result)
{
	*result = (struct hs_result){.status = DFG_DUMP_OK};
	s->sink = sink;
	s->result = result;
	s->state = state;
	s->delta = state && state->ready;
	s->methods_written = 0;
	s->full = false;
	s->piece = 0;
	s->fresh = 0;
	s->batch.codes = 0;
	s->batch.names = 0;
	s->batch.used = 0;
	hs_mem_init(&s->hs.mem, source, s->window, sizeof(s->window));
	hs_methods_init(&s->methods);
	hs_scopes_init(&s->scopes);
}

/* What stays as it is is read once. */
static bool fixed_read(struct snapshot *s)
{
	if (s->delta) {
		s->hs.tables = s->state->tables;
		s->fixed = s->state->fixed;
		return true;
	}
	if (!hs_tables_read(&s->hs))
		return false;
	snapshot_head_read(s);
	if (s->state) {
		s->state->tables = s->hs.tables;
		s->state->fixed = s->fixed;
	}
	return true;
}

/* Adds to the methods those of classes. Returns what the head says of that. */
static uint32_t methods_list(struct snapshot *s, uint64_t time, bool last)
{
	struct hs_loaders *loaders = s->state ? &s->state->loaders : NULL;
	enum hs_methods_of of = s->seldom ? HS_METHODS_OF_NEW : HS_METHODS_OF_NEW_LOADERS;
	bool new = s->delta &&hs_methods_walk(&s->hs, &s->methods, loaders, of), complete;
	uint32_t count = s->methods.count;

	/* The memory of methods that went is used again: a list of all says which these are. */
	if (s->delta && !last && !hs_loaders_due(loaders, time))
		return 0;
	complete = hs_methods_walk(&s->hs, &s->methods, loaders, HS_METHODS_OF_ALL);
	if (last && new) {
		/* But for new classes, which may be where others were. */
		snapshot_methods_leave(s, count);
		return complete ? SNAP_METHODS_NAMED : 0;
	}
	if (loaders) {
		hs_loaders_listed(loaders, time);
		hs_named_forget(&s->state->named);
	}
	return complete ? SNAP_METHODS_COMPLETE : 0;
}

/* False: the sink takes no more. */
static bool records_write(struct snapshot *s, const struct hs_heaps *heaps, uint64_t time,
			  bool last)
{
	unsigned budget = HS_BLOCKS_MAX;
	uint32_t listed;

	s->seldom = !s->delta || last || time - s->state->seldom >= HS_SELDOM_NS;
	if (!snapshot_head_write(s, time, methods_list(s, time, last)))
		return false;
	listed = s->methods.count;
	snapshot_refresh(s);
	/* Code names its methods as it is read: those that are left come behind it. */
	for (unsigned i = 0; i < heaps->count; i++)
		if (!heap_write(s, &heaps->heap[i], &budget))
			return false;
	if (!snapshot_methods_all(s, listed))
		return false;
	/* A walk that was cut has not seen what it has not seen: all of that is as it was. */
	if (s->delta && s->result->status == DFG_DUMP_OK && !gone_write(s))
		return false;
	if (s->seldom && (!snapshot_threads(s, s->state ? &s->state->threads : NULL) ||
			  !snapshot_stubs(s, heaps, s->state ? &s->state->stubs : NULL)))
		return false;
	if (s->seldom && s->state)
		s->state->seldom = time;
	return end_write(s);
}

static void dump(struct snapshot *s, bool last)
{
	uint64_t time = hs_clock_ns();
	struct hs_heaps heaps;

	if (!fixed_read(s) || !hs_heaps_read(&s->hs, &heaps)) {
		s->result->status = DFG_DUMP_NO_TABLES;
		return;
	}
	s->base = s->fixed.head.jdk >= JDK_EXCLUDES_ZERO;
	snapshot_bounds_read(s, &heaps);
	if (s->state)
		hs_state_begin(s->state, s->fixed.head.code_low);
	if (records_write(s, &heaps, time, last) && s->state && s->result->status == DFG_DUMP_OK)
		hs_state_commit(s->state);
	else if (s->state)
		hs_state_forget(s->state);
	if (s->result->status == DFG_DUMP_OK && !hs_tables_whole(&s->hs))
		s->result->status = DFG_DUMP_PARTLY;
}

void hs_dump_snapshot(const struct hs_source *source, const struct hs_sink *sink, void *work,
		      struct hs_result *ret)
{
	snapshot_init(work, source, sink, NULL, ret);
	dump(work, true);
}

void hs_dump_delta(const struct hs_source *source, const struct hs_sink *sink, void *work,
		   void *state, bool last, struct hs_result *ret)
{
	snapshot_init(work, source, sink, state, ret);
	dump(work, last);
}
