// SPDX-License-Identifier: Apache-2.0
/* Searches in a code history, and in one code of it. */
#include "jit/code_snapshots.h"

#include <string.h>

const struct snap_head *snapfile_head(const struct snapfile *sf)
{
	return &sf->head;
}

const struct snap_layout *snapfile_layout(const struct snapfile *sf)
{
	return &sf->layout;
}

const struct snap_objects *snapfile_objects(const struct snapfile *sf)
{
	return &sf->objects;
}

bool snapfile_methods_complete(const struct snapfile *sf)
{
	for (size_t i = 0; i < sf->snapshot_count; i++)
		if (sf->snapshots[i].methods_whole)
			return true;
	return false;
}

/* Counts the known times of unloading up to a time. */
static uint32_t unloads_until(const struct snapfile *sf, uint64_t time)
{
	return sf->unload_count ? (uint32_t)upper_bound(sf->unloads, sf->unload_count,
							sizeof(*sf->unloads), time)
				: 0;
}

struct snapfile_span snapfile_around(const struct snapfile *sf, uint64_t time)
{
	const struct snapshot *list = sf->snapshots;
	uint32_t count = (uint32_t)sf->snapshot_count, done = 0;
	struct snapfile_span span;

	if (count) /* those that were complete by then */
		done = (uint32_t)upper_bound(&list->end, count, sizeof(*list), time);
	span.first = done ? done - 1 : 0;
	span.last = done;
	if (done < count && list[done].begin < time)
		span.last++;
	if (count && span.last >= count)
		span.last = count - 1;
	span.unloads = unloads_until(sf, time);
	return span;
}

/* True if what is in the snapshots [first, gone) is certain at the span's time. */
static bool is_sure(const struct snapfile *sf, uint32_t first, uint32_t gone,
		    struct snapfile_span span)
{
	if (first <= span.first && gone > span.last)
		return true;
	for (uint32_t i = span.first + 1; i <= span.last; i++)
		if (sf->snapshots[i].restless)
			return false;
	return true;
}

