// SPDX-License-Identifier: Apache-2.0
#include "format/timeline.h"

#include "common/str.h"

struct timeline_maker {
	const struct stacks *stacks;
	const struct samples *samples;
	size_t known;	/* threads of the samples; after them come the threads of first nodes */
	uint32_t *tops; /* by node: the first node of its stack */
	uint64_t *rest; /* by node: samples that are in the stacks only */
};

static size_t sample_count(const struct timeline_maker *m)
{
	return m->samples ? m->samples->count : 0;
}

static void find_rest(struct timeline_maker *m)
{
	size_t nodes = stacks_node_count(m->stacks);

	m->tops = xcalloc(nodes, sizeof(*m->tops));
	m->rest = xcalloc(nodes, sizeof(*m->rest));
	for (uint32_t n = 0; n < nodes; n++) {
		const struct stack_node *node = stacks_node(m->stacks, n);

		m->tops[n] = node->parent ? m->tops[node->parent] : n;
		m->rest[n] = node->self;
	}
	for (size_t i = 0; i < sample_count(m); i++)
		m->rest[m->samples->list[i].node] -= m->rest[m->samples->list[i].node] > 0;
}

/* Counts the entries of each thread, then places them one after the other. */
static void place_threads(const struct timeline_maker *m, struct timeline_thread *threads,
			  size_t count, struct timeline_entry **ret)
{
	size_t all = 0;

	for (size_t i = 0; i < sample_count(m); i++)
		threads[m->samples->list[i].thread].count++;
	for (uint32_t n = 0; n < stacks_node_count(m->stacks); n++)
		threads[m->known + m->tops[n]].count += m->rest[n] > 0;
	for (size_t i = 0; i < count; i++)
		all += threads[i].count;
	*ret = xcalloc(all, sizeof(**ret));
	all = 0;
	for (size_t i = 0; i < count; i++) {
		threads[i].entries = *ret + all;
		all += threads[i].count;
		threads[i].count = 0;
	}
}

static void add(const struct timeline_maker *m, struct timeline_thread *t, struct timeline_entry e)
{
	uint32_t top = m->tops[e.node];

	t->entries[t->count++] = e;
	t->samples += e.count;
	t->name = top ? stacks_frame(m->stacks, stacks_node(m->stacks, top)->frame)->name : "";
}

static void fill_threads(const struct timeline_maker *m, struct timeline_thread *threads)
{
	for (size_t i = 0; i < sample_count(m); i++) {
		const struct sample *s = &m->samples->list[i];
		const struct sample_thread *from = &m->samples->threads[s->thread];
		struct timeline_thread *t = &threads[s->thread];

		t->pid = from->pid;
		t->tid = from->tid;
		t->origin = &m->samples->origins[from->origin];
		add(m, t, (struct timeline_entry){.time = s->time, .count = 1, .node = s->node});
	}
	for (uint32_t n = 0; n < stacks_node_count(m->stacks); n++)
		if (m->rest[n])
			add(m, &threads[m->known + m->tops[n]],
			    (struct timeline_entry){.count = m->rest[n], .node = n});
}

/* Orders the busiest first; ties in the order of their entries. */
static int compare_threads(const void *a, const void *b)
{
	const struct timeline_thread *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return (x->entries > y->entries) - (x->entries < y->entries);
}

void timeline_make(struct timeline *t, const struct stacks *s, const struct samples *samples)
{
	struct timeline_maker m = {
		.stacks = s, .samples = samples, .known = samples ? samples->thread_count : 0};
	size_t count = m.known + stacks_node_count(s);

	*t = (struct timeline){.threads = xcalloc(count, sizeof(*t->threads))};
	find_rest(&m);
	place_threads(&m, t->threads, count, &t->entries);
	fill_threads(&m, t->threads);
	for (size_t i = 0; i < count; i++)
		if (t->threads[i].samples)
			t->threads[t->count++] = t->threads[i];
	qsort(t->threads, t->count, sizeof(*t->threads), compare_threads);
	free(m.tops);
	free(m.rest);
}

void timeline_fini(struct timeline *t)
{
	free(t->threads);
	free(t->entries);
}
