// SPDX-License-Identifier: Apache-2.0
#include "calltree/calltree.h"

#include "calltree/thread_root.h"
#include "common/str.h"
#include "common/table.h"

#define PATHS 8

/* The last stack that was added with a first frame: the next one of that thread shares most of its
 * outer nodes. Of the processor time of --replay (53 840 samples with frame pointers) adding stacks
 * takes 26 % without this and the prefetch in set_steps, 10 % with both. */
struct path {
	struct step {
		uint32_t frame, node, hash;
	} * steps; /* outermost first */
	size_t len, cap;
};

struct stacks {
	struct path paths[PATHS]; /* by the first frame */
	struct frames *frames;

	struct stack_node *nodes;
	size_t node_count, node_cap;
	struct hash_table index; /* of the nodes but the root */
};

void quality_add(struct quality *to, const struct quality *from)
{
	uint64_t *sums = (uint64_t *)to;
	const uint64_t *counts = (const uint64_t *)from;

	_Static_assert(sizeof(*to) % sizeof(*sums) == 0, "only counts");
	for (size_t i = 0; i < sizeof(*to) / sizeof(*sums); i++)
		sums[i] = count_add(sums[i], counts[i]);
}

struct stacks *stacks_new(void)
{
	struct stacks *s = xcalloc(1, sizeof(*s));

	s->frames = frames_new();
	s->nodes = grow(NULL, 0, &s->node_cap, sizeof(*s->nodes));
	s->nodes[s->node_count++] = (struct stack_node){0};
	return s;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < PATHS; i++)
		free(s->paths[i].steps);
	frames_free(s->frames);
	free(s->nodes);
	hash_fini(&s->index);
	free(s);
}

uint32_t stacks_intern(struct stacks *s, const char *name, size_t len, enum frame_kind kind)
{
	return frames_intern(s->frames, name, len, kind);
}

struct frames *stacks_frames(const struct stacks *s)
{
	return s->frames;
}

/* Hash of a node, from its parent's: those of a whole stack are known before any of its nodes. */
static uint32_t child_hash(uint32_t parent, uint32_t frame)
{
	return (uint32_t)hash_mix((uint64_t)parent << 32 | frame);
}

/* Finds or adds a child; `hash` is the child's. */
static uint32_t find_child(struct stacks *s, uint32_t parent, uint32_t frame, uint32_t hash)
{
	uint32_t n = (uint32_t)s->node_count;

	for (struct hash_probe p = {.hash = hash}; hash_next(&s->index, &p);)
		if (s->nodes[p.index].parent == parent && s->nodes[p.index].frame == frame)
			return p.index;
	s->nodes = grow(s->nodes, s->node_count, &s->node_cap, sizeof(*s->nodes));
	s->nodes[n] = (struct stack_node){
		.frame = frame, .parent = parent, .next = s->nodes[parent].first, .hash = hash};
	s->nodes[parent].first = n;
	s->node_count++;
	hash_add(&s->index, hash, n);
	return n;
}

static uint32_t child(struct stacks *s, uint32_t parent, uint32_t frame)
{
	return find_child(s, parent, frame, child_hash(s->nodes[parent].hash, frame));
}

uint32_t stacks_child(struct stacks *s, uint32_t parent, uint32_t frame, uint64_t count)
{
	uint32_t node = child(s, parent, frame);

	s->nodes[node].self += count;
	return node;
}

void stacks_count(struct stacks *s, uint32_t node, uint64_t count)
{
	s->nodes[node].self += count;
}

/* Takes the frames from `same` on into the path; prefetches the index for all of them, which
 * would wait for memory one by one. */
static void set_steps(const struct stacks *s, struct path *path, const uint32_t *frames, size_t n,
		      size_t same)
{
	uint32_t hash = same ? path->steps[same - 1].hash : 0;

	for (path->len = same; path->len < n; path->len++) {
		hash = child_hash(hash, frames[path->len]);
		hash_prefetch(&s->index, hash);
		path->steps = grow(path->steps, path->len, &path->cap, sizeof(*path->steps));
		path->steps[path->len] = (struct step){.frame = frames[path->len], .hash = hash};
	}
}

uint32_t stacks_add(struct stacks *s, const uint32_t *frames, size_t n, uint64_t count)
{
	struct path *path = &s->paths[n ? frames[0] % PATHS : 0];
	size_t same = 0;
	uint32_t node;

	while (same < n && same < path->len && path->steps[same].frame == frames[same])
		same++;
	set_steps(s, path, frames, n, same);
	node = same ? path->steps[same - 1].node : 0;
	for (size_t i = same; i < n; i++) {
		node = find_child(s, node, frames[i], path->steps[i].hash);
		path->steps[i].node = node;
	}
	s->nodes[node].self += count;
	return node;
}

