// SPDX-License-Identifier: Apache-2.0
#include "top/calls.h"

#include "common/str.h"

struct call_search {
	const struct stacks *stacks;
	const struct lens *lens;
	const char *name;
	enum frame_kind kind;
	uint64_t *totals, total;
	struct stacks *callers, *callees;
	uint32_t *below; /* by node: its node in callees, + 1 */
	uint32_t *path;	 /* of add_callers */
	size_t path_cap;
};

static uint32_t copy_frame(struct stacks *to, const struct stacks *from, uint32_t node)
{
	const struct frame *f = stacks_frame(from, stacks_node(from, node)->frame);

	return stacks_intern(to, f->name, f->len, method_kind(f->kind));
}

static bool is_method(const struct call_search *s, uint32_t node)
{
	const struct frame *f = stacks_frame(s->stacks, stacks_node(s->stacks, node)->frame);

	return method_kind(f->kind) == s->kind && !strcmp(f->name, s->name);
}

static bool is_seen(const struct call_search *s, uint32_t thread)
{
	const struct stack_node *n = stacks_node(s->stacks, thread);

	return lens_has_thread(s->lens, stacks_frame(s->stacks, n->frame)->name);
}

/* Adds the path from the outermost frame of the method to the root: its callers get all its
 * samples. */
static void add_callers(struct call_search *s, uint32_t node)
{
	size_t depth = 0;

	for (uint32_t n = stacks_node(s->stacks, node)->parent; n;
	     n = stacks_node(s->stacks, n)->parent) {
		s->path = grow(s->path, depth, &s->path_cap, sizeof(*s->path));
		s->path[depth++] = copy_frame(s->callers, s->stacks, n);
	}
	s->total += s->totals[node];
	if (depth)
		stacks_add(s->callers, s->path, depth, s->totals[node]);
}

/* A node always comes after its parent, so that the parent has been visited. */
static void search_all(struct call_search *s)
{
	size_t count = stacks_node_count(s->stacks);
	CLEANUP(free) bool *seen = xcalloc(count, sizeof(*seen));

	for (uint32_t n = 1; n < count; n++) {
		const struct stack_node *node = stacks_node(s->stacks, n);

		seen[n] = node->parent ? seen[node->parent] : is_seen(s, n);
		if (!seen[n])
			continue;
		if (s->below[node->parent]) {
			s->below[n] =
				1 + stacks_child(s->callees, s->below[node->parent] - 1,
						 copy_frame(s->callees, s->stacks, n), node->self);
		} else if (is_method(s, n)) {
			add_callers(s, n);
			s->below[n] = 1; /* the root of all callees */
		}
	}
}

/* ---- lists of calls ---- */

struct call_list {
	const struct stacks *stacks;
	uint64_t *totals;
	uint64_t least;
	struct call *list;
	size_t count, cap;
};

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct call_list *l = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (l->totals[x] != l->totals[y])
		return l->totals[x] < l->totals[y] ? 1 : -1;
	return strcmp(stacks_frame(l->stacks, stacks_node(l->stacks, x)->frame)->name,
		      stacks_frame(l->stacks, stacks_node(l->stacks, y)->frame)->name);
}

/* Limit of the depth, besides the least share. */
#define DEPTH_MAX 200

static void list_children(struct call_list *l, uint32_t parent, unsigned depth)
{
	CLEANUP(free) uint32_t *nodes = NULL;
	size_t count = 0, cap = 0;

	if (depth == DEPTH_MAX)
		return;
	for (uint32_t n = stacks_node(l->stacks, parent)->first; n;
	     n = stacks_node(l->stacks, n)->next) {
		if (l->totals[n] < l->least)
			continue;
		nodes = grow(nodes, count, &cap, sizeof(*nodes));
		nodes[count++] = n;
	}
	if (count)
		qsort_r(nodes, count, sizeof(*nodes), compare_nodes, l);
	for (size_t i = 0; i < count; i++) {
		const struct frame *f =
			stacks_frame(l->stacks, stacks_node(l->stacks, nodes[i])->frame);

		l->list = grow(l->list, l->count, &l->cap, sizeof(*l->list));
		l->list[l->count++] = (struct call){.depth = depth,
						    .name = f->name,
						    .kind = f->kind,
						    .samples = l->totals[nodes[i]]};
		list_children(l, nodes[i], depth + 1);
	}
}

static struct call *list_tree(const struct stacks *s, uint64_t least, size_t *ret_count)
{
	CLEANUP(free) uint64_t *totals = stacks_totals(s);
	struct call_list l = {.stacks = s, .totals = totals, .least = least ? least : 1};

	list_children(&l, 0, 0);
	*ret_count = l.count;
	return l.list;
}

void calls_make(const struct stacks *stacks, const struct lens *lens, const char *name,
		enum frame_kind kind, unsigned least, struct calls *ret)
{
	struct call_search s = {.stacks = stacks,
				.lens = lens,
				.name = name,
				.kind = kind,
				.totals = stacks_totals(stacks),
				.callers = stacks_new(),
				.callees = stacks_new(),
				.below = xcalloc(stacks_node_count(stacks), sizeof(*s.below))};

	search_all(&s);
	*ret = (struct calls){.total = s.total, .trees = {s.callers, s.callees}};
	ret->callers = list_tree(s.callers, ret->total / least, &ret->caller_count);
	ret->callees = list_tree(s.callees, ret->total / least, &ret->callee_count);
	free(s.totals);
	free(s.below);
	free(s.path);
}

void calls_fini(struct calls *c)
{
	free(c->callers);
	free(c->callees);
	stacks_free(c->trees[0]);
	stacks_free(c->trees[1]);
	*c = (struct calls){0};
}
