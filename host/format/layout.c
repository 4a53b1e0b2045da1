// SPDX-License-Identifier: Apache-2.0
#include "format/layout.h"

#include "common/str.h"

static void box_add(struct layout *l, uint32_t node, uint32_t depth, uint64_t start,
		    uint64_t samples)
{
	l->boxes = grow(l->boxes, l->count, &l->cap, sizeof(*l->boxes));
	l->boxes[l->count++] = (struct layout_box){
		.node = node, .depth = depth, .start = start, .samples = samples};
	if (depth >= l->rows)
		l->rows = depth + 1;
}

/* Walks without recursion, since the recorded program decides how deep a stack is. */
void layout_of(struct layout *l, const struct stacks *s, const uint64_t *totals, uint64_t narrowest)
{
	CLEANUP(free) uint64_t *starts = NULL; /* by depth: left edge of the current box */
	uint64_t least, start = 0;
	uint32_t node = 0, depth = 0;
	size_t cap = 0;

	*l = (struct layout){.total = totals[0]};
	if (l->total == 0)
		return;
	least = narrowest ? l->total / narrowest + (l->total % narrowest != 0) : 1;
	least = least ? least : 1;
	for (;;) {
		const struct stack_node *n = stacks_node(s, node);
		bool visible = totals[node] >= least;

		starts = grow(starts, depth, &cap, sizeof(*starts));
		starts[depth] = start;
		if (visible)
			box_add(l, node, depth, start, totals[node]);
		if (visible && n->first) {
			node = n->first;
			depth++;
			continue;
		}
		while (!n->next && depth) {
			node = n->parent;
			n = stacks_node(s, node);
			depth--;
		}
		if (!depth)
			return;
		start = starts[depth] + totals[node];
		node = n->next;
	}
}

void layout_make(struct layout *l, const struct stacks *s, uint64_t narrowest)
{
	CLEANUP(free) uint64_t *totals = stacks_totals(s);

	layout_of(l, s, totals, narrowest);
}

void layout_fini(struct layout *l)
{
	free(l->boxes);
	*l = (struct layout){0};
}
