// SPDX-License-Identifier: Apache-2.0
#include "codemaps.h"

#include "dfg/str.h"
#include "javasym.h"
#include "symname.h"

/* A JVM's map of compiled code, of one or more snapshots. */
struct code {
	pid_t pid;
	struct javasym *map; /* NULL until it is needed */
	uint32_t *frames;
};

struct codemaps {
	const struct profile_input *in;
	struct stacks *stacks;
	struct code *list;
	size_t count, cap;
	struct str name;
};

struct codemaps *codemaps_new(const struct profile_input *in, struct stacks *stacks)
{
	struct codemaps *cm = xcalloc(1, sizeof(*cm));

	cm->in = in;
	cm->stacks = stacks;
	for (size_t i = 0; i < in->map_count; i++) {
		if (codemaps_number(cm, in->maps[i].pid))
			continue;
		cm->list = grow(cm->list, cm->count, &cm->cap, sizeof(*cm->list));
		cm->list[cm->count++] = (struct code){.pid = in->maps[i].pid};
	}
	return cm;
}

void codemaps_free(struct codemaps *cm)
{
	if (!cm)
		return;
	for (size_t i = 0; i < cm->count; i++) {
		javasym_free(cm->list[i].map);
		free(cm->list[i].frames);
	}
	free(cm->list);
	str_fini(&cm->name);
	free(cm);
}

uint32_t codemaps_number(const struct codemaps *cm, pid_t pid)
{
	for (size_t i = 0; i < cm->count; i++)
		if (cm->list[i].pid == pid)
			return (uint32_t)i + 1;
	return 0;
}

static void load_code(struct codemaps *cm, struct code *c)
{
	size_t count = cm->in->map_count, done = 0;
	struct err ignored;
	int64_t last = INT64_MIN;

	c->map = javasym_new();
	/* Snapshots in ascending order: the later wins. */
	while (done < count) {
		int64_t next = INT64_MAX;

		for (size_t i = 0; i < count; i++)
			if (cm->in->maps[i].order > last && cm->in->maps[i].order < next)
				next = cm->in->maps[i].order;
		for (size_t i = 0; i < count; i++) {
			const struct profile_map *m = &cm->in->maps[i];

			if (m->order != next)
				continue;
			done++;
			if (m->pid == c->pid && javasym_read(c->map, m->fd, &ignored) < 0)
				continue; /* its code stays unnamed, which the quality line says */
		}
		last = next;
	}
	javasym_finish(c->map);
	c->frames = xcalloc(javasym_count(c->map), sizeof(*c->frames));
}

bool codemaps_frame(struct codemaps *cm, uint32_t number, uint64_t addr, uint32_t *ret)
{
	struct code *c = &cm->list[number - 1];
	struct java_symbol s;

	if (!c->map)
		load_code(cm, c);
	if (!javasym_find(c->map, addr, &s))
		return false;
	if (!c->frames[s.index]) {
		symname_add_clean(&cm->name, s.name, s.len);
		c->frames[s.index] = stacks_intern(cm->stacks, cm->name.buf, cm->name.len,
						   javasym_kind(s.name, s.len)) +
				     1;
		str_clear(&cm->name);
	}
	*ret = c->frames[s.index] - 1;
	return true;
}
