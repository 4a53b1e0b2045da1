// SPDX-License-Identifier: Apache-2.0
#include "top/history.h"

#include <stdlib.h>

static void add_stacks(struct moment *m, const struct stacks *s, const struct graft *how)
{
	if (!m->stacks) {
		m->stacks = stacks_new();
		frames_keep_places(stacks_frames(m->stacks));
	}
	stacks_graft(m->stacks, s, how, NULL);
}

bool history_add(struct history *h, const struct window *w, struct stacks *stacks)
{
	struct moment *m = &h->coming;

	if (w->part == 0)
		moment_fini(m);
	add_stacks(m, stacks, &(struct graft){0});
	stacks_free(stacks);
	quality_add(&m->quality, &w->quality);
	m->us = w->us;
	m->gap_us = w->gap_us;
	m->windows = 1;
	if (w->part + 1 < w->parts)
		return false;
	moment_fini(&h->list[h->next]);
	h->list[h->next] = *m;
	h->next = (h->next + 1) % HISTORY_MOST;
	h->seen++;
	*m = (struct moment){0};
	return true;
}

void history_sum(const struct history *h, size_t count, struct moment *ret)
{
	const struct graft how = {.pools = h->pools, .fold_start = h->fold_start};

	*ret = (struct moment){.event = h->event};
	for (size_t i = 0; i < count && i < h->seen && i < HISTORY_MOST; i++) {
		const struct moment *m = &h->list[(h->next + HISTORY_MOST - 1 - i) % HISTORY_MOST];

		add_stacks(ret, m->stacks, &how);
		quality_add(&ret->quality, &m->quality);
		ret->us += m->us;
		ret->gap_us += m->gap_us;
		ret->windows++;
	}
}

void moment_fini(struct moment *m)
{
	stacks_free(m->stacks);
	*m = (struct moment){0};
}

void history_fini(struct history *h)
{
	for (size_t i = 0; i < HISTORY_MOST; i++)
		moment_fini(&h->list[i]);
	moment_fini(&h->coming);
}
