// SPDX-License-Identifier: Apache-2.0
#include "hs_name.h"
#include "hs_snapshot.h"

/* Makes the record at the end of what is pending. Its length, 0: there is no name. */
static size_t record_make(struct snapshot *s, uint64_t method)
{
	uint8_t *at = s->pending.records + s->pending.used;
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

uint64_t snapshot_method(struct snapshot *s, uint64_t method, bool *ret_full)
{
	struct snap_pending *p = &s->pending;
	uint64_t *slot = hs_methods_slot(&s->methods, method);
	size_t len;

	*ret_full = false;
	if (slot && hs_method_state(*slot) == HS_METHOD_WRITTEN)
		return method;
	if (!slot && (method == 0 || (method & 7) != 0))
		return 0;
	if (slot && hs_method_state(*slot) == HS_METHOD_NAMELESS)
		return 0;
	if (p->used + SNAP_METHOD_MAX > SNAP_PENDING) {
		*ret_full = true;
		return 0;
	}
	len = record_make(s, method);
	if (slot)
		*slot |= len > 0 ? HS_METHOD_WRITTEN : HS_METHOD_NAMELESS;
	/* The set can be full: then a method is written each time. */
	p->slot[p->count++] = slot;
	p->used += len;
	return len > 0 ? method : 0;
}

bool snapshot_methods_write(struct snapshot *s)
{
	struct snap_pending *p = &s->pending;

	for (size_t at = 0; at < p->used;) {
		struct snap_record record;

		__builtin_memcpy(&record, p->records + at, sizeof(record));
		if (!snapshot_emit(s, p->records + at, record.size))
			return false;
		s->methods_written++;
		at += record.size;
	}
	p->count = 0;
	p->used = 0;
	return true;
}

void snapshot_methods_drop(struct snapshot *s)
{
	struct snap_pending *p = &s->pending;

	for (uint32_t i = 0; i < p->count; i++)
		if (p->slot[i])
			*p->slot[i] &= ~7ull;
	p->count = 0;
	p->used = 0;
}

bool snapshot_methods_all(struct snapshot *s)
{
	struct hs_methods *m = &s->methods;
	bool full;

	for (uint32_t i = 0; i < m->count; i++) {
		uint64_t method = m->slot[m->order[i]] & ~7ull;

		snapshot_method(s, method, &full);
		if (!full)
			continue;
		if (!snapshot_methods_write(s))
			return false;
		snapshot_method(s, method, &full);
	}
	return snapshot_methods_write(s);
}
