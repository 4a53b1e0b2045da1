// SPDX-License-Identifier: Apache-2.0
#include "hs_snapshot.h"

#include "hs_clock.h"
#include "hs_flags.h"
#include "hs_threads.h"

/* The first release whose packed numbers leave out 0 (JDK-8292758). */
#define JDK_EXCLUDES_ZERO 20

static uint32_t jdk_read(struct hs *hs)
{
	uint64_t n;

	/* JDK 8 calls its HotSpot 25. */
	if (hs_has(hs, HS_JDK_CURRENT) && hs_has(hs, HS_JDK_MAJOR) &&
	    hs_get(hs, hs_inside(hs, 0, HS_JDK_CURRENT), HS_JDK_MAJOR, &n) && n != 0)
		return (uint32_t)n;
	return hs_get(hs, 0, HS_VM_MAJOR, &n) && n < 1000 ? (uint32_t)n : 0;
}

static bool flag_is_on(struct hs *hs, const char *name)
{
	uint64_t addr;
	uint8_t value;

	return hs_flag(hs, name, &addr, &value) && value != 0;
}

static void bounds_read(struct snapshot *s, const struct hs_heaps *heaps)
{
	uint64_t low, high;

	s->low = UINT64_MAX;
	s->high = 0;
	for (unsigned i = 0; i < heaps->count; i++) {
		if (heaps->heap[i].low < s->low)
			s->low = heaps->heap[i].low;
		if (heaps->heap[i].high > s->high)
			s->high = heaps->heap[i].high;
	}
	/* What is reserved, where it is known: code may still be made there. */
	if (hs_get(&s->hs, 0, HS_CODE_LOW, &low) && hs_get(&s->hs, 0, HS_CODE_HIGH, &high) &&
	    low <= s->low && high >= s->high) {
		s->low = low;
		s->high = high;
	}
}

static bool head_write(struct snapshot *s, uint64_t time, bool methods_complete)
{
	struct hs *hs = &s->hs;
	struct snap_head head = {
		.record = {SNAP_HEAD, sizeof(head)},
		.magic = SNAP_MAGIC,
		.version = SNAP_VERSION,
		.time = time,
		.code_low = s->low,
		.code_high = s->high,
		.jdk = s->jdk,
	};

	if (flag_is_on(hs, "PreserveFramePointer"))
		head.flags |= SNAP_PRESERVE_FP;
	if (flag_is_on(hs, "DebugNonSafepoints"))
		head.flags |= SNAP_DEBUG_NON_SAFE;
	if (methods_complete)
		head.flags |= SNAP_METHODS_COMPLETE;
	hs_get(hs, 0, HS_CALL_STUB_RETURN, &head.call_stub_return);
	hs_get(hs, 0, HS_CONT_RETURN, &head.cont_return);
	hs_constant(hs, "frame::entry_frame_call_wrapper_offset", &head.entry_wrapper);
#ifdef __x86_64__
	head.interpreter_method = -3;
	head.interpreter_bcp = s->jdk == 8 ? -7 : -8;
#endif
	return snapshot_emit(s, &head, sizeof(head));
}

/* Moves the window; the batch is of what it has shown so far. False: the sink takes no more. */
static bool window_move(struct snapshot *s, const struct hs_heap *heap, uint64_t at)
{
	if (!snapshot_batch_flush(s, heap))
		return false;
	hs_mem_window(&s->hs.mem, at, (size_t)(heap->high - at));
	return true;
}

/* False: the sink takes no more. */
static bool heap_write(struct snapshot *s, const struct hs_heap *heap, unsigned *budget)
{
	struct hs_mem *mem = &s->hs.mem;
	struct hs_walk walk;
	struct hs_block block;

	hs_walk_start(&walk, heap, *budget);
	while (hs_walk_seek(&s->hs, &walk)) {
		uint64_t at = walk.next;

		if (!hs_mem_in_window(mem, at, HS_BLOB_HEADER) && !window_move(s, heap, at))
			return false;
		if (!hs_walk_next(&s->hs, &walk, &block) || !block.used)
			continue;
		/* All of a method at once, unless it is larger than the window. */
		if (mem->window.at != at && !hs_mem_in_window(mem, at, (size_t)block.size) &&
		    !window_move(s, heap, at))
			return false;
		if (!snapshot_batch_room(s) && !snapshot_batch_flush(s, heap))
			return false;
		snapshot_code(s, &block);
	}
	if (walk.cut)
		s->result->status = DFG_DUMP_READ;
	*budget = walk.budget;
	return snapshot_batch_flush(s, heap);
}

static void end_write(struct snapshot *s)
{
	struct snap_end end = {
		.record = {SNAP_END, sizeof(end)},
		.status = (uint32_t)s->result->status,
		.codes = s->result->entries,
		.methods = s->methods_written,
		.skipped = s->result->skipped,
	};

	snapshot_emit(s, &end, sizeof(end));
}

static bool snapshot_start(struct snapshot *s, const struct hs_source *source,
			   const struct hs_sink *sink, struct hs_result *result)
{
	*result = (struct hs_result){.status = DFG_DUMP_OK};
	s->sink = sink;
	s->result = result;
	s->methods_written = 0;
	s->full = false;
	s->batch.codes = 0;
	s->batch.names = 0;
	s->batch.used = 0;
	hs_mem_init(&s->hs.mem, source, s->window, sizeof(s->window));
	hs_methods_init(&s->methods);
	hs_scopes_init(&s->scopes);
	return hs_tables_read(&s->hs);
}

void hs_dump_snapshot(const struct hs_source *source, const struct hs_sink *sink, void *work,
		      struct hs_result *ret)
{
	unsigned budget = HS_BLOCKS_MAX;
	struct snapshot *s = work;
	uint64_t time = hs_clock_ns();
	struct hs_heaps heaps;
	bool complete, room;

	if (!snapshot_start(s, source, sink, ret) || !hs_heaps_read(&s->hs, &heaps)) {
		ret->status = DFG_DUMP_NO_TABLES;
		return;
	}
	s->jdk = jdk_read(&s->hs);
	s->base = s->jdk >= JDK_EXCLUDES_ZERO;
	bounds_read(s, &heaps);
	complete = hs_methods_walk(&s->hs, &s->methods);
	room = head_write(s, time, complete) && snapshot_methods_all(s);
	for (unsigned i = 0; room && i < heaps.count; i++)
		room = heap_write(s, &heaps.heap[i], &budget);
	if (room && snapshot_threads(s, NULL))
		end_write(s);
}
