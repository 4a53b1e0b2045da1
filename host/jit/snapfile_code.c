// SPDX-License-Identifier: Apache-2.0
/* Searches in one code. */
#include "jit/snapfile_inside.h"

#include <string.h>

bool snapfile_code_method(const struct snapfile_code *c, struct snapfile_method *ret)
{
	return c->record->method && snapfile_method_at(c->file, c->record->method, c->from, ret);
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

size_t snapfile_scopes(const struct snapfile_code *c, uint64_t offset,
		       struct snapfile_scope ret[SNAPFILE_DEPTH])
{
	size_t region = regions_before(c, offset), n = 0;
	uint32_t at;

	/* An interrupt is taken behind the instruction that took the time, so that a sample often
	 * stands exactly at the end of the region it belongs to (docs/measurements.md;
	 * HotSpot's forte.cpp counts it to the next). A return address, being looked up one byte
	 * before, is never the start of an instruction. */
	if (region && c->regions[region - 1].end == offset)
		region--;
	if (region == c->record->region_count)
		return 0;
	at = c->regions[region].scope;
	/* The depth also ends a circle. */
	while (at < c->record->scope_count && n < SNAPFILE_DEPTH) {
		const struct snap_scope *s = &c->scopes[at];

		ret[n] = (struct snapfile_scope){.bci = s->bci, .line = s->line};
		if (s->method)
			snapfile_method_at(c->file, s->method, c->from, &ret[n].method);
		n++;
		at = s->parent;
	}
	return n;
}

static bool is_same_method(const struct snapfile_method *a, const struct snapfile_method *b)
{
	return a->name_len && a->name_len == b->name_len &&
	       memcmp(a->name, b->name, a->name_len) == 0;
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

bool snapfile_is_return(const struct snapfile_code *c, uint64_t offset)
{
	size_t region = regions_before(c, offset), call;

	if (region && c->regions[region - 1].end == offset)
		return true;
	call = count_to(c->calls, sizeof(*c->calls), 0, c->record->call_count, offset);
	return call && c->calls[call - 1] == offset;
}

const struct snap_exit *snapfile_exit(const struct snapfile_code *c, uint64_t offset)
{
	size_t i = count_to(c->exits, sizeof(*c->exits), offsetof(struct snap_exit, end),
			    c->record->exit_count, offset);

	return i < c->record->exit_count && c->exits[i].pop <= offset ? &c->exits[i] : NULL;
}
