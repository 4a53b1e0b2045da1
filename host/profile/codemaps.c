// SPDX-License-Identifier: Apache-2.0
#include "codemaps.h"

#include "dfg/str.h"
#include "javasym.h"
#include "mix.h"
#include "symname.h"

#define ASKED 1024u
#define NAMED 4096u

/* An interpreted method that was asked for, and its frame + 1; 0: free. */
struct asked {
	uint64_t method;
	struct snapfile_span span;
	uint32_t frame;
};

/* A compiled method that was named, by where the snapshot has its name, which many codes share. */
struct named {
	const char *name;
	size_t len;
	enum frame_kind kind;
	uint32_t frame;
};

/* What is known of a JVM's code, of one or more points in time. */
struct code {
	pid_t pid;
	struct javasym *map;	   /* NULL until it is needed */
	struct snapfile *snapshot; /* NULL, without one, behind loading too */
	/* By number of the symbol and of the method; 0: not yet asked for. */
	uint32_t *frames, *methods; /* frame + 1 */
	struct asked *asked;	    /* ASKED, with a snapshot */
};

struct codemaps {
	const struct profile_input *in;
	struct stacks *stacks;
	struct code *list;
	size_t count, cap;
	struct str name;
	uint32_t stale;
	struct named named[NAMED];
};

struct codemaps *codemaps_new(const struct profile_input *in, struct stacks *stacks)
{
	struct codemaps *cm = xcalloc(1, sizeof(*cm));

	cm->in = in;
	cm->stacks = stacks;
	cm->stale = stacks_intern(stacks, "[stale]", strlen("[stale]"), FRAME_UNKNOWN);
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
		snapfile_free(cm->list[i].snapshot);
		free(cm->list[i].methods);
		free(cm->list[i].asked);
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

/* What cannot be read stays unnamed, which the quality line says. */
static void load_map(struct code *c, int fd)
{
	struct err ignored;
	int done;

	if (!snapfile_is(fd)) {
		done = javasym_read(c->map, fd, &ignored);
	} else {
		c->snapshot = c->snapshot ? c->snapshot : snapfile_new();
		done = snapfile_read(c->snapshot, fd, &ignored);
	}
	(void)done;
}

static void load_code(struct codemaps *cm, struct code *c)
{
	size_t count = cm->in->map_count, done = 0;
	int64_t last = INT64_MIN;

	c->map = javasym_new();
	/* In ascending order: the later wins. */
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
			if (m->pid == c->pid)
				load_map(c, m->fd);
		}
		last = next;
	}
	javasym_finish(c->map);
	c->frames = xcalloc(javasym_count(c->map), sizeof(*c->frames));
	if (c->snapshot) {
		snapfile_finish(c->snapshot);
		c->methods = xcalloc(snapfile_method_count(c->snapshot), sizeof(*c->methods));
		c->asked = xcalloc(ASKED, sizeof(*c->asked));
	}
}

static struct code *code_of(struct codemaps *cm, uint32_t number)
{
	struct code *c = &cm->list[number - 1];

	if (!c->map)
		load_code(cm, c);
	return c;
}

uint32_t codemaps_stale(const struct codemaps *cm)
{
	return cm->stale;
}

const struct snapfile *codemaps_snapshot(struct codemaps *cm, uint32_t number)
{
	return code_of(cm, number)->snapshot;
}

static uint32_t intern(struct codemaps *cm, const char *name, size_t len, enum frame_kind kind)
{
	uint32_t frame;

	symname_add_clean(&cm->name, name, len);
	frame = stacks_intern(cm->stacks, cm->name.buf, cm->name.len, kind);
	str_clear(&cm->name);
	return frame;
}

/* ---- snapshots --------------------------------------------------------------------------- */

static uint32_t intern_method(struct codemaps *cm, const struct snapfile_method *m,
			      enum frame_kind kind)
{
	struct named *n = &cm->named[mix((uint64_t)(uintptr_t)m->name + kind) % NAMED];

