// SPDX-License-Identifier: Apache-2.0
/* The lifetimes of codes and methods, from the records of successive snapshots. */
#include <search.h>

#include "common/str.h"
#include "common/table.h"
#include "jit/code_snapshots.h"

#define LONG_NS	   2000000000u /* between snapshots; the poller takes them more often */
#define UNSEEN_MIN 100u	       /* codes: fewer prove nothing */

/* ---- codes ------------------------------------------------------------------------------- */

struct living {
	struct snapfile *sf;
	void *tree;	/* tsearch(3) of the living codes, which never overlap */
	uint32_t *list; /* all of them, and some that are gone since the last whole snapshot */
	size_t count, cap;
	uint32_t *seen; /* by code: the snapshot that listed it last */
};

/* Overlapping codes compare equal, so that a search finds a living code that overlaps the key. */
static int by_address(const void *a, const void *b)
{
	const struct snapfile_code *x = a, *y = b;

	return x->end <= y->start ? -1 : x->start >= y->end;
}

static struct snapfile_code *find_overlap(const struct living *l, const struct snapfile_code *key)
{
	void *node = tfind(key, &l->tree, by_address);

	return node ? *(struct snapfile_code **)node : NULL;
}

static struct snapfile_code *find_start(const struct living *l, uint64_t start)
{
	struct snapfile_code key = {.start = start, .end = start + 1};
	struct snapfile_code *c = start < UINT64_MAX ? find_overlap(l, &key) : NULL;

	return c && c->start == start ? c : NULL;
}

static void end_code(struct living *l, struct snapfile_code *c, uint32_t snapshot)
{
	c->gone = snapshot;
	tdelete(c, &l->tree, by_address);
}

/* Marks listed code as gone. It stays in the tree until the whole snapshot has been read: a writer
 * that had not finished with it lists it again. */
static void mark_listed(struct living *l, const struct snap_gone *list, uint32_t snapshot)
{
	const uint64_t *start = (const void *)(list + 1);

	for (uint64_t i = 0; i < list->count; i++) {
		struct snapfile_code *c = find_start(l, start[i]);

		if (c)
			c->gone = snapshot;
	}
}

static void end_marked(struct living *l, const struct snap_gone *list, uint32_t snapshot)
{
	const uint64_t *start = (const void *)(list + 1);

	for (uint64_t i = 0; i < list->count; i++) {
		struct snapfile_code *c = find_start(l, start[i]);

		if (c && c->gone == snapshot)
			end_code(l, c, snapshot);
	}
}

static void end_unlisted(struct living *l, uint32_t snapshot)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		uint32_t number = l->list[i];
		struct snapfile_code *c = &l->sf->codes[number];

		if (c->gone != NEVER)
			continue;
		if (l->seen[number] == snapshot)
			l->list[kept++] = number;
		else
			end_code(l, c, snapshot);
	}
	l->count = kept;
}

static bool is_same(const struct snapfile_code *a, const struct snapfile_code *b)
{
	const struct snap_code *x = a->record, *y = b->record;

	return a->start == b->start && a->end == b->end && x->compile_id == y->compile_id &&
	       x->kind == y->kind && x->method == y->method && x->name_len == y->name_len &&
	       memcmp(a->name, b->name, x->name_len) == 0;
}

/* Adds a second record of a living code, which may have more than the first: the JVM changes while
 * it is read. */
static void continue_code(struct living *l, struct snapfile_code *c,
			  const struct snapfile_code *record)
{
	uint32_t first = c->first;

	if (record->record->region_count > c->record->region_count)
		*c = *record;
	c->first = first;
	c->gone = NEVER;
	l->seen[c - l->sf->codes] = record->first;
}

static void begin_code(struct living *l, uint32_t number)
{
	struct snapfile_code *c = &l->sf->codes[number], *other;

	while ((other = find_overlap(l, c))) {
		if (is_same(other, c)) {
			continue_code(l, other, c);
			c->gone = c->first; /* no life of its own */
			return;
		}
		end_code(l, other, c->first);
	}
	c->gone = NEVER;
	if (!tsearch(c, &l->tree, by_address))
		abort();
	l->list = grow(l->list, l->count, &l->cap, sizeof(*l->list));
	l->list[l->count++] = number;
	l->seen[number] = c->first;
}

static void apply(struct living *l, uint32_t snapshot)
{
	const struct snapfile *sf = l->sf;
	const struct snapshot *s = &sf->snapshots[snapshot];
	bool last = snapshot + 1 == sf->snapshot_count;
	size_t codes = last ? sf->code_count : s[1].codes;
	size_t gone = last ? sf->gone_count : s[1].gone;

	for (size_t i = s->gone; i < gone; i++)
		mark_listed(l, sf->gone[i], snapshot);
	for (size_t i = s->codes; i < codes; i++)
		begin_code(l, (uint32_t)i);
	for (size_t i = s->gone; i < gone; i++)
		end_marked(l, sf->gone[i], snapshot);
	if (s->whole)
		end_unlisted(l, snapshot);
}

static bool has_life(const struct snapfile_code *c)
{
	return c->first < c->gone;
}

