// SPDX-License-Identifier: Apache-2.0
#include "hotspot/scope.h"
#include "hotspot/scan.h"

#include "hotspot/lines.h"
#include "hotspot/stream.h"

#define DEPTH_MAX 512u /* MaxInlineLevel is 15; forced inlining goes deeper */
#define SLOTS_MIN 64u
#define CONTENT	  0u /* as a place: an entry by content. No scope is described at 0. */

struct frame {
	uint32_t place, method;
	int32_t bci;
};

void hs_scopes_init(struct hs_scopes *s)
{
	s->round = 0;
	for (size_t i = 0; i < HS_SCOPE_SLOTS; i++)
		s->slot[i].round = 0;
}

/* More slots than there can be entries: two for each byte, at which a place may be. */
static void slots_begin(struct hs_scopes *s, uint32_t data_len)
{
	uint32_t slots = SLOTS_MIN;

	s->round++;
	s->shift = 32 - (uint32_t)__builtin_ctz(SLOTS_MIN);
	for (; slots < HS_SCOPE_SLOTS && slots / 2 <= data_len; slots *= 2)
		s->shift--;
}

static uint32_t slot_next(const struct hs_scopes *s, uint32_t i)
{
	return (i + 1) & ((1u << (32 - s->shift)) - 1);
}

static uint32_t mix(uint32_t a, uint32_t b)
{
	return (a ^ b) * 0x9e3779b1u;
}

/* There are at most two entries for each scope and each place with a scope of its own; callers
 * stop adding long before the table is full. */
static uint32_t place_slot(const struct hs_scopes *s, uint32_t place)
{
	uint32_t i = mix(place, 0x5bd1e995u) >> s->shift;

	while (s->slot[i].round == s->round && s->slot[i].place != place)
		i = slot_next(s, i);
	return i;
}

static bool scope_is(const struct snap_scope *a, const struct snap_scope *b)
{
	return a->method == b->method && a->bci == b->bci && a->parent == b->parent;
}

static uint32_t content_slot(const struct hs_scopes *s, const struct snap_scope *scope)
{
	uint32_t hash =
		mix(mix((uint32_t)(scope->method >> 3), (uint32_t)scope->bci), scope->parent + 1);
	uint32_t i = hash >> s->shift;

	while (s->slot[i].round == s->round &&
	       (s->slot[i].place != CONTENT || !scope_is(&s->scope[s->slot[i].scope], scope)))
		i = slot_next(s, i);
	return i;
}

/* The number of a scope that is made, or found; SNAP_NONE when there is no room. */
static uint32_t scope_add(struct hs *hs, struct hs_scopes *s, const struct hs_debug *d,
			  const struct frame *f, uint32_t parent)
{
	struct snap_scope scope = {.bci = f->bci, .parent = parent};
	uint32_t slot;

	if (f->method > 0 && f->method <= d->metadata_count)
		__builtin_memcpy(&scope.method, d->metadata + 8 * (size_t)(f->method - 1), 8);
	slot = content_slot(s, &scope);
	if (s->slot[slot].round == s->round)
		return s->slot[slot].scope;
	if (s->scope_count == HS_SCOPES_MAX)
		return SNAP_NONE;
	if (scope.method)
		scope.line = hs_line(hs, scope.method, scope.bci, d->base);
	s->slot[slot].round = s->round;
	s->slot[slot].place = CONTENT;
	s->slot[slot].scope = s->scope_count;
	s->scope[s->scope_count] = scope;
	return s->scope_count++;
}

static bool frame_read(const struct hs_debug *d, uint32_t place, struct frame *f,
		       uint32_t *ret_sender)
{
	struct hs_stream in = {.base = d->base};

	if (place >= d->data_len)
		return false;
	in.p = d->data + place;
	in.end = d->data + d->data_len;
	f->place = place;
	*ret_sender = hs_stream_u32(&in);
	f->method = hs_stream_u32(&in);
	f->bci = (int32_t)(hs_stream_u32(&in) - 1);
	return !in.bad && *ret_sender < place && f->bci >= -1 && f->bci <= (int32_t)UINT16_MAX;
}

