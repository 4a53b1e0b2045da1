// SPDX-License-Identifier: Apache-2.0
/* Goes through the snapshots, and keeps what code is there: never two at an address. */
#include "common/str.h"
#include "common/table.h"
#include "jit/ordset.h"
#include "jit/snapfile_inside.h"

#define NEVER	   UINT32_MAX
#define LONG_NS	   2000000000u /* between snapshots; the collector takes them more often */
#define UNSEEN_MIN 100u	       /* codes: fewer say nothing */

/* The code that is there, by its place among all addresses at which code starts. */
struct living {
	struct snapfile *sf;
	struct keyed *starts; /* address -> nothing; ascending, unique */
	size_t count;
	uint32_t *code; /* by place */
	uint32_t *seen; /* by code: the snapshot that listed it last */
	struct ordset places;
};

static void find_starts(struct living *l)
{
	const struct snapfile *sf = l->sf;
	size_t n = 0;

	l->starts = xcalloc(sf->code_count, sizeof(*l->starts));
	for (size_t i = 0; i < sf->code_count; i++)
		l->starts[i].key = sf->codes[i].start;
	keyed_sort(l->starts, sf->code_count);
	for (size_t i = 0; i < sf->code_count; i++)
		if (!n || l->starts[n - 1].key != l->starts[i].key)
			l->starts[n++] = l->starts[i];
	l->count = n;
}

/* The first place at or behind an address. */
static size_t place_of(const struct living *l, uint64_t addr)
{
	return addr ? keyed_upper(l->starts, l->count, addr - 1) : 0;
}

static struct snapfile_code *code_at(const struct living *l, size_t place)
{
	return place == ORDSET_NONE ? NULL : &l->sf->codes[l->code[place]];
}

static void end_code(struct living *l, size_t place, uint32_t snapshot)
{
	code_at(l, place)->gone = snapshot;
	ordset_remove(&l->places, place);
}

static void end_listed(struct living *l, const struct snap_gone *list, uint32_t snapshot)
{
	const uint64_t *start = (const void *)(list + 1);

	for (uint64_t i = 0; i < list->count; i++) {
		size_t place = place_of(l, start[i]);

		if (place < l->count && l->starts[place].key == start[i] &&
		    ordset_next(&l->places, place) == place)
			end_code(l, place, snapshot);
	}
}

static void end_unlisted(struct living *l, uint32_t snapshot)
{
	size_t place = 0;

	for (; (place = ordset_next(&l->places, place)) != ORDSET_NONE; place++)
		if (l->seen[l->code[place]] != snapshot)
			end_code(l, place, snapshot);
}

static bool is_same(const struct snapfile_code *a, const struct snapfile_code *b)
{
	const struct snap_code *x = a->record, *y = b->record;

	return a->start == b->start && a->end == b->end && x->compile_id == y->compile_id &&
	       x->kind == y->kind && x->method == y->method && x->name_len == y->name_len &&
	       memcmp(a->name, b->name, x->name_len) == 0;
}

/* A second record of code that is known already, which may have what the first one had not: the
 * JVM changes while it is read. */
static void again(struct living *l, struct snapfile_code *c, const struct snapfile_code *record)
{
	uint32_t first = c->first;

	if (record->record->region_count > c->record->region_count) {
		*c = *record;
		c->first = first;
		c->gone = NEVER;
	}
	l->seen[c - l->sf->codes] = record->first;
}

static void end_overlapped(struct living *l, const struct snapfile_code *c, size_t place)
{
	size_t at = ordset_before(&l->places, place);

	if (at != ORDSET_NONE && code_at(l, at)->end > c->start)
		end_code(l, at, c->first);
	for (at = place; (at = ordset_next(&l->places, at)) != ORDSET_NONE; at++) {
		if (l->starts[at].key >= c->end)
			break;
		end_code(l, at, c->first);
	}
}

/* The life of the same code, where it has one up to now: what a writer was not done with goes and
 * comes again in one snapshot. */
static struct snapfile_code *life_of(const struct living *l, const struct snapfile_code *c,
				     size_t place)
{
	struct snapfile_code *last = code_at(l, place);
	bool alive = ordset_next(&l->places, place) == place;

	return last != c && is_same(last, c) && (alive || last->gone == c->first) ? last : NULL;
}

static void begin_code(struct living *l, uint32_t number)
{
	struct snapfile_code *c = &l->sf->codes[number];
	size_t place = place_of(l, c->start);
	struct snapfile_code *life = life_of(l, c, place);

	if (!life || life->gone != NEVER) {
		end_overlapped(l, c, place);
		ordset_add(&l->places, place);
	}
	if (life) {
		life->gone = NEVER;
		again(l, life, c);
		c->gone = c->first; /* no life of its own */
		return;
	}
	c->gone = NEVER;
	l->code[place] = number;
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
		end_listed(l, sf->gone[i], snapshot);
	for (size_t i = s->codes; i < codes; i++)
		begin_code(l, (uint32_t)i);
	if (s->whole)
		end_unlisted(l, snapshot);
}

/* Leaves only codes that have a life, and makes the tree of them. */
static void keep_living(struct snapfile *sf)
{
	struct life *lives;
	size_t n = 0;

	for (size_t i = 0; i < sf->code_count; i++)
		if (sf->codes[i].first < sf->codes[i].gone)
			sf->codes[n++] = sf->codes[i];
	sf->code_count = n;
	lives = xcalloc(n, sizeof(*lives));
	for (size_t i = 0; i < n; i++)
		lives[i] = (struct life){.start = sf->codes[i].start,
					 .end = sf->codes[i].end,
					 .first = sf->codes[i].first,
					 .gone = sf->codes[i].gone,
					 .number = (uint32_t)i};
	lifetree_build(&sf->tree, lives, n);
}

/* HotSpot numbers its compilations one by one: numbers that no snapshot has are of code that was
 * gone before the next one. Codes are in the order in which they came. */
static void find_restless(struct snapfile *sf)
{
	uint32_t newest = 0;
	size_t i = 0;

	for (uint32_t k = 0; k < sf->snapshot_count; k++) {
		struct snapshot *s = &sf->snapshots[k];
		uint32_t before = newest, seen = 0;

		for (; i < sf->code_count && sf->codes[i].first == k; i++) {
			uint32_t id = sf->codes[i].record->compile_id;

			seen += id > before;
			newest = id > newest ? id : newest;
		}
		s->restless = k && s->begin - s[-1].end > LONG_NS &&
			      newest - before >= UNSEEN_MIN + (uint64_t)seen &&
			      newest - before > 2ull * seen;
	}
}

void snapfile_live_codes(struct snapfile *sf)
{
	struct living l = {.sf = sf};

	find_starts(&l);
	l.code = xcalloc(l.count, sizeof(*l.code));
	l.seen = xcalloc(sf->code_count, sizeof(*l.seen));
	ordset_init(&l.places, l.count);
	for (size_t i = 0; i < sf->snapshot_count; i++)
		apply(&l, (uint32_t)i);
	ordset_fini(&l.places);
	free(l.starts);
	free(l.code);
	free(l.seen);
	keep_living(sf);
	find_restless(sf);
}
