// SPDX-License-Identifier: Apache-2.0
#include "hotspot/name.h"
#include "hotspot/snapshot.h"

/* Makes the record at the end of the batch. Its length, 0: there is no name. */
static size_t record_make(struct snapshot *s, uint64_t method)
{
	uint8_t *at = s->batch.records + s->batch.used;
	char *text = (char *)at + sizeof(struct snap_method);
	size_t name = hs_name_method(&s->hs, method, text);
	size_t file, len, padded;
	struct snap_method record;

	if (name == 0)
		return 0;
	file = hs_name_file(&s->hs, method, text + name, SNAP_FILE_MAX);
	len = sizeof(record) + name + file;
	padded = (len + 7) & ~(size_t)7;
	__builtin_memset(at + len, 0, padded - len);
	record = (struct snap_method){
		.record = {SNAP_METHOD, (uint32_t)padded},
		.id = method,
		.name_len = (uint32_t)name,
		.file_len = (uint32_t)file,
	};
	__builtin_memcpy(at, &record, sizeof(record));
	return padded;
}

uint64_t snapshot_method(struct snapshot *s, uint64_t method)
{
	struct snap_batch *b = &s->batch;
	uint64_t *slot = hs_methods_slot(&s->methods, method);
	uint64_t print;
	size_t len;

	if (slot && hs_method_state(*slot) == HS_METHOD_WRITTEN)
		return method;
	if (slot && hs_method_state(*slot) == HS_METHOD_NAMELESS)
		return 0;
	/* The set can be full: then a method is written each time. */
	if ((!slot && (method == 0 || (method & 7) != 0)) || b->names == SNAP_BATCH_NAMES ||
	    b->used + SNAP_METHOD_MAX + SNAP_RECORD > SNAP_BATCH)
		return 0;
	print = s->state ? hs_name_print(&s->hs, method) : 0;
	len = record_make(s, method);
	if (slot)
		*slot |= len > 0 ? HS_METHOD_WRITTEN : HS_METHOD_NAMELESS;
	b->name[b->names].slot = slot;
	b->name[b->names++].print = len > 0 ? print : 0;
	b->used += len;
	return len > 0 ? method : 0;
}

void snapshot_methods_leave(struct snapshot *s, uint32_t from)
{
	struct hs_methods *m = &s->methods;

	for (uint32_t i = from; i < m->count; i++)
		if (hs_named_has(&s->state->named,
				 hs_name_print(&s->hs, m->slot[m->order[i]] & ~7ull)))
			m->order[i] = HS_METHODS_LEFT;
}

bool snapshot_methods_all(struct snapshot *s, uint32_t count)
{
	struct hs_methods *m = &s->methods;

	for (uint32_t i = 0; i < count; i++) {
		if (m->order[i] == HS_METHODS_LEFT)
			continue;
		if (!snapshot_batch_room(s) && !snapshot_batch_flush(s, NULL))
			return false;
		snapshot_method(s, m->slot[m->order[i]] & ~7ull);
	}
	return snapshot_batch_flush(s, NULL);
}
