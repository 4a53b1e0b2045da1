// SPDX-License-Identifier: Apache-2.0
/* Searches in one code. */
#include "snapfile_inside.h"

bool snapfile_code_method(const struct snapfile_code *c, struct snapfile_method *ret)
{
	return c->record->method && snapfile_method_at(c->file, c->record->method, c->from, ret);
}

/* The number of regions that end at or before the offset. */
static size_t regions_before(const struct snapfile_code *c, uint64_t offset)
{
	size_t lo = 0, n = c->record->region_count;

	while (n) {
		size_t half = n / 2;

		if (c->regions[lo + half].end <= offset) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

size_t snapfile_scopes(const struct snapfile_code *c, uint64_t offset,
		       struct snapfile_scope ret[SNAPFILE_DEPTH])
{
	size_t region = regions_before(c, offset), n = 0;
	uint32_t at;

	/* An interrupt is taken behind the instruction that took the time, so that a sample often
	 * stands exactly at the end of the region it belongs to (docs/measurements-accuracy.md;
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

bool snapfile_is_return(const struct snapfile_code *c, uint64_t offset)
{
	size_t region = regions_before(c, offset), lo = 0, n = c->record->call_count;

	if (region && c->regions[region - 1].end == offset)
		return true;
	while (n) {
		size_t half = n / 2;

		if (c->calls[lo + half] < offset) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo < c->record->call_count && c->calls[lo] == offset;
}

const struct snap_exit *snapfile_exit(const struct snapfile_code *c, uint64_t offset)
{
	size_t lo = 0, n = c->record->exit_count;

	while (n) {
		size_t half = n / 2;

		if (c->exits[lo + half].end <= offset) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo < c->record->exit_count && c->exits[lo].pop <= offset ? &c->exits[lo] : NULL;
}
