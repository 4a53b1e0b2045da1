// SPDX-License-Identifier: Apache-2.0
#include "calltree/difference.h"

#include <math.h>

#include "common/str.h"

/* ---- the tree of both -------------------------------------------------------------------- */

/* nodes[n]: the node of the tree for node n of the side. */
static void side_fill(struct difference_side *side, const struct stacks *tree,
		      const struct stacks *from, const uint32_t *nodes)
{
	size_t count = stacks_node_count(tree);

	side->self = xcalloc(count, sizeof(*side->self));
	for (uint32_t n = 0; n < stacks_node_count(from); n++)
		side->self[nodes[n]] += stacks_node(from, n)->self;
	side->total = xcalloc(count, sizeof(*side->total));
	/* A node is always made after its parent. */
	for (uint32_t n = (uint32_t)count; n-- > 0;) {
		side->total[n] += side->self[n];
		if (n)
			side->total[stacks_node(tree, n)->parent] += side->total[n];
	}
	side->samples = side->total[0];
}

void difference_make(struct difference *ret, const struct stacks *before,
		     const struct stacks *after, bool kinds)
{
	const struct graft how = {.kinds = kinds ? GRAFT_TEXT : GRAFT_METHODS};
	CLEANUP(free) uint32_t *before_nodes = NULL;
	CLEANUP(free) uint32_t *after_nodes = NULL;

	*ret = (struct difference){.tree = stacks_new()};
	stacks_graft(ret->tree, before, &how, &before_nodes);
	stacks_graft(ret->tree, after, &how, &after_nodes);
	side_fill(&ret->before, ret->tree, before, before_nodes);
	side_fill(&ret->after, ret->tree, after, after_nodes);
	stacks_sort(ret->tree);
}

void difference_fini(struct difference *d)
{
	stacks_free(d->tree);
	free(d->before.self);
	free(d->before.total);
	free(d->after.self);
	free(d->after.total);
	*d = (struct difference){0};
}

/* ---- changes and their significance ------------------------------------------------------------
 */

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

double difference_change(const struct difference *d, struct counts c)
{
	return share(c.after, d->after.samples) - share(c.before, d->before.samples);
}

double difference_worth(const struct difference_side *side)
{
	return side->worth > 0 && side->samples ? side->worth / (double)side->samples : 1;
}

double difference_z(const struct difference *d, struct counts c)
{
	double w1 = difference_worth(&d->before), w2 = difference_worth(&d->after);
	double n1 = w1 * (double)d->before.samples, n2 = w2 * (double)d->after.samples;
	double pooled, error;

	if (n1 <= 0 || n2 <= 0)
		return 0;
	pooled = (w1 * (double)c.before + w2 * (double)c.after) / (n1 + n2);
	error = sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2));
	return error > 0 ? difference_change(d, c) / error : 0;
}

bool difference_is_significant(const struct difference *d, struct counts c)
{
	return fabs(difference_z(d, c)) >= DIFFERENCE_Z;
}

/* ---- methods ----------------------------------------------------------------------------- */

static void counts_add(struct counts *to, struct counts c)
{
	to->before += c.before;
	to->after += c.after;
}

/* Walks the tree and counts for each frame how often it is on the path: its outermost node includes
 * all samples of the others. */
static void methods_count(const struct difference *d, struct difference_method *methods)
{
	CLEANUP(free) uint32_t *on_path = xcalloc(stacks_frame_count(d->tree), sizeof(*on_path));
	uint32_t node = stacks_node(d->tree, 0)->first;

	while (node) {
		const struct stack_node *n = stacks_node(d->tree, node);

		counts_add(&methods[n->frame].self, difference_self(d, node));
		if (!on_path[n->frame]++)
			counts_add(&methods[n->frame].total, difference_total(d, node));
		if (n->first) {
			node = n->first;
			continue;
		}
		on_path[n->frame]--;
		while (!n->next && n->parent) {
			node = n->parent;
			n = stacks_node(d->tree, node);
			on_path[n->frame]--;
		}
		node = n->next;
	}
}

static int compare_changes(double x, double y)
{
	return (fabs(x) < fabs(y)) - (fabs(x) > fabs(y));
}

/* Compares frames last, so that the order is the same on every machine. */
static int compare_methods(const void *a, const void *b, void *arg)
{
	const struct difference_method *x = a, *y = b;
	const struct difference *d = arg;
	int order = difference_is_significant(d, y->self) - difference_is_significant(d, x->self);

	if (order == 0)
		order = compare_changes(difference_change(d, x->self),
					difference_change(d, y->self));
	if (order == 0)
		order = compare_changes(difference_change(d, x->total),
					difference_change(d, y->total));
	return order ? order : (x->frame > y->frame) - (x->frame < y->frame);
}

struct difference_method *difference_methods(const struct difference *d, size_t *ret_count)
{
	size_t frames = stacks_frame_count(d->tree), count = 0;
	struct difference_method *methods = xcalloc(frames, sizeof(*methods));

	methods_count(d, methods);
	for (uint32_t f = 0; f < frames; f++) {
		methods[f].frame = f;
		if (stacks_frame(d->tree, f)->kind != FRAME_ROOT)
			methods[count++] = methods[f];
	}
	if (count)
		qsort_r(methods, count, sizeof(*methods), compare_methods, (void *)(uintptr_t)d);
	*ret_count = count;
	return methods;
}
