// SPDX-License-Identifier: Apache-2.0
#include "report/hottest.h"

#include "common/str.h"

static void find_leaf(const struct stacks *s, struct render_result *ret)
{
	uint64_t *self = xcalloc(stacks_frame_count(s), sizeof(*self));
	size_t nodes = stacks_node_count(s), best = 0;

	for (uint32_t n = 1; n < nodes; n++) {
		const struct stack_node *node = stacks_node(s, n);

		self[node->frame] += node->self;
	}
	for (size_t f = 0; f < stacks_frame_count(s); f++)
		if (self[f] > self[best])
			best = f;
	if (stacks_frame_count(s) && self[best]) {
		snprintf(ret->leaf, sizeof(ret->leaf), "%s", stacks_frame(s, (uint32_t)best)->name);
		ret->leaf_self = self[best];
	}
	free(self);
}

/* The outermost two frames, "...", and as many of the innermost as there is room for. */
static void write_path(const struct stacks *s, const uint32_t *frames, size_t n, char *ret,
		       size_t size)
{
	CLEANUP(str_fini) struct str head = {0};
	CLEANUP(str_fini) struct str tail = {0};
	size_t first = n, used = 0, head_count = n < 2 ? n : 2;

	for (size_t i = 0; i < head_count; i++)
		str_addf(&head, "%s%s", i ? ";" : "", stacks_frame(s, frames[i])->name);
	while (first > head_count) {
		size_t len = stacks_frame(s, frames[first - 1])->len + 1u;

		if (head.len + used + len + sizeof(";...") > size)
			break;
		used += len;
		first--;
	}
	if (first > head_count)
		str_adds(&tail, ";...");
	for (size_t i = first; i < n; i++)
		str_addf(&tail, ";%s", stacks_frame(s, frames[i])->name);
	snprintf(ret, size, "%s%s", head.buf ? head.buf : "", tail.buf ? tail.buf : "");
}

static void find_path(const struct stacks *s, struct render_result *ret)
{
	size_t nodes = stacks_node_count(s), depth = 0;
	CLEANUP(free) uint32_t *frames = NULL;
	uint32_t best = 0;

	for (uint32_t n = 1; n < nodes; n++)
		if (stacks_node(s, n)->self > (best ? stacks_node(s, best)->self : 0))
			best = n;
	if (!best)
		return;
	ret->path_self = stacks_node(s, best)->self;
	for (uint32_t n = best; n; n = stacks_node(s, n)->parent)
		depth++;
	frames = xcalloc(depth, sizeof(*frames));
	for (uint32_t n = best, i = (uint32_t)depth; n; n = stacks_node(s, n)->parent)
		frames[--i] = stacks_node(s, n)->frame;
	write_path(s, frames, depth, ret->path, sizeof(ret->path));
}

void hottest_find(const struct stacks *s, struct render_result *ret)
{
	find_leaf(s, ret);
	find_path(s, ret);
}