size_t snapfile_find(const struct snapfile *sf, uint64_t addr, struct snapfile_span span,
		     const struct snapfile_code *ret[SNAPFILE_AROUND])
{
	uint32_t found[SNAPFILE_AROUND];
	size_t n = lifetree_find(&sf->tree, addr, span.first, span.last, found), sure = 0;

	for (size_t i = 0; i < n; i++) {
		const struct snapfile_code *c = &sf->codes[found[i]];
		size_t to = sure;

		if (!is_sure(sf, c->first, c->gone, span))
			continue;
		for (; to && ret[to - 1]->first > c->first; to--)
			ret[to] = ret[to - 1];
		ret[to] = c;
		sure++;
	}
	return sure;
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

/* Of two methods that had an id one after the other, leaves the one that has it at the time. The
 * first was unloaded in between: before any such time it is that one, after all of them the second.
 * Returns how many are left. */
static size_t leave_one(const struct snapfile *sf, struct snapfile_span span, uint32_t *methods)
{
	const struct method_life *a = &sf->methods[methods[0]], *b = &sf->methods[methods[1]];
	const uint32_t before = a->last - (a->asked && a->last);
	const uint32_t none = unloads_until(sf, sf->snapshots[before].begin);
	const uint32_t all = unloads_until(sf, sf->snapshots[b->named].end);

	if (all <= none || (span.unloads > none && span.unloads < all))
		return 2;
	if (span.unloads >= all)
		methods[0] = methods[1];
	return 1;
}

size_t snapfile_find_method(const struct snapfile *sf, uint64_t id, struct snapfile_span span,
			    uint32_t ret[SNAPFILE_AROUND])
{
	size_t found = 0;

	for (size_t i = first_life(sf, id, span.first);
	     i < sf->method_count && sf->methods[i].id == id && sf->methods[i].first <= span.last &&
	     found < SNAPFILE_AROUND;
	     i++)
		if (is_sure(sf, sf->methods[i].first, sf->methods[i].gone, span) &&
		    (!found || !snapfile_same_method(sf->methods[ret[found - 1]].record,
						     sf->methods[i].record)))
			ret[found++] = (uint32_t)i;
	return found == 2 ? leave_one(sf, span, ret) : found;
}

struct snapfile_method snapfile_method(const struct snapfile *sf, uint32_t number)
{
	const struct snap_method *m = sf->methods[number].record;

	return (struct snapfile_method){.name = (const char *)(m + 1),
					.name_len = m->name_len,
					.file = (const char *)(m + 1) + m->name_len,
					.file_len = m->file_len};
}

const struct snapfile_stub *snapfile_stub(const struct snapfile *sf, uint64_t addr)
{
	const struct snapfile_stub *list = sf->stubs;
	size_t n = sf->stub_count;
	size_t at = n ? upper_bound(&list->start, n, sizeof(*list), addr) : 0;

	return at && addr < list[at - 1].end ? &list[at - 1] : NULL;
}

const char *snapfile_thread(const struct snapfile *sf, uint32_t tid, size_t *ret_len)
{
	size_t at = keyed_upper(sf->by_tid, sf->thread_count, tid);
	const struct java_thread *t = at ? &sf->threads[sf->by_tid[at - 1].value] : NULL;

	if (!t || t->tid != tid)
		return NULL;
	*ret_len = t->name_len;
	return t->name;
}

const struct snapfile_code *snapfile_next_code(const struct snapfile *sf, size_t *at)
{
	while (*at < sf->code_count) {
		const struct snapfile_code *c = &sf->codes[(*at)++];

		if (c->gone >= sf->snapshot_count)
			return c;
	}
	return NULL;
}

const struct snapfile_code *snapfile_next_listed(const struct snapfile *sf, size_t *at)
{
	return *at < sf->code_count ? &sf->codes[(*at)++] : NULL;
}

uint64_t snapfile_next_gone(const struct snapfile *sf, struct snapfile_gone *at)
{
	for (; at->list < sf->gone_count; at->list++, at->at = 0) {
		const struct snap_gone *list = sf->gone[at->list];
		const uint64_t *starts = (const void *)(list + 1);

		while (at->at < list->count)
			if (starts[at->at++])
				return starts[at->at - 1];
	}
	return 0;
}

size_t snapfile_code_count(const struct snapfile *sf)
{
	return sf->code_count;
}

uint64_t snapfile_next_method(const struct snapfile *sf, size_t *at)
{
	while (*at < sf->method_count) {
		const struct method_life *m = &sf->methods[(*at)++];

		if (m->gone >= sf->snapshot_count)
			return m->id;
	}
	return 0;
}

/* ---- in one code ------------------------------------------------------------------------- */

/* The method of this id as the snapshot has it, or one before it. */
static bool method_at(const struct snapfile *sf, uint64_t id, uint32_t snapshot,
		      struct snapfile_method *ret)
{
	size_t i = first_life(sf, id, snapshot);

	if (i == sf->method_count || sf->methods[i].id != id || sf->methods[i].first > snapshot)
		return false;
	*ret = snapfile_method(sf, (uint32_t)i);
	return true;
}

bool snapfile_code_method(const struct snapfile_code *c, struct snapfile_method *ret)
{
	return c->record->method && method_at(c->file, c->record->method, c->from, ret);
}

/* Of the n elements of `list`, which ascend by the number `field` bytes into each, how many have
 * one of at most `limit`. */
static size_t count_to(const void *list, size_t size, size_t field, size_t n, uint64_t limit)
{
	const uint8_t *at = list;
	uint32_t number;
	size_t lo = 0;

	while (n) {
		size_t half = n / 2;

		memcpy(&number, at + (lo + half) * size + field, sizeof(number));
		if (number <= limit) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

/* The number of regions that end at or before the offset. */
static size_t regions_before(const struct snapfile_code *c, uint64_t offset)
{
	return count_to(c->regions, sizeof(*c->regions), offsetof(struct snap_region, end),
			c->record->region_count, offset);
}

static bool is_same_method(const struct snapfile_method *a, const struct snapfile_method *b)
{
	return a->name_len && a->name_len == b->name_len &&
	       memcmp(a->name, b->name, a->name_len) == 0;
}

static size_t region_scopes(const struct snapfile_code *c, size_t region,
			    struct snapfile_scope ret[SNAPFILE_DEPTH])
{
	uint32_t at = region < c->record->region_count ? c->regions[region].scope : SNAP_NONE;
	size_t n = 0;

	/* The depth also ends a circle. */
	while (at < c->record->scope_count && n < SNAPFILE_DEPTH) {
		const struct snap_scope *s = &c->scopes[at];

		ret[n] = (struct snapfile_scope){.bci = s->bci, .line = s->line};
		if (s->method)
			method_at(c->file, s->method, c->from, &ret[n].method);
		n++;
		at = s->parent;
	}
	return n;
}

/* Keeps of n scopes those that the region before has, too. Where only the place in a method
 * differs, it is not known. */
static size_t keep_shared(const struct snapfile_code *c, size_t region, size_t n,
			  struct snapfile_scope ret[SNAPFILE_DEPTH])
{
	struct snapfile_scope before[SNAPFILE_DEPTH];
	size_t m = region ? region_scopes(c, region - 1, before) : 0, same = 0;

	while (same < n && same < m &&
	       is_same_method(&ret[n - same - 1].method, &before[m - same - 1].method)) {
		struct snapfile_scope *s = &ret[n - ++same];

		if (s->bci == before[m - same].bci)
			continue;
		*s = (struct snapfile_scope){.method = s->method, .bci = -1};
		break;
	}
	memmove(ret, ret + n - same, same * sizeof(*ret));
	return same;
}

static bool is_call(const struct snapfile_code *c, uint64_t end)
{
	size_t call = count_to(c->calls, sizeof(*c->calls), 0, c->record->call_count, end);

	return call && c->calls[call - 1] == end;
}

size_t snapfile_scopes(const struct snapfile_code *c, uint64_t offset,
		       struct snapfile_scope ret[SNAPFILE_DEPTH])
{
	size_t region = regions_before(c, offset), n;

	/* An interrupt is taken after the instruction that took the time, so that a sample often
	 * stands exactly at the end of the region it belongs to (docs/measurements.md;
	 * HotSpot's forte.cpp counts it to the next). A return address, being looked up one byte
	 * before, is never the start of an instruction. */
	if (region && c->regions[region - 1].end == offset)
		region--;
	n = region_scopes(c, region, ret);
	/* Slow paths stand in any order after the code they belong to: of a call that is not
	 * described the next region says as little as the one before. */
	if (!(c->record->flags & SNAP_BETWEEN) && is_call(c, offset + 1))
		n = keep_shared(c, region, n, ret);
	return n;
}

bool snapfile_agree(const struct snapfile_code *a, const struct snapfile_code *b, uint64_t addr)
{
	struct snapfile_scope x[SNAPFILE_DEPTH], y[SNAPFILE_DEPTH];
	struct snapfile_method m = {.name = a->name, .name_len = a->record->name_len};
	struct snapfile_method k = {.name = b->name, .name_len = b->record->name_len};
	size_t n = snapfile_scopes(a, addr - a->start, x);

	snapfile_code_method(a, &m);
	snapfile_code_method(b, &k);
	if (a->record->kind != b->record->kind || a->record->level != b->record->level ||
	    !is_same_method(&m, &k) || snapfile_scopes(b, addr - b->start, y) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (x[i].line != y[i].line || !is_same_method(&x[i].method, &y[i].method))
			return false;
	return true;
}

static bool is_it(const struct snapfile_code *c, uint64_t start, uint32_t compile_id)
{
	return c->start == start && c->record->compile_id == compile_id;
}

/* Finds a code that was asked for at about the time of the span. */
static const struct snapfile_code *find_asked(const struct snapfile *sf, struct snapfile_span span,
					      uint64_t start, uint32_t compile_id)
{
	const struct snapfile_code *list = sf->asked;
	size_t n = sf->asked_count;
	size_t at = n ? upper_bound(&list->start, n, sizeof(*list), start) : 0;

	while (at && list[--at].start == start)
		if (is_it(&list[at], start, compile_id) && list[at].from >= span.first &&
		    list[at].from <= span.last + 1)
			return &list[at];
	return NULL;
}

/* True if a frame at the address is the same in both, and leads to the same caller. */
static bool is_like(const struct snapfile_code *a, const struct snapfile_code *b, uint64_t addr)
{
	const struct snap_code *x = a->record, *y = b->record;

	return x->start == y->start && x->frame_size == y->frame_size &&
	       x->frame_complete == y->frame_complete && x->push_end == y->push_end &&
	       x->sub_end == y->sub_end && snapfile_agree(a, b, addr);
}

const struct snapfile_code *snapfile_find_known(const struct snapfile *sf, uint64_t addr,
						struct snapfile_span span, uint64_t start,
						uint32_t compile_id)
{
	const struct snapfile_code *c[SNAPFILE_AROUND], *it = NULL;
	size_t n = snapfile_find(sf, addr, span, c);

	for (size_t i = 0; i < n; i++)
		if (is_it(c[i], start, compile_id))
			it = c[i];
	if (it && it == c[n - 1] && it->gone > span.last)
		return it;
	if (!it)
		it = find_asked(sf, span, start, compile_id);
	for (size_t i = 0; it && i < n; i++)
		if (c[i] != it && !is_like(it, c[i], addr))
			return NULL;
	return it;
}

static bool is_named(const struct snapfile_code *c, const char *name)
{
	return c->record->name_len == strlen(name) && memcmp(c->name, name, strlen(name)) == 0;
}

bool snapfile_is_barrier(const struct snapfile_code *c)
{
	static const char name[] = "StubRoutines (continuation";

	return c->record->kind == SNAP_STUBS && c->record->name_len >= strlen(name) &&
	       memcmp(c->name, name, strlen(name)) == 0;
}

bool snapfile_selects(const struct snapfile_code *c)
{
	return c->record->kind == SNAP_ADAPTER && is_named(c, "vtable chunks");
}

bool snapfile_pushes(const struct snapfile_code *c)
{
	static const char name[] = "slow_subtype_check";

	return c->record->kind == SNAP_STUBS &&
	       memmem(c->name, c->record->name_len, name, strlen(name));
}

bool snapfile_is_thrower(const struct snapfile_code *c)
{
	return is_named(c, "ExceptionBlob");
}

bool snapfile_is_return(const struct snapfile_code *c, uint64_t offset)
{
	size_t region = regions_before(c, offset);

	return (region && c->regions[region - 1].end == offset) || is_call(c, offset);
}

const struct snap_exit *snapfile_exit(const struct snapfile_code *c, uint64_t offset)
{
	size_t i = count_to(c->exits, sizeof(*c->exits), offsetof(struct snap_exit, end),
			    c->record->exit_count, offset);

	return i < c->record->exit_count && c->exits[i].pop <= offset ? &c->exits[i] : NULL;
}

uint32_t snapfile_spilled(const struct snapfile_code *c, uint64_t offset)
{
	size_t i = count_to(c->spills, sizeof(*c->spills), offsetof(struct snap_spill, end),
			    c->spill_count, offset);

	return i < c->spill_count && c->spills[i].begin <= offset ? c->spills[i].bytes : 0;
}
