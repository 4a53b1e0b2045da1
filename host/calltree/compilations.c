// SPDX-License-Identifier: Apache-2.0
#include "calltree/compilations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/str.h"

static struct compiled *find(struct compilations *c, const char *method)
{
	const uint64_t hash = hash_bytes(0, method, strlen(method));

	for (struct hash_probe p = {.hash = hash}; hash_next(&c->index, &p);)
		if (strcmp(c->list[p.index].name, method) == 0)
			return &c->list[p.index].compiled;
	c->list = grow(c->list, c->count, &c->cap, sizeof(*c->list));
	c->list[c->count] = (struct compiled_method){.name = xstrdup(method)};
	hash_add(&c->index, hash, (uint32_t)c->count);
	return &c->list[c->count++].compiled;
}

void compilations_add(struct compilations *c, const char *method, const struct compiled *what)
{
	struct compiled *to = find(c, method);

	for (unsigned i = 0; i < COMPILE_LEVELS; i++)
		to->times[i] += what->times[i];
	to->discarded += what->discarded;
	to->ns += what->ns;
}

void compilations_merge(struct compilations *to, const struct compilations *from)
{
	for (size_t i = 0; i < from->count; i++)
		compilations_add(to, from->list[i].name, &from->list[i].compiled);
}

void compilations_fini(struct compilations *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->list[i].name);
	free(c->list);
	hash_fini(&c->index);
}

uint32_t compiled_times(const struct compiled *c)
{
	uint32_t ret = 0;

	for (unsigned i = 0; i < COMPILE_LEVELS; i++)
		ret += c->times[i];
	return ret;
}

/* Greater: it is listed before. */
static int compare(const struct compiled *a, const struct compiled *b)
{
	const uint32_t x = compiled_times(a), y = compiled_times(b);

	if (x != y)
		return x > y ? 1 : -1;
	if (a->discarded != b->discarded)
		return a->discarded > b->discarded ? 1 : -1;
	return a->ns > b->ns ? 1 : a->ns < b->ns ? -1 : 0;
}

/* Puts it into its place of the list, if it has one. */
static void list(struct compilation_list *l, const struct compiled_method *m)
{
	size_t at = l->listed;

	while (at && compare(&m->compiled, &l->list[at - 1].compiled) > 0)
		at--;
	if (at == COMPILATIONS_MAX)
		return;
	if (l->listed < COMPILATIONS_MAX)
		l->listed++;
	memmove(&l->list[at + 1], &l->list[at], (l->listed - 1 - at) * sizeof(l->list[at]));
	snprintf(l->list[at].method, sizeof(l->list[at].method), "%s", m->name);
	str_clean(l->list[at].method, sizeof(l->list[at].method));
	l->list[at].compiled = m->compiled;
}

void compilations_list(const struct compilations *c, struct compilation_list *ret)
{
	*ret = (struct compilation_list){.methods = c->count};
	for (size_t i = 0; i < c->count; i++) {
		const struct compiled_method *m = &c->list[i];
		const uint32_t times = compiled_times(&m->compiled);

		ret->times += times;
		ret->discarded += m->compiled.discarded;
		if (times > COMPILATIONS_USUAL || m->compiled.discarded > 1)
			list(ret, m);
	}
}

void compilation_list_check(struct compilation_list *l)
{
	if (l->listed > COMPILATIONS_MAX)
		l->listed = COMPILATIONS_MAX;
	for (size_t i = 0; i < l->listed; i++)
		str_clean(l->list[i].method, sizeof(l->list[i].method));
}
