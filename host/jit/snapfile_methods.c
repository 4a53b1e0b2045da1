// SPDX-License-Identifier: Apache-2.0
/* Methods by id and time. When a class is unloaded its methods' ids become those of other ones. */
#include "common/str.h"
#include "common/table.h"
#include "jit/snapfile_inside.h"

#define NEVER UINT32_MAX

static bool is_same(const struct snap_method *a, const struct snap_method *b)
{
	return a->name_len == b->name_len && a->file_len == b->file_len &&
	       memcmp(a + 1, b + 1, (size_t)a->name_len + a->file_len) == 0;
}

/* Around a snapshot, those that know all methods. */
struct around {
	uint32_t before; /* + 1; 0: none */
	uint32_t after;	 /* lists all of them, too */
};

static struct around *find_whole(const struct snapfile *sf)
{
	struct around *ret = xcalloc(sf->snapshot_count, sizeof(*ret));
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

/* Adds what a record says to the lives of its id, of which `last` is the latest; NULL: it is the
 * first. Returns whether it is a life of its own. */
static bool add_record(struct method_life *last, const struct method_life *m,
		       const struct around *whole)
{
	if (!last || last->id != m->id)
		return true;
	if (is_same(last->record, m->record) && whole[last->last].after >= m->first) {
		last->last = m->first;
		return false;
	}
	if (last->last == m->first) { /* twice in a snapshot */
		last->record = m->record;
		return false;
	}
	if (last->gone > m->first)
		last->gone = m->first;
	return true;
}

/* A method is listed by a delta when its class comes; otherwise only by the next snapshot of all
 * methods behind its first run, so that it has been there before. */
static uint32_t first_of(const struct snapfile *sf, const struct method_life *last,
			 const struct method_life *m, const struct around *whole)
{
	uint32_t first = m->first;

	if (sf->snapshots[first].methods_known) {
		first = whole[first].before;
		if (last && last->id == m->id && last->gone > first)
			first = last->gone;
	}
	return first;
}

void snapfile_live_methods(struct snapfile *sf)
{
	CLEANUP(free) struct keyed *order = xcalloc(sf->method_count, sizeof(*order));
	CLEANUP(free) struct around *whole = find_whole(sf);
	struct method_life *lives = xcalloc(sf->method_count, sizeof(*lives)), *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < sf->method_count; i++)
		order[i] = (struct keyed){.key = sf->methods[i].id, .value = i};
	keyed_sort(order, sf->method_count);
	for (size_t i = 0; i < sf->method_count; i++) {
		struct method_life *m = &sf->methods[order[i].value];

		if (add_record(last, m, whole)) {
			lives[n] = *m;
			lives[n].first = first_of(sf, last, m, whole);
			last = &lives[n++];
		}
		last->gone = whole[last->last].after;
	}
	free(sf->methods);
	sf->methods = lives;
	sf->method_count = n;
}

/* The first life of an id that is not gone at a snapshot, or where it would be. */
static size_t first_life(const struct snapfile *sf, uint64_t id, uint32_t snapshot)
{
	size_t lo = 0, n = sf->method_count;

	while (n) {
		size_t half = n / 2;
		const struct method_life *m = &sf->methods[lo + half];

		if (m->id < id || (m->id == id && m->gone <= snapshot)) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

size_t snapfile_find_method(const struct snapfile *sf, uint64_t id, struct snapfile_span span,
			    uint32_t ret[SNAPFILE_AROUND])
{
	size_t found = 0;

	for (size_t i = first_life(sf, id, span.first);
	     i < sf->method_count && sf->methods[i].id == id && sf->methods[i].first <= span.last &&
	     found < SNAPFILE_AROUND;
	     i++)
		if (snapfile_is_sure(sf, sf->methods[i].first, sf->methods[i].gone, span) &&
		    (!found || !is_same(sf->methods[ret[found - 1]].record, sf->methods[i].record)))
			ret[found++] = (uint32_t)i;
	return found;
}

bool snapfile_method_at(const struct snapfile *sf, uint64_t id, uint32_t snapshot,
			struct snapfile_method *ret)
{
	size_t i = first_life(sf, id, snapshot);

	if (i == sf->method_count || sf->methods[i].id != id || sf->methods[i].first > snapshot)
		return false;
	*ret = snapfile_method(sf, (uint32_t)i);
	return true;
}

size_t snapfile_method_count(const struct snapfile *sf)
{
	return sf->method_count;
}

struct snapfile_method snapfile_method(const struct snapfile *sf, uint32_t number)
{
	const struct snap_method *m = sf->methods[number].record;

	return (struct snapfile_method){.name = (const char *)(m + 1),
					.name_len = m->name_len,
					.file = (const char *)(m + 1) + m->name_len,
					.file_len = m->file_len};
}
