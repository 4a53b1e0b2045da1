// SPDX-License-Identifier: Apache-2.0
#include "calltree/wall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calltree/calltree.h"
#include "calltree/pauses.h"
#include "calltree/thread_root.h"
#include "common/str.h"

const char *const wall_names[WALL_CAUSES] = {
	[WALL_RUNNING] = "running",	[WALL_RUNNABLE] = "runnable",
	[WALL_THROTTLED] = "throttled", [WALL_SAFEPOINT] = "safepoint",
	[WALL_MONITOR] = "monitor",	[WALL_PARK] = "park",
	[WALL_WAIT] = "wait",		[WALL_SLEEP] = "sleep",
	[WALL_SOCKET] = "socket",	[WALL_EPOLL] = "epoll",
	[WALL_FILE] = "file",		[WALL_FAULT] = "fault",
	[WALL_OTHER] = "other",
};

static uint64_t hash_of(uint32_t origin, pid_t pid, pid_t tid)
{
	return hash_mix(((uint64_t)(uint32_t)pid << 32 | (uint32_t)tid) ^ (uint64_t)origin << 24);
}

static uint32_t find(const struct wall *w, uint32_t origin, pid_t pid, pid_t tid)
{
	for (struct hash_probe p = {.hash = hash_of(origin, pid, tid)}; hash_next(&w->index, &p);) {
		const struct wall_thread *t = &w->threads[p.index];

		if (t->tid == tid && t->pid == pid && t->origin == origin)
			return p.index;
	}
	return WALL_UNKNOWN;
}

static uint32_t thread_at(struct wall *w, const char *name, uint32_t origin, pid_t pid, pid_t tid)
{
	const uint32_t known = find(w, origin, pid, tid);
	struct wall_thread *new;

	if (known != WALL_UNKNOWN)
		return known;
	w->threads = grow(w->threads, w->count, &w->cap, sizeof(*w->threads));
	new = &w->threads[w->count];
	*new = (struct wall_thread){.pid = pid, .tid = tid, .origin = origin};
	snprintf(new->name, sizeof(new->name), "%s", name);
	str_clean(new->name, sizeof(new->name));
	hash_add(&w->index, hash_of(origin, pid, tid), (uint32_t)w->count);
	return (uint32_t)w->count++;
}

uint32_t wall_waker(const struct wall *w, const struct wall_part *p)
{
	const struct wall_thread *t = &w->threads[p->thread];

	return p->waker ? find(w, t->origin, t->pid, p->waker) : WALL_UNKNOWN;
}

/* ---- counting ------------------------------------------------------------------------------ */

uint32_t wall_add(struct wall *w, const char *name, pid_t pid, pid_t tid, enum wall_cause cause,
		  uint64_t ns, bool idle)
{
	const uint32_t number = thread_at(w, name, 0, pid, tid);
	struct wall_thread *t = &w->threads[number];

	t->ns[cause] = count_add(t->ns[cause], ns);
	if (idle)
		t->idle[cause] = count_add(t->idle[cause], ns);
	return number;
}

/* Keeps only longer parts than before, until half of the room is free. */
static void drop_shortest(struct wall *w)
{
	while (w->part_count > WALL_PARTS / 2) {
		size_t n = 0;

		w->least += w->least / 4;
		for (size_t i = 0; i < w->part_count; i++)
			if (w->parts[i].ns >= w->least)
				w->parts[n++] = w->parts[i];
		w->part_count = n;
	}
}

void wall_add_part(struct wall *w, const struct wall_part *p)
{
	if (!w->least)
		w->least = PAUSES_LEAST;
	if (p->ns < w->least)
		return;
	if (w->part_count == WALL_PARTS)
		drop_shortest(w);
	w->parts = grow(w->parts, w->part_count, &w->part_cap, sizeof(*w->parts));
	w->parts[w->part_count++] = *p;
}

/* Adds the times of another's thread; returns its number. */
static uint32_t add_thread(struct wall *to, const struct wall_thread *from, uint32_t origin)
{
	const uint32_t number = thread_at(to, from->name, origin, from->pid, from->tid);
	struct wall_thread *t = &to->threads[number];

	for (unsigned c = 0; c < WALL_CAUSES; c++) {
		t->ns[c] = count_add(t->ns[c], from->ns[c]);
		t->idle[c] = count_add(t->idle[c], from->idle[c]);
	}
	return number;
}

void wall_merge(struct wall *to, const struct wall *from, const uint32_t *nodes, bool part)
{
	CLEANUP(free) uint32_t *number = xcalloc(from->count + 1, sizeof(*number));
	const uint32_t first = part ? 0 : to->origins;

	to->origins = part ? to->origins : to->origins + (from->origins ? from->origins : 1);
	for (size_t i = 0; i < from->count; i++)
		number[i] = add_thread(to, &from->threads[i], first + from->threads[i].origin);
	for (size_t i = 0; i < from->part_count; i++) {
		struct wall_part p = from->parts[i];

		p.thread = number[p.thread];
		p.node = nodes[p.node];
		wall_add_part(to, &p);
	}
}

void wall_fini(struct wall *w)
{
	free(w->threads);
	free(w->parts);
	hash_fini(&w->index);
}

uint64_t wall_sum(const uint64_t ns[WALL_CAUSES])
{
	uint64_t ret = 0;

	for (unsigned c = 0; c < WALL_CAUSES; c++)
		ret = count_add(ret, ns[c]);
	return ret;
}

/* ---- pools --------------------------------------------------------------------------------- */

/* Returns the number of the pool, which is the n-th if it is new. */
static size_t pool_at(struct hash_table *index, struct wall_pool *pools, size_t n, const char *name)
{
	const uint64_t hash = hash_bytes(0, name, strlen(name));

	for (struct hash_probe p = {.hash = hash}; hash_next(index, &p);)
		if (!strcmp(pools[p.index].name, name))
			return p.index;
	hash_add(index, hash, (uint32_t)n);
	pools[n] = (struct wall_pool){0};
	snprintf(pools[n].name, sizeof(pools[n].name), "%s", name);
	return n;
}

size_t wall_pools_make(const struct wall_thread *threads, size_t n, struct wall_pool *ret,
		       uint32_t *ret_of)
{
	CLEANUP(hash_fini) struct hash_table index = {0};
	CLEANUP(str_fini) struct str name = {0};
	size_t count = 0;

	for (const struct wall_thread *t = threads; t < threads + n; t++) {
		struct wall_pool *to;

		str_clear(&name);
		str_adds(&name, "");
		thread_add_pool(&name, t->name, strlen(t->name));
		to = &ret[pool_at(&index, ret, count, name.buf)];
		count += to == ret + count;
		to->threads++;
		for (unsigned c = 0; c < WALL_CAUSES; c++) {
			to->ns[c] = count_add(to->ns[c], t->ns[c] - t->idle[c]);
			to->ns[WALL_CAUSES] = count_add(to->ns[WALL_CAUSES], t->idle[c]);
		}
		if (ret_of)
			ret_of[t - threads] = (uint32_t)(to - ret);
	}
	return count;
}
