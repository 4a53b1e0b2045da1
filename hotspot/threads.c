// SPDX-License-Identifier: Apache-2.0
#include "hotspot/threads.h"

#include "hotspot/object.h"

#define THREADS_MAX 16384u
#define NAME_MAX    768u /* bytes: 256 characters of Java */

_Static_assert(NAME_MAX <= DFG_NAME_MAX, "names fit the format");

/* All JavaThreads: a list of their addresses, in old releases a chain. */
struct walk {
	uint64_t list, count, next;
};

static bool walk_start(struct hs *hs, struct walk *w)
{
	uint64_t list;

	*w = (struct walk){0};
	if (!hs_get(hs, 0, HS_THREADS_LIST, &list))
		return hs_has(hs, HS_THREAD_NEXT) && hs_get(hs, 0, HS_THREADS_FIRST, &w->next);
	return list && hs_get(hs, list, HS_LIST_LENGTH, &w->count) &&
	       hs_get(hs, list, HS_LIST_THREADS, &w->list);
}

/* The i-th; 0 behind the last. */
static uint64_t walk_next(struct hs *hs, struct walk *w, unsigned i)
{
	uint64_t thread = w->next;

	if (w->list)
		return i < w->count && hs_mem_ptr(&hs->mem, w->list + i * 8ull, &thread) ? thread
											 : 0;
	if (thread && !hs_get(hs, thread, HS_THREAD_NEXT, &w->next))
		return 0;
	return thread;
}

/* 0: it has not begun, or has ended. */
static uint32_t thread_id(struct hs *hs, uint64_t thread)
{
	enum hs_field_id id = hs_has(hs, HS_THREAD_OS) ? HS_THREAD_OS : HS_THREAD_OS_25;
	uint64_t os, tid;

	return hs_get(hs, thread, id, &os) && os && hs_get(hs, os, HS_OS_THREAD_ID, &tid) &&
			       tid <= INT32_MAX
		       ? (uint32_t)tid
		       : 0;
}

/* Takes the name in. False: it was known. */
static bool is_news(struct hs_threads_known *k, uint32_t tid, const char *name, size_t len)
{
	uint32_t hash = 2166136261u, i = tid % HS_THREADS_SLOTS;

	for (size_t at = 0; at < len; at++)
		hash = (hash ^ (uint8_t)name[at]) * 16777619u;
	while (k->slot[i].tid && k->slot[i].tid != tid)
		i = (i + 1) % HS_THREADS_SLOTS;
	if (k->slot[i].tid == tid && k->slot[i].hash == hash)
		return false;
	if (!k->slot[i].tid && ++k->count > HS_THREADS_SLOTS / 2) {
		/* Full of threads that are no more: those that are will be written once again. */
		__builtin_memset(k, 0, sizeof(*k));
		return is_news(k, tid, name, len);
	}
	k->slot[i].tid = tid;
	k->slot[i].hash = hash;
	return true;
}

bool snapshot_threads(struct snapshot *s, struct hs_threads_known *known)
{
	_Alignas(8) char room[sizeof(struct snap_thread) + NAME_MAX + 8];
	char *name = room + sizeof(struct snap_thread);
	struct hs_objects objects;
	struct walk w;
	uint64_t thread;

	if (!hs_objects_read(&s->hs, &objects) || !walk_start(&s->hs, &w))
		return true;
	for (unsigned i = 0; i < THREADS_MAX && (thread = walk_next(&s->hs, &w, i)); i++) {
		uint32_t tid = thread_id(&s->hs, thread);
		size_t len = tid ? hs_object_name(&s->hs, &objects, thread, name, NAME_MAX) : 0;
		size_t size = (sizeof(struct snap_thread) + len + 7) & ~(size_t)7;
		struct snap_thread record = {.record = {SNAP_THREAD, (uint32_t)size},
					     .tid = tid,
					     .name_len = (uint32_t)len};

		if (len == 0 || (known && !is_news(known, tid, name, len)))
			continue;
		__builtin_memcpy(room, &record, sizeof(record));
		__builtin_memset(name + len, 0, size - sizeof(record) - len);
		if (!snapshot_emit(s, room, size))
			return false;
	}
	return true;
}
