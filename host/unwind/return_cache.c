// SPDX-License-Identifier: Apache-2.0
#include "unwind/return_cache.h"

#include "common/log.h"
#include "common/str.h"

#ifndef ANSWERS_MAX
#define ANSWERS_MAX (1u << 17) /* 8 MiB of addresses, of memory what is used */
#endif

struct returns *returns_new(void)
{
	return xcalloc(1, sizeof(struct returns));
}

void returns_free(struct returns *r)
{
	if (!r)
		return;
	hash_fini(&r->by_addr);
	free(r->answers);
	free(r);
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

struct returns_answer *returns_search(struct returns *r, uint64_t addr)
{
	uint64_t hash = hash_mix(addr);

	for (struct hash_probe p = {.hash = hash}; hash_next(&r->by_addr, &p);) {
		r->last = &r->answers[p.index];
		if (r->last->addr == addr) {
			settle(r->last, r->span);
			return r->last;
		}
	}
	if (r->count == ANSWERS_MAX) {
		hash_fini(&r->by_addr);
		r->count = 0;
	}
	if (!r->answers)
		r->answers = aligned_alloc(_Alignof(struct returns_answer),
					   ANSWERS_MAX * sizeof(*r->answers));
	if (!r->answers)
		die_oom();
	hash_add(&r->by_addr, hash, (uint32_t)r->count);
	r->last = &r->answers[r->count++];
	*r->last = (struct returns_answer){.addr = addr, .span = r->span};
	return r->last;
}
