// SPDX-License-Identifier: Apache-2.0
#include "hotspot/state.h"

#define REMOVED UINT32_MAX

void hs_state_begin(struct hs_state *st, uint64_t base)
{
	if (!st->ready || st->base != base)
		hs_state_reset(st);
	st->base = base;
	st->cursor = 0;
	st->gone = 0;
	st->count[!st->turn] = 0;
}

/* Passes entries below `at`: they are gone, and are moved to the front of the list. */
static void pass_below(struct hs_state *st, uint64_t at)
{
	struct hs_known_code *last = st->list[st->turn];

	while (st->cursor < st->count[st->turn] && last[st->cursor].at < at)
		last[st->gone++] = last[st->cursor++];
}

bool hs_state_unchanged(struct hs_state *st, uint64_t code, uint32_t fingerprint)
{
	const struct hs_known_code *last = st->list[st->turn];
	uint64_t at = code - st->base;

	pass_below(st, at);
	if (st->cursor == st->count[st->turn] || last[st->cursor].at != at ||
	    last[st->cursor].fingerprint != fingerprint || fingerprint == 0)
		return false;
	if (!hs_state_add(st, code, fingerprint))
		return false;
	st->cursor++;
	return true;
}

struct hs_known_code *hs_state_add(struct hs_state *st, uint64_t code, uint32_t fingerprint)
{
	uint32_t *count = &st->count[!st->turn];
	struct hs_known_code *known = &st->list[!st->turn][*count];

	if (code - st->base >= REMOVED || *count == HS_STATE_CODES)
		return NULL;
	*known = (struct hs_known_code){(uint32_t)(code - st->base), fingerprint};
	(*count)++;
	return known;
}

void hs_state_remove(struct hs_known_code *known)
{
	known->at = REMOVED;
}

uint32_t hs_state_gone(struct hs_state *st)
{
	pass_below(st, UINT64_MAX);
	return st->gone;
}

uint64_t hs_state_gone_at(const struct hs_state *st, uint32_t i)
{
	return st->base + st->list[st->turn][i].at;
}

void hs_state_commit(struct hs_state *st)
{
	struct hs_known_code *list;
	uint32_t n = 0;

	st->turn = !st->turn;
	list = st->list[st->turn];
	for (uint32_t i = 0; i < st->count[st->turn]; i++)
		if (list[i].at != REMOVED)
			list[n++] = list[i];
	st->count[st->turn] = n;
	st->ready = true;
	hs_loaders_commit(&st->loaders);
}

void hs_state_reset(struct hs_state *st)
{
	st->ready = false;
	st->count[0] = 0;
	st->count[1] = 0;
	hs_loaders_reset(&st->loaders);
	hs_written_reset(&st->written);
	if (st->threads.count > 0)
		__builtin_memset(&st->threads, 0, sizeof(st->threads));
}
