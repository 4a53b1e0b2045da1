// SPDX-License-Identifier: Apache-2.0
#include "symbols/codemaps.h"

#include "common/str.h"
#include "elf/names.h"

/* What is known of a JVM's code, of one or more points in time. */
struct code {
	const struct perf_map *map;	 /* NULL until it is needed */
	const struct snapfile *snapshot; /* NULL, without one, behind loading too */
};

struct codemaps {
	struct sources *sources;
	struct stacks *stacks;
	struct code *list; /* by number of the JVM, from 1 on */
	size_t count;
	struct str name;
	uint32_t stale;
};

struct codemaps *codemaps_new(struct sources *sources, struct stacks *stacks)
{
	struct codemaps *cm = xcalloc(1, sizeof(*cm));

	cm->sources = sources;
	cm->stacks = stacks;
	cm->stale = stacks_intern(stacks, "[stale]", strlen("[stale]"), FRAME_UNKNOWN);
	cm->count = sources_jvm_count(sources);
	cm->list = xcalloc(cm->count, sizeof(*cm->list));
	return cm;
}

void codemaps_free(struct codemaps *cm)
{
	if (!cm)
		return;
	free(cm->list);
	str_fini(&cm->name);
	free(cm);
}

uint32_t codemaps_number(const struct codemaps *cm, pid_t pid)
{
	return sources_jvm(cm->sources, pid);
}

static void load_code(struct code *c, const struct jvm_code *code)
{
	c->map = code->map;
	c->snapshot = code->snapshot;
}

static struct code *code_of(struct codemaps *cm, uint32_t number)
{
	struct code *c = &cm->list[number - 1];

	if (!c->map)
		load_code(c, sources_code(cm->sources, number));
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
	if (!m->name_len)
		return stacks_intern(cm->stacks, "[unknown]", strlen("[unknown]"), FRAME_UNKNOWN);
	return intern(cm, m->name, m->name_len, kind);
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

uint32_t codemaps_method(struct codemaps *cm, uint32_t number, uint64_t method,
			 struct snapfile_span span)
{
	struct code *c = code_of(cm, number);
	uint32_t found[SNAPFILE_AROUND];
	struct snapfile_method m;
	size_t n = method ? snapfile_find_method(c->snapshot, method, span, found) : 0;

	if (n > 1 || (n == 0 && method && snapfile_methods_complete(c->snapshot)))
		return cm->stale;
	if (n == 0)
		return intern(cm, "Interpreter", strlen("Interpreter"), FRAME_INTERPRETED);
	m = snapfile_method(c->snapshot, found[0]);
	return intern_method(cm, &m, FRAME_INTERPRETED);
}

/* ---- maps in text ------------------------------------------------------------------------ */

bool codemaps_text(struct codemaps *cm, uint32_t number, uint64_t addr, uint32_t *ret)
{
	struct code *c = code_of(cm, number);
	struct perf_map_symbol s;

	if (!perf_map_find(c->map, addr, &s))
		return false;
	*ret = intern(cm, s.name, s.len, perf_map_kind(s.name, s.len));
	return true;
}
