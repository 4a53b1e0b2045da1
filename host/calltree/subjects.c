// SPDX-License-Identifier: Apache-2.0
#include "calltree/subjects.h"

#include <stdlib.h>
#include <string.h>

#include "calltree/verdict.h"
#include "common/str.h"
#include "common/table.h"

#define LEAST_PERCENT 1

/* The frames that a stack says, from the root up to a node; with 1 added; 0: none. The class is the
 * last one but for a holder's stack. */
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
	uint32_t *first;  /* by frame: of a Java method the first frame; else itself; NULL: each */
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

static uint32_t first_of(const struct sums *s, uint32_t frame)
{
	return s->first ? s->first[frame] : frame;
}

/* The path with one frame more. A method of the application says more than an inner one that is
 * not, and one of a library more than the JDK's. In the holder's stack the innermost frame comes
 * first. */
static struct said go_on(const struct sums *s, struct said p, uint32_t frame)
{
	const struct frame *f = frame_at(s, frame);

	if (is_held_by(s, f)) {
		p.is_held = true;
	} else if (p.is_held) {
		if (f->java && (!p.holder || owner_of(s, frame) < owner_of(s, p.holder - 1)))
			p.holder = first_of(s, frame) + 1;
	} else {
		p.class = f->kind == FRAME_STUB ? frame + 1 : 0;
		if (f->java && (!p.method || owner_of(s, frame) <= owner_of(s, p.method - 1)))
			p.method = first_of(s, frame) + 1;
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

/* Appends the name of a frame as it is shown. */
static void add_name(struct str *out, const struct frame *f)
{
	if (f->java)
		frame_add_stable_name(out, f->name, f->len);
	else
		str_add(out, f->name, f->len);
}

/* Returns the first frame of the method: frames that differ only in how they were compiled, or in
 * the line, are one method. */
static uint32_t find_first(const struct sums *s, struct hash_table *methods, uint32_t frame)
{
	CLEANUP(str_fini) struct str name = {0};
	uint64_t hash;

	add_name(&name, frame_at(s, frame));
	hash = hash_bytes(0, name.buf, name.len);
	for (struct hash_probe h = {.hash = hash}; hash_next(methods, &h);) {
		CLEANUP(str_fini) struct str other = {0};

		add_name(&other, frame_at(s, h.index));
		if (other.len == name.len && !memcmp(other.buf, name.buf, name.len))
			return h.index;
	}
	hash_add(methods, hash, frame);
	return frame;
}

static void find_methods(struct sums *s)
{
	CLEANUP(hash_fini) struct hash_table methods = {0};
	const size_t count = stacks_frame_count(s->stacks);

	s->owners = xcalloc(count + 1, sizeof(*s->owners));
	s->first = xcalloc(count + 1, sizeof(*s->first));
	for (uint32_t i = 0; i < count; i++)
		s->first[i] = frame_at(s, i)->java ? find_first(s, &methods, i) : i;
}

static void name(const struct sums *s, uint32_t frame, char *ret, size_t size)
{
	CLEANUP(str_fini) struct str text = {0};

	str_adds(&text, "");
	if (frame)
		add_name(&text, frame_at(s, frame - 1));
	snprintf(ret, size, "%s", text.buf);
	str_clean(ret, size);
}

static void name_path(const struct sums *s, const struct said *p, struct subject *ret)
{
	name(s, p->class, ret->class, sizeof(ret->class));
	name(s, p->method, ret->method, sizeof(ret->method));
	name(s, p->holder, ret->holder, sizeof(ret->holder));
}

static void take_largest(struct sums *s, struct subjects *ret)
{
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_amount);
	for (size_t i = 0; i < s->count && i < SUBJECTS; i++) {
		const struct sum *from = &s->list[i];
		struct subject *to = &ret->list[i];

		if ((double)from->amount * 100 < LEAST_PERCENT * (double)ret->amount)
			return;
		to->amount = from->amount;
		name_path(s, &from->path, to);
		ret->count++;
	}
}

void subjects_make(const struct stacks *s, enum event_kind event, struct subjects *ret)
{
	const size_t count = stacks_node_count(s);
	CLEANUP(free) struct said *paths = xcalloc(count, sizeof(*paths));
	struct sums sums = {.stacks = s, .held = event_names[event].held};

	*ret = (struct subjects){.event = event};
	find_methods(&sums);
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
	free(sums.first);
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
	if ((unsigned)s->event >= EVENT_KINDS || !event_names[s->event].by)
		*s = (struct subjects){0};
	if (s->count > SUBJECTS)
		s->count = SUBJECTS;
	for (size_t i = 0; i < s->count; i++)
		subject_check(&s->list[i]);
}
