// SPDX-License-Identifier: Apache-2.0
#include "calltree/subjects.h"

#include <stdlib.h>
#include <string.h>

#include "calltree/verdict.h"
#include "common/str.h"
#include "common/table.h"

#define LEAST_PERCENT 1

/* The frames that a stack says, from the root up to a node; with 1 added; 0: none. */
struct said {
	uint32_t method, class, holder;
	bool is_held; /* the node is of the holder's stack */
};

/* Sums of the stacks that say the same. */
struct sum {
	struct said path;
	uint64_t amount;
};

struct sums {
	const struct stacks *stacks;
	const char *held; /* the frame before the holder's */
	uint8_t *owners;  /* by frame: 1 + enum code_owner, 0: not known yet; NULL: not kept */
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

/* Whose a Java method is. */
static enum code_owner owner_of(const struct sums *s, uint32_t frame)
{
	uint8_t *known = s->owners ? &s->owners[frame] : NULL;
	enum code_owner owner;

	if (known && *known)
		return (enum code_owner)(*known - 1);
	owner = code_owner_of(frame_at(s, frame)->name, NULL);
	if (known)
		*known = (uint8_t)(owner + 1);
	return owner;
}

/* The path with one frame more. A method of the application says more than an inner one that is
 * not, and one of a library more than the JDK's. In the holder's stack the innermost frame comes
 * first. */
static struct said go_on(const struct sums *s, struct said p, uint32_t frame)
{
	const struct frame *f = frame_at(s, frame);

	if (is_held_by(s, f)) {
		p.is_held = true;
	} else if (f->java && p.is_held) {
		if (!p.holder || owner_of(s, frame) < owner_of(s, p.holder - 1))
			p.holder = frame + 1;
	} else if (f->java) {
		if (!p.method || owner_of(s, frame) <= owner_of(s, p.method - 1))
			p.method = frame + 1;
	} else if (f->kind == FRAME_STUB && !p.is_held) {
		p.class = frame + 1;
	}
	return p;
}

static void add(struct sums *s, const struct said *p, uint64_t amount)
{
	const uint64_t hash =
		hash_mix((uint64_t)p->class << 40 ^ (uint64_t)p->method << 20 ^ p->holder);

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

static void name(const struct sums *s, uint32_t frame, char *ret, size_t size)
{
	const struct frame *f = frame ? frame_at(s, frame - 1) : NULL;
	CLEANUP(str_fini) struct str text = {0};

	if (f && f->java)
		frame_add_stable_name(&text, f->name, f->len);
	snprintf(ret, size, "%s", text.len ? text.buf : f ? f->name : "");
}

static void name_path(const struct sums *s, const struct said *p, struct subject *ret)
{
	name(s, p->class, ret->class, sizeof(ret->class));
	name(s, p->method, ret->method, sizeof(ret->method));
	name(s, p->holder, ret->holder, sizeof(ret->holder));
}

/* True if a subject with the same names is there, to which the amount is added: frames of a method
 * differ by how it was compiled. */
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
		name_path(s, &from->path, &new);
		if (!is_there(ret, &new) && ret->count < SUBJECTS)
			ret->list[ret->count++] = new;
	}
}

void subjects_make(const struct stacks *s, enum event_kind event, struct subjects *ret)
{
	const size_t count = stacks_node_count(s);
	CLEANUP(free) struct said *paths = xcalloc(count, sizeof(*paths));
	struct sums sums = {.stacks = s, .held = event_names[event].held};

	*ret = (struct subjects){.event = event};
	sums.owners = xcalloc(stacks_frame_count(s) + 1, 1);
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

void subject_of(const struct stacks *s, enum event_kind event, uint32_t node, struct subject *ret)
{
	struct sums one = {.stacks = s, .held = event_names[event].held};
	CLEANUP(free) uint32_t *frames = NULL;
	struct said path = {0};
	size_t count = 0, cap = 0;

	for (uint32_t n = node; n; n = stacks_node(s, n)->parent) {
		frames = grow(frames, count, &cap, sizeof(*frames));
		frames[count++] = stacks_node(s, n)->frame;
	}
	while (count)
		path = go_on(&one, path, frames[--count]);
	name_path(&one, &path, ret);
}

void subject_check(struct subject *s)
{
	str_clean(s->class, sizeof(s->class));
	str_clean(s->method, sizeof(s->method));
	str_clean(s->holder, sizeof(s->holder));
}

void subjects_check(struct subjects *s)
{
	if ((unsigned)s->event >= EVENT_KINDS)
		s->event = EVENT_CPU;
	if (s->count > SUBJECTS)
		s->count = SUBJECTS;
	for (size_t i = 0; i < s->count; i++)
		subject_check(&s->list[i]);
}
