// SPDX-License-Identifier: Apache-2.0
#include "calltree/subjects.h"

#include <stdlib.h>
#include <string.h>

#include "calltree/verdict.h"
#include "common/str.h"
#include "common/table.h"

#define LEAST_PERCENT 1

/* What a stack's path from the root up to a node says; frames, with 1 added; 0: none. */
struct path {
	uint32_t method, class, holder;
	bool is_held; /* the node is of the holder's stack */
};

/* Sums of the stacks that say the same. */
struct sum {
	struct path path;
	uint64_t amount;
};

struct sums {
	const struct stacks *stacks;
	const char *held; /* the frame before the holder's */
	uint8_t *owners; /* by frame: enum code_owner of Java methods, or CODE_OWNERS */
	struct sum *list;
	size_t count, cap;
	struct hash_table index;
};

static const struct frame *frame_at(const struct sums *s, uint32_t frame)
{
	return stacks_frame(s->stacks, frame);
}

static bool is_held_by(const struct sums *s, const struct frame *f)
{
	return s->held && f->kind == FRAME_STUB && !strcmp(f->name, s->held);
}

/* True if a method says more than that of an inner frame: that of the application does, and what is
 * no method of the JDK. */
static bool is_nearer(const struct sums *s, uint32_t frame, uint32_t than)
{
	return !than || s->owners[frame] < s->owners[than - 1];
}

/* The path with one frame more. In the holder's stack the innermost frame comes first. */
static struct path go_on(const struct sums *s, struct path p, uint32_t frame)
{
	const struct frame *f = frame_at(s, frame);

	if (is_held_by(s, f)) {
		p.is_held = true;
	} else if (f->java && p.is_held) {
		if (is_nearer(s, frame, p.holder))
			p.holder = frame + 1;
	} else if (f->java) {
		if (!p.method || s->owners[frame] <= s->owners[p.method - 1])
			p.method = frame + 1;
	} else if (f->kind == FRAME_STUB && !p.is_held) {
		p.class = frame + 1;
	}
	return p;
}

static void add(struct sums *s, const struct path *p, uint64_t amount)
{
	const uint64_t hash = hash_mix((uint64_t)p->class << 40 ^ (uint64_t)p->method << 20 ^
				       p->holder);

	for (struct hash_probe h = {.hash = hash}; hash_next(&s->index, &h);) {
		struct sum *known = &s->list[h.index];

		if (known->path.class == p->class && known->path.method == p->method &&
		    known->path.holder == p->holder) {
			known->amount += amount;
			return;
		}
	}
	s->list = grow(s->list, s->count, &s->cap, sizeof(*s->list));
	hash_add(&s->index, hash, (uint32_t)s->count);
	s->list[s->count++] = (struct sum){*p, amount};
}

static int by_amount(const void *a, const void *b)
{
	uint64_t x = ((const struct sum *)a)->amount, y = ((const struct sum *)b)->amount;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Frames that differ only in how they were compiled, or in the line, are one method. */
static void find_owners(struct sums *s)
{
	const size_t count = stacks_frame_count(s->stacks);

	s->owners = xcalloc(count + 1, 1);
	for (uint32_t i = 0; i < count; i++) {
		const struct frame *f = frame_at(s, i);

		s->owners[i] = (uint8_t)(f->java ? code_owner_of(f->name, NULL) : CODE_OWNERS);
	}
}

static void name(const struct sums *s, uint32_t frame, char *ret, size_t size)
{
	const struct frame *f = frame ? frame_at(s, frame - 1) : NULL;
	CLEANUP(str_fini) struct str text = {0};

	if (f && f->java)
		frame_add_stable_name(&text, f->name, f->len);
	snprintf(ret, size, "%s", text.len ? text.buf : f ? f->name : "");
}

/* True if a subject with the same names is there, to which the amount is added. */
static bool is_there(struct subjects *all, const struct subject *new)
{
	for (size_t i = 0; i < all->count; i++) {
		struct subject *s = &all->list[i];

		if (!strcmp(s->class, new->class) && !strcmp(s->method, new->method) &&
		    !strcmp(s->holder, new->holder)) {
			s->amount += new->amount;
			return true;
		}
	}
	return false;
}

static void take_largest(struct sums *s, struct subjects *ret)
{
	qsort(s->list, s->count, sizeof(*s->list), by_amount);
	for (size_t i = 0; i < s->count; i++) {
		const struct sum *from = &s->list[i];
		struct subject new = {.amount = from->amount};

		if ((double)from->amount * 100 < LEAST_PERCENT * (double)ret->amount)
			return;
		name(s, from->path.class, new.class, sizeof(new.class));
		name(s, from->path.method, new.method, sizeof(new.method));
		name(s, from->path.holder, new.holder, sizeof(new.holder));
		if (!is_there(ret, &new) && ret->count < SUBJECTS)
			ret->list[ret->count++] = new;
	}
}

void subjects_make(const struct stacks *s, enum event_kind event, struct subjects *ret)
{
	const size_t count = stacks_node_count(s);
	CLEANUP(free) struct path *paths = xcalloc(count, sizeof(*paths));
	struct sums sums = {.stacks = s, .held = event_names[event].held};

	*ret = (struct subjects){.event = event};
	find_owners(&sums);
	for (uint32_t n = 1; n < count; n++) {
		const struct stack_node *node = stacks_node(s, n);

		paths[n] = go_on(&sums, paths[node->parent], node->frame);
		ret->amount += node->self;
		if (node->self && paths[n].class)
			add(&sums, &paths[n], node->self);
	}
	take_largest(&sums, ret);
	hash_fini(&sums.index);
	free(sums.list);
	free(sums.owners);
}

void subjects_check(struct subjects *s)
{
	if ((unsigned)s->event >= EVENT_KINDS)
		s->event = EVENT_CPU;
	if (s->count > SUBJECTS)
		s->count = SUBJECTS;
	for (size_t i = 0; i < s->count; i++) {
		str_clean(s->list[i].class, sizeof(s->list[i].class));
		str_clean(s->list[i].method, sizeof(s->list[i].method));
		str_clean(s->list[i].holder, sizeof(s->list[i].holder));
	}
}
