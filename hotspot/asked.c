// SPDX-License-Identifier: Apache-2.0
/* Answers the host between two snapshots, and keeps some of it for the next one. The agent is not
 * asked. */
#include "hotspot/records.h"

#if __STDC_HOSTED__
bool hs_asked_write(struct hs_snapshot *s)
{
	struct hs_asked *a = s->state ? &s->state->asked : NULL;
	const size_t used = a ? a->used : 0;
	struct snap_record record;

	for (size_t at = 0; at < used; at += record.size) {
		__builtin_memcpy(&record, a->records + at, sizeof(record));
		if (!hs_record_write(s, a->records + at, record.size))
			return false;
	}
	if (a)
		a->used = 0;
	return true;
}

static bool is_code(const struct hs_heaps *heaps, uint64_t addr)
{
	for (unsigned i = 0; i < heaps->count; i++)
		if (hs_heap_has(&heaps->heap[i], addr))
			return true;
	return false;
}

/* Keeps a record for the next snapshot, if there is room. */
static void keep(struct hs_asked *a, uint32_t type, const void *record, size_t len)
{
	struct snap_record head = {type, (uint32_t)len};

	if (len < sizeof(head) || len > sizeof(a->records) - a->used)
		return;
	__builtin_memcpy(a->records + a->used, record, len);
	__builtin_memcpy(a->records + a->used, &head, sizeof(head));
	a->used += len;
}

void hs_unloaded(void *state, uint64_t time)
{
	const struct snap_unloaded u = {.time = time};

	keep(&((struct hs_state *)state)->asked, SNAP_UNLOADED, &u, sizeof(u));
}

bool hs_asked_answer(struct hs_snapshot *s, struct hs_asked *asked, const struct hs_heaps *heaps,
		     const uint64_t *at, size_t n)
{
	for (size_t i = 0; i < n && hs_batch_has_room(s); i++) {
		const uint8_t *record = s->batch.records + s->batch.used;
		size_t len = 0;

		if (at[i] % 8 == 0 && !is_code(heaps, at[i]))
			len = hs_record_make_method(s, at[i]);
		keep(asked, SNAP_ASKED, record, len);
		s->batch.used += len;
	}
	return hs_batch_flush(s, NULL);
}

/* Keeps a METHOD or CODE record of a dump. */
static bool take_record(void *arg, const char *record, size_t len)
{
	struct snap_record head;

	__builtin_memcpy(&head, record, sizeof(head));
	if (head.type == SNAP_METHOD)
		keep(arg, SNAP_ASKED, record, len);
	else if (head.type == SNAP_CODE)
		keep(arg, SNAP_ASKED_CODE, record, len);
	return true;
}

void hs_keep_codes(const struct hs_source *source, void *work, void *state, const uint64_t *at,
		   size_t n)
{
	struct hs_state *known = state;
	const struct hs_sink sink = {.write = take_record, .arg = &known->asked};
	struct hs_result ignored;

	hs_dump_codes(source, &sink, work, state, true, at, n, &ignored);
}
#endif