/* The number of the scope described at a place, and of all that it is inlined into; SNAP_NONE when
 * that does not hold together. `places` counts the entries by place. */
static uint32_t scope_resolve(struct hs *hs, struct hs_scopes *s, const struct hs_debug *d,
			      uint32_t place, uint32_t *places)
{
	struct frame chain[DEPTH_MAX];
	uint32_t n = 0, scope = SNAP_NONE, sender;

	for (uint32_t at = place; at != 0; at = sender) {
		uint32_t slot = place_slot(s, at);

		if (s->slot[slot].round == s->round) {
			scope = s->slot[slot].scope;
			break;
		}
		if (n == DEPTH_MAX || !frame_read(d, at, &chain[n], &sender))
			return SNAP_NONE;
		n++;
	}
	while (n-- > 0) {
		uint32_t slot;

		scope = scope_add(hs, s, d, &chain[n], scope);
		if (scope == SNAP_NONE || ++*places > 2 * HS_SCOPES_MAX)
			return SNAP_NONE;
		slot = place_slot(s, chain[n].place);
		s->slot[slot].round = s->round;
		s->slot[slot].place = chain[n].place;
		s->slot[slot].scope = scope;
	}
	return scope;
}

/* Whether a scope has neither locals nor a stack nor monitors, as between safepoints: there is no
 * description of them, which is not the same as an empty one (debugInfoRec.cpp describe_scope, of
 * C2 at least; C1 leaves out empty ones, too). */
static bool is_plain(const struct hs_debug *d, uint32_t place)
{
	struct hs_stream in = {.p = d->data + place, .end = d->data + d->data_len, .base = d->base};

	for (int i = 0; i < 3; i++) /* sender, method, bci */
		hs_stream_u32(&in);
	return !hs_stream_u32(&in) && !hs_stream_u32(&in) && !hs_stream_u32(&in) && !in.bad;
}

static bool region_add(struct hs_scopes *s, const struct hs_debug *d, uint32_t end, uint32_t scope)
{
	struct snap_region *last = s->region_count ? &s->region[s->region_count - 1] : NULL;

	if (last && end <= last->end)
		return false;
	if (last && last->scope == scope &&
	    !(d->code && hs_scan_is_behind_call(d->code, last->end))) {
		last->end = end;
		return true;
	}
	if (s->region_count == HS_REGIONS_MAX)
		return false;
	s->region[s->region_count++] = (struct snap_region){.end = end, .scope = scope};
	return true;
}

static bool regions_read(struct hs *hs, struct hs_scopes *s, const struct hs_debug *d)
{
	size_t stride = (size_t)hs->tables.size[HS_TYPE_PC_DESC];
	uint64_t pc_at = hs->tables.field[HS_PC_OFFSET].place;
	uint64_t scope_at = hs->tables.field[HS_PC_SCOPE].place;
	uint32_t places = 0, last_place = 0, scope = SNAP_NONE;

	for (uint32_t i = 0; i < d->pc_count; i++) {
		const uint8_t *desc = d->pcs + i * stride;
		uint32_t pc, place;

		__builtin_memcpy(&pc, desc + pc_at, sizeof(pc));
		__builtin_memcpy(&place, desc + scope_at, sizeof(place));
		/* The first and the last are sentinels out of the code's bounds. */
		if (pc == 0 || pc > d->code_size)
			continue;
		if (place != last_place || place == 0) {
			last_place = place;
			scope = place ? scope_resolve(hs, s, d, place, &places) : SNAP_NONE;
			if (place && scope == SNAP_NONE)
				return false;
			s->places++;
			s->plain += place && is_plain(d, place);
		}
		if (!region_add(s, d, pc, scope))
			return false;
	}
	return true;
}

bool hs_scopes_read(struct hs *hs, struct hs_scopes *s, const struct hs_debug *debug)
{
	slots_begin(s, debug->data_len);
	s->scope_count = 0;
	s->region_count = 0;
	s->places = s->plain = 0;
	if (regions_read(hs, s, debug))
		return true;
	s->scope_count = 0;
	s->region_count = 0;
	return false;
}