static uint32_t graft_frame(struct stacks *to, const struct frames *from, uint32_t frame,
			    const struct graft *how)
{
	struct frame f = *frames_get(from, frame);
	CLEANUP(str_fini) struct str name = {0};
	uint32_t ret;

	if (how->kinds == GRAFT_JOINED && frame_is_java(f.kind))
		f.kind = FRAME_JAVA;
	if (how->kinds > GRAFT_JOINED && f.kind != FRAME_ROOT && !*frame_suffix(f.kind))
		f.kind = frame_kind_of_text(f.name, f.len);
	if (how->kinds == GRAFT_METHODS && frame_is_java(f.kind)) {
		frame_add_stable_name(&name, f.name, f.len);
		f.kind = FRAME_JAVA;
	} else if (how->pools && f.kind == FRAME_ROOT) {
		thread_add_pool(&name, f.name, f.len);
	}
	if (name.buf) {
		f.name = name.buf;
		f.len = (uint32_t)name.len;
	}
	ret = frames_intern(to->frames, f.name, f.len, f.kind);
	if (!frames_keeps_places(to->frames))
		return ret;
	ret = frames_place(
		to->frames, ret, f.line,
		f.module ? frames_intern_module(to->frames, frames_module(from, f.module)) : 0);
	return frames_level(to->frames, ret, f.level);
}

uint32_t stacks_copy_frame(struct stacks *to, const struct stacks *from, uint32_t frame)
{
	return graft_frame(to, from->frames, frame, &(struct graft){0});
}

/* JDK 21 and later call it between a thread's run() and the method that it runs. */
static bool is_run_with(const struct frame *f)
{
	static const char name[] = "java.lang.Thread.runWith";

	return frame_is_java(f->kind) && f->len == strlen(name) && !memcmp(f->name, name, f->len);
}

#define IN_JAVA UINT32_MAX

struct grafting {
	struct stacks *to;
	const struct stacks *from;
	const struct graft *how;
	uint32_t *frames; /* by frame of `from`: that of `to`, + 1 */
	uint32_t *nodes;  /* by node of `from`: that of `to` */
	/* By node of `from`: the node of its thread, up to the first Java method; then IN_JAVA. */
	uint32_t *threads;
	/* By node of `from`: the node + 1 below which the frames that start a thread are folded, up
	 * to the first other frame; then 0. */
	uint32_t *starts;
};

/* True if the node is a thread's root, or one of the frames that start it. */
static bool is_in_start(const struct grafting *g, uint32_t n)
{
	const struct stack_node *node = &g->from->nodes[n];
	const struct frame *f = frames_get(g->from->frames, node->frame);

	return node->parent ? g->starts[node->parent] && thread_is_start(f) : f->kind == FRAME_ROOT;
}

static uint32_t start_node(const struct grafting *g, uint32_t under)
{
	return child(
		g->to, under,
		frames_intern(g->to->frames, THREAD_START, strlen(THREAD_START), FRAME_NATIVE));
}

/* Returns the node of `to` for this one, whose parent has one already. */
static uint32_t graft_node(const struct grafting *g, uint32_t n)
{
	const struct stack_node *node = &g->from->nodes[n];
	const struct frame *f = frames_get(g->from->frames, node->frame);
	uint32_t *frame = &g->frames[node->frame], under = g->nodes[node->parent];

	if (g->how->skip_first && node->parent == 0)
		return g->how->under;
	if (g->how->kinds == GRAFT_METHODS) {
		if (is_run_with(f))
			return under;
		if (frame_is_java(f->kind) && g->threads[node->parent] != IN_JAVA)
			under = g->threads[node->parent];
	}
	if (!*frame)
		*frame = graft_frame(g->to, g->from->frames, node->frame, g->how) + 1;
	return child(g->to, under, *frame - 1);
}

void stacks_graft(struct stacks *to, const struct stacks *from, const struct graft *how,
		  uint32_t **ret_nodes)
{
	CLEANUP(free) uint32_t *frames = xcalloc(frames_count(from->frames), sizeof(*frames));
	CLEANUP(free) uint32_t *nodes = xcalloc(from->node_count, sizeof(*nodes));
	CLEANUP(free) uint32_t *threads = xcalloc(from->node_count, sizeof(*threads));
	CLEANUP(free) uint32_t *starts = xcalloc(from->node_count, sizeof(*starts));
	struct grafting g = {to, from, how, frames, nodes, threads, starts};

	nodes[0] = threads[0] = how->under;
	to->nodes[how->under].self += from->nodes[0].self;
	/* A node is always made after its parent. */
	for (uint32_t n = 1; n < from->node_count; n++) {
		const struct stack_node *node = &from->nodes[n];
		enum frame_kind kind = frames_get(from->frames, node->frame)->kind;

		if (how->fold_start && is_in_start(&g, n)) {
			starts[n] = node->parent ? starts[node->parent] : graft_node(&g, n) + 1;
			nodes[n] = starts[n] - 1;
			if (node->parent)
				nodes[n] = start_node(&g, nodes[n]);
		} else {
			nodes[n] = graft_node(&g, n);
		}
		threads[n] = kind == FRAME_ROOT	   ? nodes[n]
			     : frame_is_java(kind) ? IN_JAVA
						   : threads[node->parent];
		to->nodes[nodes[n]].self += node->self;
	}
	if (ret_nodes)
		*ret_nodes = TAKE_PTR(nodes);
}

