// SPDX-License-Identifier: Apache-2.0
#include "symbols/answers.h"

#include "common/str.h"

struct answer {
	struct question question;
	uint32_t number; /* 0: the slot is free */
};

static void add_to_pool(struct answers *a, uint32_t n)
{
	a->pool = grow(a->pool, a->pool_count, &a->pool_cap, sizeof(*a->pool));
	a->pool[a->pool_count++] = n;
}

void answers_init(struct answers *a)
{
	*a = (struct answers){.mask = (1u << 14) - 1};
	a->list = xcalloc(a->mask + 1, sizeof(*a->list));
	add_to_pool(a, 0); /* no answer's number */
}

void answers_fini(struct answers *a)
{
	free(a->list);
	free(a->pool);
}

static size_t place(const struct answers *a, struct question q)
{
	uint64_t h = (q.addr ^ (uint64_t)q.generation << 40 ^ (uint64_t)(uintptr_t)q.code) *
		     0x9e3779b97f4a7c15ull;

	return (h ^ h >> 32) & a->mask;
}

static struct answer *slot(const struct answers *a, struct question q)
{
	size_t i = place(a, q);

	while (a->list[i].number &&
	       (a->list[i].question.addr != q.addr || a->list[i].question.code != q.code ||
		a->list[i].question.generation != q.generation))
		i = (i + 1) & a->mask;
	return &a->list[i];
}

uint32_t answers_find(const struct answers *a, struct question q)
{
	return slot(a, q)->number;
}

static void make_larger(struct answers *a)
{
	struct answer *old = a->list;
	size_t old_mask = a->mask;

	a->mask = old_mask * 2 + 1;
	a->list = xcalloc(a->mask + 1, sizeof(*a->list));
	for (size_t i = 0; i <= old_mask; i++)
		if (old[i].number)
			*slot(a, old[i].question) = old[i];
	free(old);
}

uint32_t answers_keep(struct answers *a, struct question q, const uint32_t *frames, size_t n)
{
	uint32_t number = (uint32_t)a->pool_count;

	if (++a->count > a->mask / 2)
		make_larger(a);
	*slot(a, q) = (struct answer){.question = q, .number = number};
	add_to_pool(a, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		add_to_pool(a, frames[i]);
	return number;
}