static void build_tree(struct snapfile *sf)
{
	struct life *lives = xcalloc(sf->code_count, sizeof(*lives));
	size_t n = 0;

	for (size_t i = 0; i < sf->code_count; i++)
		if (has_life(&sf->codes[i]))
			lives[n++] = (struct life){.start = sf->codes[i].start,
						   .end = sf->codes[i].end,
						   .first = sf->codes[i].first,
						   .gone = sf->codes[i].gone,
						   .number = (uint32_t)i};
	lifetree_build(&sf->tree, lives, n);
}

/* HotSpot numbers its compilations consecutively: a number that no snapshot has is of code that was
 * gone before the next one. Codes are in the order of their first snapshots. */
static void find_restless(struct snapfile *sf)
{
	uint32_t newest = 0;
	size_t i = 0;

	for (uint32_t k = 0; k < sf->snapshot_count; k++) {
		struct snapshot *s = &sf->snapshots[k];
		uint32_t before = newest, seen = 0;

		for (; i < sf->code_count && sf->codes[i].first == k; i++) {
			uint32_t id = sf->codes[i].record->compile_id;

			if (!has_life(&sf->codes[i]))
				continue;
			seen += id > before;
			newest = id > newest ? id : newest;
		}
		s->restless = k && s->begin - s[-1].end > LONG_NS &&
			      newest - before >= UNSEEN_MIN + (uint64_t)seen &&
			      newest - before > 2ull * seen;
	}
}

static void keep_node(void *node)
{
	(void)node; /* a code of the history */
}

void snapfile_live_codes(struct snapfile *sf)
{
	struct living l = {.sf = sf};

	l.seen = xcalloc(sf->code_count, sizeof(*l.seen));
	for (size_t i = 0; i < sf->snapshot_count; i++)
		apply(&l, (uint32_t)i);
	tdestroy(l.tree, keep_node);
	free(l.list);
	free(l.seen);
	build_tree(sf);
	find_restless(sf);
}

/* ---- methods ----------------------------------------------------------------------------- */

/* For each snapshot, its neighbours that know all methods. */
struct neighbours {
	uint32_t before; /* + 1; 0: none */
	uint32_t after;	 /* which names all of them, too */
};

bool snapfile_same_method(const struct snap_method *a, const struct snap_method *b)
{
	return a->name_len == b->name_len && a->file_len == b->file_len &&
	       memcmp(a + 1, b + 1, (size_t)a->name_len + a->file_len) == 0;
}

static struct neighbours *find_neighbours(const struct snapfile *sf)
{
	struct neighbours *ret = xcalloc(sf->snapshot_count, sizeof(*ret));
	uint32_t before = 0, after = NEVER;

	for (size_t i = 0; i < sf->snapshot_count; i++) {
		ret[i].before = before;
		if (sf->snapshots[i].methods_known)
			before = (uint32_t)i + 1;
	}
	for (size_t i = sf->snapshot_count; i-- > 0;) {
		ret[i].after = after;
		if (sf->snapshots[i].methods_whole)
			after = (uint32_t)i;
	}
	return ret;
}

/* Adds a record to the lives of its id, of which `last` is the latest; NULL: it is the first.
 * Returns true if it begins a life of its own. When a class is unloaded, the ids of its methods
 * are used again. */
static bool add_record(struct method_life *last, const struct method_life *m,
		       const struct neighbours *around)
{
	if (!last)
		return true;
	if (snapfile_same_method(last->record, m->record) && around[last->last].after >= m->first) {
		last->last = m->first;
		last->asked = m->asked;
		return false;
	}
	if (last->last == m->first && !last->asked) { /* twice in a snapshot */
		last->record = m->record;
		return false;
	}
	if (last->gone > m->first)
		last->gone = m->first;
	return true;
}

/* A method can have run since the last snapshot that knows all that had: a delta names it when its
 * class is loaded, but also when it is compiled, and the last one when it has run at all. */
static uint32_t first_of(const struct method_life *last, const struct method_life *m,
			 const struct neighbours *around)
{
	uint32_t first = around[m->first].before;

	return last && last->gone > first ? last->gone : first;
}

static uint32_t gone_of(const struct snapfile *sf, const struct method_life *m,
			const struct neighbours *around)
{
	return m->asked && sf->snapshots[m->last].methods_whole ? m->last : around[m->last].after;
}

void snapfile_live_methods(struct snapfile *sf)
{
	CLEANUP(free) struct keyed *order = xcalloc(sf->method_count, sizeof(*order));
	CLEANUP(free) struct neighbours *around = find_neighbours(sf);
	struct method_life *lives = xcalloc(sf->method_count, sizeof(*lives)), *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < sf->method_count; i++)
		order[i] = (struct keyed){.key = sf->methods[i].id, .value = i};
	keyed_sort(order, sf->method_count);
	for (size_t i = 0; i < sf->method_count; i++) {
		struct method_life *m = &sf->methods[order[i].value];

		last = last && last->id == m->id ? last : NULL;
		if (add_record(last, m, around)) {
			lives[n] = *m;
			lives[n].first = first_of(last, m, around);
			last = &lives[n++];
		}
		last->gone = gone_of(sf, last, around);
	}
	free(sf->methods);
	sf->methods = lives;
	sf->method_count = n;
}