struct stacks *stacks_plain(const struct stacks *s, uint32_t **ret_nodes)
{
	struct stacks *plain = stacks_new();

	stacks_graft(plain, s, &(struct graft){0}, ret_nodes);
	return plain;
}

#define WAYS 3 /* FRAME_JAVA, FRAME_INLINED, FRAME_INTERPRETED */

struct stacks *stacks_join_methods(const struct stacks *s)
{
	struct stacks *joined = stacks_new();
	CLEANUP(free) uint64_t *totals = stacks_totals(s);
	CLEANUP(free) uint32_t *nodes = NULL;
	CLEANUP(free) uint64_t(*ran)[WAYS] = NULL;

	stacks_graft(joined, s, &(struct graft){.kinds = GRAFT_JOINED}, &nodes);
	ran = xcalloc(joined->node_count, sizeof(*ran));
	for (size_t n = 1; n < s->node_count; n++) {
		enum frame_kind kind = frames_get(s->frames, s->nodes[n].frame)->kind;

		if (frame_is_java(kind))
			ran[nodes[n]][kind - FRAME_JAVA] += totals[n];
	}
	for (size_t n = 1; n < joined->node_count; n++) {
		const struct frame f = *frames_get(joined->frames, joined->nodes[n].frame);
		int most = 0;

		for (int way = 1; way < WAYS; way++)
			if (ran[n][way] > ran[n][most])
				most = way;
		if (frame_is_java(f.kind))
			joined->nodes[n].frame = frames_intern(joined->frames, f.name, f.len,
							       FRAME_JAVA + (enum frame_kind)most);
	}
	return joined;
}

static int compare_frames(const void *a, const void *b, void *arg)
{
	const struct stacks *s = arg;
	const struct frame *x = frames_get(s->frames, *(const uint32_t *)a);
	const struct frame *y = frames_get(s->frames, *(const uint32_t *)b);
	int order = strcmp(x->name, y->name);

	if (order == 0)
		order = (int)x->kind - (int)y->kind;
	if (order == 0)
		order = (x->line > y->line) - (x->line < y->line);
	if (order == 0)
		order = (x->module > y->module) - (x->module < y->module);
	return order ? order : (int)x->level - (int)y->level;
}

/* Sorts the nodes by frame with a counting sort, then prepends them from last to first to the lists
 * of their parents: no list is sorted on its own. */
void stacks_sort(struct stacks *s)
{
	size_t frame_count = frames_count(s->frames);
	CLEANUP(free) uint32_t *order = xcalloc(frame_count, sizeof(*order));
	CLEANUP(free) uint32_t *start = xcalloc(frame_count + 1, sizeof(*start));
	CLEANUP(free) uint32_t *sorted = xcalloc(s->node_count, sizeof(*sorted));
	uint32_t sum = 0;

	for (uint32_t f = 0; f < frame_count; f++)
		order[f] = f;
	if (frame_count)
		qsort_r(order, frame_count, sizeof(*order), compare_frames, s);
	for (size_t n = 1; n < s->node_count; n++)
		start[s->nodes[n].frame]++;
	for (size_t f = 0; f < frame_count; f++) {
		uint32_t count = start[order[f]];

		start[order[f]] = sum;
		sum += count;
	}
	for (uint32_t n = 1; n < s->node_count; n++)
		sorted[start[s->nodes[n].frame]++] = n;
	for (size_t n = 0; n < s->node_count; n++)
		s->nodes[n].first = 0;
	for (size_t i = s->node_count - 1; i-- > 0;) {
		struct stack_node *node = &s->nodes[sorted[i]];

		node->next = s->nodes[node->parent].first;
		s->nodes[node->parent].first = sorted[i];
	}
}

const struct frame *stacks_frame(const struct stacks *s, uint32_t frame)
{
	return frames_get(s->frames, frame);
}

const struct stack_node *stacks_node(const struct stacks *s, uint32_t node)
{
	return &s->nodes[node];
}

size_t stacks_node_count(const struct stacks *s)
{
	return s->node_count;
}

size_t stacks_frame_count(const struct stacks *s)
{
	return frames_count(s->frames);
}

uint64_t *stacks_totals(const struct stacks *s)
{
	uint64_t *totals = xcalloc(s->node_count, sizeof(*totals));

	/* A node is always made after its parent. */
	for (size_t n = s->node_count; n-- > 0;) {
		totals[n] += s->nodes[n].self;
		if (n)
			totals[s->nodes[n].parent] += totals[n];
	}
	return totals;
}
