// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "calltree/difference.h"
#include "common/str.h"

/* Samples of a frame in each block of time. */
struct block_counts {
	uint32_t self[DIFFERENCE_BLOCKS], total[DIFFERENCE_BLOCKS];
};

/* A side's samples by block. */
struct blocks {
	struct block_counts *frames; /* by frame of the difference's tree; NULL: no times */
	uint32_t all[DIFFERENCE_BLOCKS];
};

/* Counts a sample for each frame of its stack once. counted[f]: the last sample that frame f was
 * counted for. */
static void add_sample(struct blocks *b, const struct difference *d, uint32_t node, size_t block,
		       size_t sample, size_t *counted)
{
	b->all[block]++;
	if (node)
		b->frames[stacks_node(d->tree, node)->frame].self[block]++;
	for (; node; node = stacks_node(d->tree, node)->parent) {
		uint32_t frame = stacks_node(d->tree, node)->frame;

		if (counted[frame] == sample)
			continue;
		counted[frame] = sample;
		b->frames[frame].total[block]++;
	}
}

static void blocks_fill(struct blocks *ret, const struct difference *d,
			const struct difference_side *side, const struct samples *s)
{
	CLEANUP(free) size_t *counted = NULL;
	uint64_t last = 0;

	*ret = (struct blocks){0};
	for (size_t i = 0; s && i < s->count; i++)
		last = s->list[i].time > last ? s->list[i].time : last;
	if (!last)
		return;
	ret->frames = xcalloc(stacks_frame_count(d->tree), sizeof(*ret->frames));
	counted = xcalloc(stacks_frame_count(d->tree), sizeof(*counted));
	for (size_t i = 0; i < s->count; i++) {
		double at = (double)s->list[i].time / ((double)last + 1);

		add_sample(ret, d, side->nodes[s->list[i].node], (size_t)(at * DIFFERENCE_BLOCKS),
			   i + 1, counted);
	}
}

/* Returns the variance of a side's share or rate: that of as many independent samples as the counts
 * are worth, or the greater one of its blocks. counts: NULL: none are known. */
static double variance(const struct measure *m, double count, double divisor, double worth,
		       const uint32_t *counts, const uint32_t *all)
{
	double share = count / divisor, sum = 0;
	double independent = (m->kind == MEASURE_SHARE ? count * (1 - share) : count) / worth;

	for (size_t i = 0; counts && i < DIFFERENCE_BLOCKS; i++) {
		double expected =
			m->kind == MEASURE_SHARE ? share * all[i] : count / DIFFERENCE_BLOCKS;

		sum += (counts[i] - expected) * (counts[i] - expected);
	}
	sum *= (double)DIFFERENCE_BLOCKS / (DIFFERENCE_BLOCKS - 1);
	return fmax(sum, independent) / (divisor * divisor);
}

/* Returns how much greater the standard error is than that of measure_z. */
static double spread_of(const struct measure *m, struct counts c, const uint32_t *before_counts,
			const uint32_t *before_all, const uint32_t *after_counts,
			const uint32_t *after_all)
{
	double z = measure_z(m, c), error, found;

	if (z == 0)
		return 1;
	error = measure_change(m, c) / z;
	found = variance(m, (double)c.before, m->before, m->before_worth, before_counts,
			 before_all) +
		variance(m, (double)c.after, m->after, m->after_worth, after_counts, after_all);
	return fmax(1, sqrt(found) / error);
}

static void method_spread(const struct difference *d, struct difference_method *method,
			  const struct blocks *before, const struct blocks *after)
{
	const struct block_counts *b = before->frames ? &before->frames[method->frame] : NULL;
	const struct block_counts *a = after->frames ? &after->frames[method->frame] : NULL;

	for (size_t i = 0; i < MEASURES; i++) {
		method->self.spread[i] =
			spread_of(&d->by[i], method->self.counts, b ? b->self : NULL, before->all,
				  a ? a->self : NULL, after->all);
		method->total.spread[i] =
			spread_of(&d->by[i], method->total.counts, b ? b->total : NULL, before->all,
				  a ? a->total : NULL, after->all);
	}
}

/* The first frames of stacks, threads, are no methods. */
static void fill_frames(struct difference *d, const struct blocks *before,
			const struct blocks *after)
{
	size_t count = stacks_frame_count(d->tree);

	d->frame_spread = xcalloc(count, sizeof(*d->frame_spread));
	for (size_t i = 0; i < count; i++)
		d->frame_spread[i] = 1;
	for (size_t i = 0; i < d->method_count; i++)
		d->frame_spread[d->methods[i].frame] = d->methods[i].total.spread[MEASURE_SHARE];
	for (uint32_t n = stacks_node(d->tree, 0)->first; n; n = stacks_node(d->tree, n)->next) {
		struct difference_method thread = {.frame = stacks_node(d->tree, n)->frame,
						   .total.counts = difference_total(d, n)};

		method_spread(d, &thread, before, after);
		d->frame_spread[thread.frame] = thread.total.spread[MEASURE_SHARE];
	}
}

void difference_find_spread(struct difference *d, const struct samples *before,
			    const struct samples *after)
{
	struct counts whole = {d->before.samples, d->after.samples};
	struct blocks b, a;

	blocks_fill(&b, d, &d->before, before);
	blocks_fill(&a, d, &d->after, after);
	d->freedom = (DIFFERENCE_BLOCKS - 1u) * (b.frames && a.frames ? 2 : 1);
	for (size_t i = 0; i < d->method_count; i++)
		method_spread(d, &d->methods[i], &b, &a);
	d->spread[MEASURE_RATE] = spread_of(&d->by[MEASURE_RATE], whole, b.frames ? b.all : NULL,
					    b.all, a.frames ? a.all : NULL, a.all);
	if (b.frames || a.frames)
		fill_frames(d, &b, &a);
	free(b.frames);
	free(a.frames);
}