	if (!m->name_len)
		return stacks_intern(cm->stacks, "[unknown]", strlen("[unknown]"), FRAME_UNKNOWN);
	if (n->name != m->name || n->len != m->name_len || n->kind != kind)
		*n = (struct named){.name = m->name,
				    .len = m->name_len,
				    .kind = kind,
				    .frame = intern(cm, m->name, m->name_len, kind)};
	return n->frame;
}

static uint32_t at_place(struct codemaps *cm, uint32_t frame, int32_t line,
			 const struct snapfile_code *c)
{
	struct frames *fs = stacks_frames(cm->stacks);

	frame = frames_place(fs, frame, line > 0 ? (uint32_t)line : 0, 0);
	return frames_level(fs, frame, c->record->level);
}

/* A compiled method: its scopes there, or where it has none only itself. */
static size_t method_frames(struct codemaps *cm, const struct snapfile_code *c, uint64_t addr,
			    uint32_t ret[SNAPFILE_DEPTH])
{
	struct snapfile_scope scopes[SNAPFILE_DEPTH];
	size_t n = snapfile_scopes(c, addr - c->start, scopes);
	struct snapfile_method m = {0};

	for (size_t i = 0; i + 1 < n; i++)
		ret[i] = at_place(cm, intern_method(cm, &scopes[i].method, FRAME_INLINED),
				  scopes[i].line, c);
	snapfile_code_method(c, &m);
	if (n == 0)
		ret[n++] = at_place(cm, intern_method(cm, &m, FRAME_JAVA), 0, c);
	else
		ret[n - 1] = at_place(cm, intern_method(cm, &m, FRAME_JAVA), scopes[n - 1].line, c);
	return n;
}

size_t codemaps_code(struct codemaps *cm, const struct snapfile_code *c, uint64_t addr,
		     uint32_t ret[SNAPFILE_DEPTH])
{
	const struct snapfile_stub *stub;

	if (c->record->method)
		return method_frames(cm, c, addr, ret);
	stub = c->record->kind == SNAP_INTERPRETER ? NULL : snapfile_stub(c->file, addr);
	if (stub && stub->start >= c->start && stub->end <= c->end) {
		ret[0] = intern(cm, stub->name, stub->name_len, FRAME_STUB);
		return 1;
	}
	ret[0] = intern(cm, c->name, c->record->name_len,
			c->record->kind == SNAP_INTERPRETER ? FRAME_INTERPRETED : FRAME_STUB);
	return 1;
}

static uint32_t find_method(struct codemaps *cm, struct code *c, uint64_t method,
			    struct snapfile_span span)
{
	uint32_t found[SNAPFILE_AROUND], *frame;
	size_t n = method ? snapfile_find_method(c->snapshot, method, span, found) : 0;

	if (n > 1 || (n == 0 && method && snapfile_methods_complete(c->snapshot)))
		return cm->stale;
	if (n == 0)
		return intern(cm, "Interpreter", strlen("Interpreter"), FRAME_INTERPRETED);
	frame = &c->methods[found[0]];
	if (!*frame) {
		struct snapfile_method m = snapfile_method(c->snapshot, found[0]);

		*frame = intern_method(cm, &m, FRAME_INTERPRETED) + 1;
	}
	return *frame - 1;
}

uint32_t codemaps_method(struct codemaps *cm, uint32_t number, uint64_t method,
			 struct snapfile_span span)
{
	struct code *c = code_of(cm, number);
	struct asked *a = &c->asked[mix(method) % ASKED];

	if (!a->frame || a->method != method || a->span.first != span.first ||
	    a->span.last != span.last)
		*a = (struct asked){.method = method,
				    .span = span,
				    .frame = find_method(cm, c, method, span) + 1};
	return a->frame - 1;
}

/* ---- maps in text ------------------------------------------------------------------------ */

bool codemaps_text(struct codemaps *cm, uint32_t number, uint64_t addr, uint32_t *ret)
{
	struct code *c = code_of(cm, number);
	struct java_symbol s;

	if (!javasym_find(c->map, addr, &s))
		return false;
	if (!c->frames[s.index])
		c->frames[s.index] = intern(cm, s.name, s.len, javasym_kind(s.name, s.len)) + 1;
	*ret = c->frames[s.index] - 1;
	return true;
}
