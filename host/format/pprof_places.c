// SPDX-License-Identifier: Apache-2.0
#include "format/pprof_places.h"

#include "common/str.h"

static enum frame_kind kind_at(const struct stacks *s, uint32_t node)
{
	return stacks_frame(s, stacks_node(s, node)->frame)->kind;
}

/* The location of a node that is `count` frames above its caller. frames: room for them. */
static uint32_t location_add(struct stacks *locations, const struct stacks *s, uint32_t node,
			     uint32_t *frames, size_t count)
{
	for (size_t i = count; i-- > 0; node = stacks_node(s, node)->parent)
		frames[i] = stacks_node(s, node)->frame;
	return stacks_add(locations, frames, count, 0);
}

void pprof_places_make(struct pprof_places *p, const struct stacks *s)
{
	size_t nodes = stacks_node_count(s), cap = 0;
	CLEANUP(free) uint32_t *counts = xcalloc(nodes, sizeof(*counts));
	CLEANUP(free) uint32_t *frames = NULL;

	*p = (struct pprof_places){.nodes = xcalloc(nodes, sizeof(*p->nodes)),
				   .locations = stacks_new()};
	/* A node is always made after its parent. */
	for (uint32_t n = 1; n < nodes; n++) {
		uint32_t parent = stacks_node(s, n)->parent;
		enum frame_kind kind = kind_at(s, n);

		if (kind == FRAME_ROOT && parent == 0)
			continue;
		counts[n] = 1;
		p->nodes[n].caller = parent;
		if (kind == FRAME_INLINED &&
		    (counts[parent] > 1 || (parent && kind_at(s, parent) == FRAME_JAVA))) {
			counts[n] += counts[parent];
			p->nodes[n].caller = p->nodes[parent].caller;
		}
		while (cap < counts[n])
			frames = grow(frames, cap, &cap, sizeof(*frames));
		p->nodes[n].location = location_add(p->locations, s, n, frames, counts[n]);
	}
}

void pprof_places_fini(struct pprof_places *p)
{
	free(p->nodes);
	stacks_free(p->locations);
}
