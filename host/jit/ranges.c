// SPDX-License-Identifier: Apache-2.0
#include "jit/ranges.h"

#include "common/str.h"
#include "common/table.h"

/* Ranges that are open at the sweep's place; the one added last is on top. */
struct heap {
	uint32_t *ranges;
	size_t count, cap;
};

static void heap_push(struct heap *h, uint32_t range)
{
	size_t i = h->count;

	h->ranges = grow(h->ranges, h->count, &h->cap, sizeof(*h->ranges));
	for (h->count++; i && h->ranges[(i - 1) / 2] < range; i = (i - 1) / 2)
		h->ranges[i] = h->ranges[(i - 1) / 2];
	h->ranges[i] = range;
}

static void heap_pop(struct heap *h)
{
	uint32_t last = h->ranges[--h->count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < h->count) {
		if (child + 1 < h->count && h->ranges[child + 1] > h->ranges[child])
			child++;
		if (h->ranges[child] <= last)
			break;
		h->ranges[i] = h->ranges[child];
		i = child;
	}
	if (h->count)
		h->ranges[i] = last;
}

void ranges_add(struct ranges *r, uint64_t start, uint64_t end)
{
	r->list = grow(r->list, r->count, &r->cap, sizeof(*r->list));
	r->list[r->count] =
		(struct range_piece){.start = start, .end = end, .range = (uint32_t)r->count};
	r->count++;
}

static void add_piece(struct ranges *r, uint64_t start, uint64_t end, uint32_t range)
{
	struct range_piece *last = r->piece_count ? &r->pieces[r->piece_count - 1] : NULL;

	if (last && last->range == range && last->end == start) {
		last->end = end;
		return;
	}
	r->pieces = grow(r->pieces, r->piece_count, &r->piece_cap, sizeof(*r->pieces));
	r->pieces[r->piece_count++] =
		(struct range_piece){.start = start, .end = end, .range = range};
}

/* Sweeps over the addresses once; of the ranges open at a place the one on top has it. */
void ranges_finish(struct ranges *r)
{
	CLEANUP(free) struct keyed *order = xcalloc(r->count, sizeof(*order));
	struct heap open = {0};
	uint64_t pos = 0;
	size_t i = 0;

	for (size_t n = 0; n < r->count; n++)
		order[n] = (struct keyed){.key = r->list[n].start, .value = n};
	keyed_sort(order, r->count);
	while (i < r->count || open.count) {
		uint64_t next;

		if (!open.count)
			pos = order[i].key;
		for (; i < r->count && order[i].key <= pos; i++)
			heap_push(&open, (uint32_t)order[i].value);
		next = r->list[open.ranges[0]].end;
		if (next <= pos) {
			heap_pop(&open);
			continue;
		}
		if (i < r->count && order[i].key < next)
			next = order[i].key;
		add_piece(r, pos, next, open.ranges[0]);
		pos = next;
	}
	free(open.ranges);
	free(r->list);
	r->list = NULL;
}

const struct range_piece *ranges_find(const struct ranges *r, uint64_t addr)
{
	size_t lo = 0, n = r->piece_count;

	while (n) {
		size_t half = n / 2;

		if (r->pieces[lo + half].start <= addr) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo && addr < r->pieces[lo - 1].end ? &r->pieces[lo - 1] : NULL;
}

void ranges_fini(struct ranges *r)
{
	free(r->list);
	free(r->pieces);
	*r = (struct ranges){0};
}
