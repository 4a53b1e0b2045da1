// SPDX-License-Identifier: Apache-2.0
#include "calltree/difference.h"

#include <math.h>

#include "common/str.h"

/* ---- the tree of both -------------------------------------------------------------------- */

static void side_fill(struct difference_side *side, const struct stacks *tree,
		      const struct stacks *from)
{
	size_t count = stacks_node_count(tree);

	side->self = xcalloc(count, sizeof(*side->self));
	for (uint32_t n = 0; n < stacks_node_count(from); n++)
		side->self[side->nodes[n]] += stacks_node(from, n)->self;
	side->total = xcalloc(count, sizeof(*side->total));
	/* A node is always made after its parent. */
	for (uint32_t n = (uint32_t)count; n-- > 0;) {
		side->total[n] += side->self[n];
		if (n)
			side->total[stacks_node(tree, n)->parent] += side->total[n];
	}
	side->samples = side->total[0];
}

static void side_fini(struct difference_side *side)
{
	free(side->self);
	free(side->total);
	free(side->nodes);
}

/* ---- changes and their significance ------------------------------------------------------------
 */

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

double measure_change(const struct measure *m, struct counts c)
{
	return ratio((double)c.after, m->after) - ratio((double)c.before, m->before);
}

/* Returns how many samples tell as much as both sides' counts. */
static double worth_of(const struct measure *m, struct counts c)
{
	return m->before_worth * (double)c.before + m->after_worth * (double)c.after;
}

double measure_z(const struct measure *m, struct counts c)
{
	double before = m->before_worth * m->before, after = m->after_worth * m->after;
	double pooled, error;

	if (before <= 0 || after <= 0)
		return 0;
	pooled = worth_of(m, c) / (before + after);
	if (m->kind == MEASURE_SHARE)
		pooled *= 1 - pooled;
	error = sqrt(pooled * (1 / before + 1 / after));
	return error > 0 ? measure_change(m, c) / error : 0;
}

/* Returns the z that is as probable as t of Student's distribution: Wallace's approximation
 * (Wallace 1959, "Bounds on normal approximations to Student's and the chi-square distributions"),
 * whose error is below 1 % here. */
static double z_of_t(double t, double freedom)
{
	double z = sqrt(freedom * log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3);

	return t < 0 ? -z : z;
}

static double spread_z(const struct difference *d, double z, double spread)
{
	return spread > 1 ? z_of_t(z / spread, d->freedom) : z;
}

double difference_cost_z(const struct difference *d, const struct difference_cost *c,
			 enum measure_kind kind)
{
	return spread_z(d, measure_z(&d->by[kind], c->counts), c->spread[kind]);
}

double difference_change(const struct difference *d, struct counts c)
{
	return measure_change(&d->by[MEASURE_SHARE], c);
}

double difference_z(const struct difference *d, struct counts c)
{
	return measure_z(&d->by[MEASURE_SHARE], c);
}

bool difference_is_significant(const struct difference *d, struct counts c)
{
	return fabs(difference_z(d, c)) >= d->by[MEASURE_SHARE].least_z;
}

/* ---- the least z of all methods ---------------------------------------------------------- */

#define FALSE_SHARE 0.01 /* expected, of the changes that are called significant */
#define TESTED	    8	 /* samples: fewer cannot show a change, and are not tested */

static double probability(double z)
{
	return erfc(z / sqrt(2));
}

/* Returns the z whose probability, of both signs, is p. */
static double z_of(double p)
{
	double low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		*(probability(middle) > p ? &low : &high) = middle;
	}
	return high;
}

