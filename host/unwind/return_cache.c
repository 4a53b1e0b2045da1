// SPDX-License-Identifier: Apache-2.0
#include "unwind/return_cache.h"

#include "common/log.h"
#include "common/str.h"

#define SIZE_LEAST 1024u
#define SIZE_MOST  (1u << 18)

/* Each in a line of the cache. */
static struct returns_answer *new_slots(size_t size)
{
	struct returns_answer *slots =
		aligned_alloc(_Alignof(struct returns_answer), size * sizeof(*slots));

	if (!slots)
		die_oom();
	return memset(slots, 0, size * sizeof(*slots));
}

struct returns *returns_new(void)
{
	struct returns *r = xcalloc(1, sizeof(*r));

	r->size = SIZE_LEAST;
	r->slots = new_slots(r->size);
	return r;
}

void returns_free(struct returns *r)
{
	if (!r)
		return;
	free(r->slots);
	free(r);
}

static void forget(struct returns *r)
{
	memset(r->slots, 0, r->size * sizeof(*r->slots));
	r->count = 0;
	r->last = NULL;
}

void returns_at(struct returns *r, struct snapfile_span span)
{
	r->span = span;
	r->last = NULL;
}

static void settle(struct returns_answer *a, struct snapfile_span span)
{
	const struct snapfile_code *c = a->codes[0];

	if (a->span.first != span.first || a->span.last != span.last)
		a->known =
			a->known && a->count == 1 && c->first <= span.first && c->gone > span.last;
	a->span = span;
}

static struct returns_answer *find(struct returns_answer *slots, size_t size, uint64_t addr)
{
	uint64_t h = addr * 0x9e3779b97f4a7c15u;
	size_t i = (h ^ h >> 32) & (size - 1);

	while (slots[i].addr && slots[i].addr != addr)
		i = (i + 1) & (size - 1);
	return &slots[i];
}

static void make_larger(struct returns *r)
{
	struct returns_answer *old = r->slots;
	size_t size = r->size;

	r->size *= 2;
	r->slots = new_slots(r->size);
	for (size_t i = 0; i < size; i++)
		if (old[i].addr)
			*find(r->slots, r->size, old[i].addr) = old[i];
	free(old);
	r->last = NULL;
}

struct returns_answer *returns_search(struct returns *r, uint64_t addr)
{
	struct returns_answer *a;

	a = r->last = find(r->slots, r->size, addr);
	if (a->addr) {
		settle(a, r->span);
		return a;
	}
	if (r->count * 2 >= r->size) {
		if (r->size < SIZE_MOST)
			make_larger(r);
		else
			forget(r);
		a = r->last = find(r->slots, r->size, addr);
	}
	r->count++;
	a->addr = addr;
	a->span = r->span;
	return a;
}
