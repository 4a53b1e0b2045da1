// SPDX-License-Identifier: Apache-2.0
#include "hotspot/clock.h"
#include "hotspot/snapshot.h"

bool snapshot_emit(struct snapshot *s, const void *record, size_t len)
{
	if (s->full || !s->sink->write(s->sink->arg, record, len)) {
		s->full = true;
		s->result->status = DFG_DUMP_NO_SPACE;
		return false;
	}
	s->result->bytes += len;
	return true;
}

/* Writes the records from one place of the batch to another. */
static bool records_write(struct snapshot *s, size_t from, size_t to)
{
	while (from < to) {
		struct snap_record record;

		__builtin_memcpy(&record, s->batch.records + from, sizeof(record));
		if (!snapshot_emit(s, s->batch.records + from, record.size))
			return false;
		if (record.type == SNAP_METHOD)
			s->methods_written++;
		else
			s->result->entries++;
		from += record.size;
	}
	return true;
}

void snapshot_names_forget(struct snapshot *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (s->batch.name[i].slot)
			*s->batch.name[i].slot &= ~7ull;
}

static void names_keep(struct snapshot *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; s->state && i < to; i++)
		hs_named_add(&s->state->named, s->batch.name[i].print);
}

/* Reads the headers of all codes in the batch again. */
static void headers_gather(struct snapshot *s)
{
	struct hs_pieces *p = &s->hs.mem.pieces;

	for (p->count = 0; p->count < s->batch.codes; p->count++)
		p->at[p->count] = s->batch.code[p->count].block.start;
	hs_mem_gather(&s->hs.mem, hs_blob_header(&s->hs));
}

void snapshot_refresh(struct snapshot *s)
{
	uint64_t now = hs_clock_ns();

	if (!s->delta && now - s->fresh < SNAP_FRESH_NS)
		return;
	hs_mem_forget(&s->hs.mem);
	s->fresh = now;
}

bool snapshot_batch_flush(struct snapshot *s, const struct hs_heap *heap)
{
	struct snap_batch *b = &s->batch;
	struct hs_mem *mem = &s->hs.mem;
	const struct hs_window shown = mem->window;
	size_t from = 0;
	uint32_t names = 0;
	bool room = true;

	headers_gather(s);
	for (uint32_t i = 0; i < b->codes && room; i++) {
		hs_mem_show(mem, i);
		if (hs_blob_still(&s->hs, heap, &b->code[i].block, &b->code[i].blob)) {
			room = records_write(s, from, b->code[i].end);
			names_keep(s, names, b->code[i].names_end);
		} else {
			snapshot_names_forget(s, names, b->code[i].names_end);
			s->result->skipped++;
			if (b->code[i].known)
				hs_state_drop(b->code[i].known);
		}
		from = b->code[i].end;
		names = b->code[i].names_end;
	}
	mem->window = shown;
	mem->pieces.count = 0; /* the walk's are overwritten */
	room = room && records_write(s, from, b->used);
	names_keep(s, names, b->names);
	b->codes = 0;
	b->names = 0;
	b->used = 0;
	snapshot_refresh(s);
	return room;
}