static int compare_falling(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

static bool is_tested(const struct measure *m, const struct difference_cost *c)
{
	return worth_of(m, c->counts) >= TESTED;
}

static size_t add_test(const struct difference *d, const struct difference_cost *c,
		       enum measure_kind kind, double *ret)
{
	if (!is_tested(&d->by[kind], c))
		return 0;
	*ret = fabs(difference_cost_z(d, c, kind));
	return 1;
}

/* Ordered by falling |z|, test k of n is significant if its probability, or that of a later one, is
 * at most that of k of n. If none is, returns what the first would need. */
static double least_z(const struct difference *d, enum measure_kind kind)
{
	CLEANUP(free) double *z = xcalloc(2 * d->method_count + 1, sizeof(*z));
	size_t n = 0, k;

	for (size_t i = 0; i < d->method_count; i++) {
		n += add_test(d, &d->methods[i].self, kind, &z[n]);
		n += add_test(d, &d->methods[i].total, kind, &z[n]);
	}
	if (!n)
		return DIFFERENCE_Z;
	qsort(z, n, sizeof(*z), compare_falling);
	for (k = n; k > 1; k--)
		if (probability(z[k - 1]) <= FALSE_SHARE * (double)k / (double)n)
			break;
	return fmax(z_of(FALSE_SHARE * (double)k / (double)n), DIFFERENCE_Z);
}

bool difference_cost_is_significant(const struct difference *d, const struct difference_cost *c,
				    enum measure_kind kind)
{
	return is_tested(&d->by[kind], c) &&
	       fabs(difference_cost_z(d, c, kind)) >= d->by[kind].least_z;
}

bool difference_node_is_significant(const struct difference *d, uint32_t node)
{
	double spread =
		d->frame_spread && node ? d->frame_spread[stacks_node(d->tree, node)->frame] : 1;
	double z = spread_z(d, difference_z(d, difference_total(d, node)), spread);

	return fabs(z) >= d->by[MEASURE_SHARE].least_z;
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

		counts_add(&methods[n->frame].self.counts, difference_self(d, node));
		if (!on_path[n->frame]++)
			counts_add(&methods[n->frame].total.counts, difference_total(d, node));
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

static void cost_init(struct difference_cost *c)
{
	for (size_t i = 0; i < MEASURES; i++)
		c->spread[i] = 1;
}

static void find_methods(struct difference *d)
{
	size_t frames = stacks_frame_count(d->tree);

	d->methods = xcalloc(frames, sizeof(*d->methods));
	methods_count(d, d->methods);
	for (uint32_t f = 0; f < frames; f++) {
		d->methods[f].frame = f;
		cost_init(&d->methods[f].self);
		cost_init(&d->methods[f].total);
		if (stacks_frame(d->tree, f)->kind != FRAME_ROOT)
			d->methods[d->method_count++] = d->methods[f];
	}
}

/* ---- where a change comes from ----------------------------------------------------------- */

/* Samples of a method where another calls it. */
struct call_change {
	uint32_t caller, callee; /* frames */
	struct counts total;
};

static int compare_calls(const void *a, const void *b)
{
	const struct call_change *x = a, *y = b;

	if (x->caller != y->caller)
		return (x->caller > y->caller) - (x->caller < y->caller);
	return (x->callee > y->callee) - (x->callee < y->callee);
}

/* Returns all calls, each pair once, ordered; of recursive ones all places count. */
static struct call_change *find_calls(const struct difference *d, size_t *ret_count)
{
	size_t nodes = stacks_node_count(d->tree), n = 0, count = 0;
	struct call_change *calls = xcalloc(nodes, sizeof(*calls));

	for (uint32_t i = 1; i < nodes; i++) {
		const struct stack_node *node = stacks_node(d->tree, i);
		uint32_t caller = stacks_node(d->tree, node->parent)->frame;

		if (node->parent && caller != node->frame)
			calls[n++] =
				(struct call_change){caller, node->frame, difference_total(d, i)};
	}
	if (n)
		qsort(calls, n, sizeof(*calls), compare_calls);
	for (size_t i = 0; i < n; i++) {
		if (count && compare_calls(&calls[count - 1], &calls[i]) == 0)
			counts_add(&calls[count - 1].total, calls[i].total);
		else
			calls[count++] = calls[i];
	}
	*ret_count = count;
	return calls;
}

/* Returns the callee that a method's change comes from; NULL: none alone. */
static const struct call_change *passed_to(const struct measure *m,
					   const struct difference_method *method,
					   const struct call_change *calls, size_t count)
{
	double change = measure_change(m, method->total.counts);

	for (size_t i = 0; i < count && change != 0; i++)
		if (measure_change(m, calls[i].total) / change >= DIFFERENCE_PASSED)
			return &calls[i];
	return NULL;
}

static void find_via(struct difference *d, enum measure_kind kind)
{
	size_t frames = stacks_frame_count(d->tree), n, at = 0;
	CLEANUP(free) struct call_change *calls = find_calls(d, &n);
	CLEANUP(free) uint32_t *method_of = xcalloc(frames, sizeof(*method_of));

	for (size_t i = 0; i < d->method_count; i++)
		method_of[d->methods[i].frame] = (uint32_t)i + 1;
	for (size_t i = 0; i < d->method_count; i++) {
		struct difference_method *method = &d->methods[i];
		const struct call_change *call;
		size_t begin;

		while (at < n && calls[at].caller < method->frame)
			at++;
		for (begin = at; at < n && calls[at].caller == method->frame;)
			at++;
		call = passed_to(&d->by[kind], method, calls + begin, at - begin);
		method->via[kind] = call ? method_of[call->callee] : 0;
	}
}

/* ---- the whole --------------------------------------------------------------------------- */

void difference_make(struct difference *ret, const struct stacks *before,
		     const struct stacks *after, bool kinds)
{
	const struct graft how = {.kinds = kinds ? GRAFT_TEXT : GRAFT_METHODS};
	struct difference d = {.tree = stacks_new(), .spread = {1, 1}};

	stacks_graft(d.tree, before, &how, &d.before.nodes);
	stacks_graft(d.tree, after, &how, &d.after.nodes);
	side_fill(&d.before, d.tree, before);
	side_fill(&d.after, d.tree, after);
	stacks_sort(d.tree);
	find_methods(&d);
	d.by[MEASURE_SHARE] = (struct measure){.kind = MEASURE_SHARE,
					       .before = (double)d.before.samples,
					       .after = (double)d.after.samples,
					       .before_worth = 1,
					       .after_worth = 1};
	d.by[MEASURE_SHARE].least_z = least_z(&d, MEASURE_SHARE);
	d.by[MEASURE_RATE] = (struct measure){
		.kind = MEASURE_RATE, .before_worth = 1, .after_worth = 1, .least_z = DIFFERENCE_Z};
	find_via(&d, MEASURE_SHARE);
	*ret = d;
}

/* Returns how many samples tell as much as one of a side's counts. */
static double unit_worth(const struct difference_time *t, const struct difference_side *side)
{
	return t->worth > 0 && side->samples ? t->worth / (double)side->samples : 1;
}

void difference_add_time(struct difference *d, const struct difference_time *before,
			 const struct difference_time *after)
{
	d->by[MEASURE_RATE].before = before->busy;
	d->by[MEASURE_RATE].after = after->busy;
	for (enum measure_kind kind = 0; kind < MEASURES; kind++) {
		d->by[kind].before_worth = unit_worth(before, &d->before);
		d->by[kind].after_worth = unit_worth(after, &d->after);
	}
	difference_find_spread(d, before->samples, after->samples);
	for (enum measure_kind kind = 0; kind < MEASURES; kind++)
		d->by[kind].least_z = least_z(d, kind);
	if (before->busy > 0 && after->busy > 0)
		find_via(d, MEASURE_RATE);
}

/* Gives frames of spread 0 that of the callee that has most of them: each has its nodes after its
 * callers'. */
static void take_from_callees(struct difference *d)
{
	size_t nodes = stacks_node_count(d->tree);
	CLEANUP(free) uint64_t *most = xcalloc(stacks_frame_count(d->tree), sizeof(*most));
	CLEANUP(free) double *found = xcalloc(stacks_frame_count(d->tree), sizeof(*found));

	for (uint32_t n = (uint32_t)nodes; n-- > 1;) {
		const struct stack_node *node = stacks_node(d->tree, n);
		uint32_t caller = stacks_node(d->tree, node->parent)->frame;
		struct counts total = difference_total(d, n);
		double own = d->frame_spread[node->frame] > 0 ? d->frame_spread[node->frame]
							      : found[node->frame];

		if (node->parent && own > 0 && total.before + total.after > most[caller]) {
			most[caller] = total.before + total.after;
			found[caller] = own;
		}
	}
	for (size_t i = 0; i < stacks_frame_count(d->tree); i++)
		if (d->frame_spread[i] == 0)
			d->frame_spread[i] = found[i] > 0 ? found[i] : 1;
}

void difference_copy_spread(struct difference *to, const struct difference *from)
{
	size_t known = stacks_frame_count(from->tree), count = stacks_frame_count(to->tree);

	to->by[MEASURE_SHARE].before_worth = from->by[MEASURE_SHARE].before_worth;
	to->by[MEASURE_SHARE].after_worth = from->by[MEASURE_SHARE].after_worth;
	to->by[MEASURE_SHARE].least_z = from->by[MEASURE_SHARE].least_z;
	to->freedom = from->freedom;
	if (!from->frame_spread)
		return;
	to->frame_spread = xcalloc(count, sizeof(*to->frame_spread));
	for (uint32_t i = 0; i < count; i++) {
		const struct frame *f = stacks_frame(to->tree, i);
		uint32_t same = stacks_intern(from->tree, f->name, f->len, f->kind);

		to->frame_spread[i] = same < known ? from->frame_spread[same] : 0;
	}
	take_from_callees(to);
}

void difference_fini(struct difference *d)
{
	free(d->frame_spread);
	stacks_free(d->tree);
	side_fini(&d->before);
	side_fini(&d->after);
	free(d->methods);
	*d = (struct difference){0};
}
