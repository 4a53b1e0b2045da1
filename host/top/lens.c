// SPDX-License-Identifier: Apache-2.0
#include "top/lens.h"

#include "common/str.h"

bool lens_has_thread(const struct lens *lens, const char *name)
{
	return !lens->thread || !strcmp(name, lens->thread);
}

bool lens_has_name(const struct lens *lens, const char *name)
{
	return !lens->filter || strcasestr(name, lens->filter);
}

/* Of a node whose own samples are to be seen, with all nodes on the way to it. */
static uint32_t copy_node(struct stacks *to, const struct stacks *from, uint32_t node,
			  uint32_t *copies)
{
	const struct stack_node *n = stacks_node(from, node);
	const struct frame *f;
	uint32_t frame, parent;

	if (node == 0 || copies[node])
		return copies[node];
	parent = copy_node(to, from, n->parent, copies);
	f = stacks_frame(from, n->frame);
	frame = stacks_intern(to, f->name, f->len, f->kind);
	copies[node] = stacks_child(to, parent, frame, 0);
	return copies[node];
}

struct stacks *lens_stacks(const struct stacks *s, const struct lens *lens)
{
	size_t count = stacks_node_count(s);
	CLEANUP(free) uint32_t *copies = xcalloc(count, sizeof(*copies));
	CLEANUP(free) bool *thread = xcalloc(count, sizeof(*thread));
	CLEANUP(free) bool *named = xcalloc(count, sizeof(*named));
	struct stacks *ret = stacks_new();

	/* A node is always made after its parent. */
	for (uint32_t n = 1; n < count; n++) {
		const struct stack_node *node = stacks_node(s, n);
		const char *name = stacks_frame(s, node->frame)->name;
		uint32_t parent;

		thread[n] = node->parent ? thread[node->parent] : lens_has_thread(lens, name);
		named[n] = named[node->parent] || lens_has_name(lens, name);
		if (!node->self || !thread[n] || !named[n])
			continue;
		parent = copy_node(ret, s, n, copies);
		stacks_child(ret, stacks_node(ret, parent)->parent, stacks_node(ret, parent)->frame,
			     node->self);
	}
	return ret;
}
