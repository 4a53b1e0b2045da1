// SPDX-License-Identifier: Apache-2.0
/* An interval tree (Edelsbrunner, 1980) over the addresses: each life is in the topmost node whose
 * address it contains. All lives of a node contain that address and so succeed each other in time:
 * one binary search by time finds those of interest. */
#include "jit/interval_tree.h"

#include "common/str.h"
#include "common/table.h"

struct lifetree_node {
	uint64_t addr;
	uint32_t first, count;	/* lives, in the order of time */
	uint32_t before, after; /* nodes, 0: none; of lives that end before, or start after, addr */
};

/* Working memory of the build. */
struct build {
	struct lifetree *tree;
	struct life *spare;
	struct keyed *keys;
};

static void sort_lives(struct build *b, struct life *lives, size_t n, uint64_t (*key)(struct life))
{
	if (n < 2)
		return;
	for (size_t i = 0; i < n; i++)
		b->keys[i] = (struct keyed){.key = key(lives[i]), .value = i};
	keyed_sort(b->keys, n);
	for (size_t i = 0; i < n; i++)
		b->spare[i] = lives[b->keys[i].value];
	memcpy(lives, b->spare, n * sizeof(*lives));
}

static uint64_t by_start(struct life l)
{
	return l.start;
}

static uint64_t by_first(struct life l)
{
	return l.first;
}

/* Divides lives[0, n), sorted by start, into those before, at and after a node's address. */
static void divide(struct build *b, struct life *lives, size_t n, uint64_t addr, size_t *ret_before,
		   size_t *ret_here)
{
	size_t before = 0, here = 0, i = 0;

	for (; i < n && lives[i].start <= addr; i++) {
		if (lives[i].end <= addr)
			lives[before++] = lives[i];
		else
			b->spare[here++] = lives[i];
	}
	memcpy(lives + before, b->spare, here * sizeof(*lives));
	*ret_before = before;
	*ret_here = here;
}

/* Makes the node of lives [from, from + n). Its address is the start of the middle one, so that at
 * most half of them are on either side: the depth is logarithmic. */
static uint32_t make_node(struct build *b, size_t from, size_t n)
{
	struct life *lives = b->tree->lives + from;
	size_t before, here, number;
	struct lifetree_node node;

	if (n == 0)
		return 0;
	number = ++b->tree->count;
	node.addr = lives[n / 2].start;
	divide(b, lives, n, node.addr, &before, &here);
	sort_lives(b, lives + before, here, by_first);
	node.first = (uint32_t)(from + before);
	node.count = (uint32_t)here;
	node.before = make_node(b, from, before);
	node.after = make_node(b, from + before + here, n - before - here);
	b->tree->nodes[number] = node;
	return (uint32_t)number;
}

void lifetree_build(struct lifetree *t, struct life *lives, size_t n)
{
	CLEANUP(free) struct life *spare = xcalloc(n, sizeof(*spare));
	CLEANUP(free) struct keyed *keys = xcalloc(n, sizeof(*keys));
	struct build b = {.tree = t, .spare = spare, .keys = keys};

	t->lives = lives;
	t->nodes = xcalloc(n + 1, sizeof(*t->nodes));
	t->count = 0;
	sort_lives(&b, lives, n, by_start);
	t->start = n ? lives[0].start : 0;
	t->end = 0;
	for (size_t i = 0; i < n; i++)
		t->end = lives[i].end > t->end ? lives[i].end : t->end;
	make_node(&b, 0, n);
}

void lifetree_fini(struct lifetree *t)
{
	free(t->lives);
	free(t->nodes);
	*t = (struct lifetree){0};
}

/* Finds a node's first life that is not gone at `time`. */
static uint32_t first_at(const struct lifetree *t, const struct lifetree_node *node, uint32_t time)
{
	uint32_t lo = node->first, n = node->count;

	while (n) {
		uint32_t half = n / 2;

		if (t->lives[lo + half].gone <= time) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

size_t lifetree_find(const struct lifetree *t, uint64_t addr, uint32_t first, uint32_t last,
		     uint32_t *ret)
{
	const struct lifetree_node *node;
	size_t found = 0;

	if (addr < t->start || addr >= t->end)
		return 0;
	for (uint32_t at = t->count ? 1 : 0; at;
	     at = addr < node->addr ? node->before : node->after) {
		uint32_t i, end;

		node = &t->nodes[at];
		end = node->first + node->count;
		for (i = first_at(t, node, first); i < end && t->lives[i].first <= last; i++)
			if (t->lives[i].start <= addr && addr < t->lives[i].end &&
			    found <= last - first)
				ret[found++] = t->lives[i].number;
	}
	return found;
}
