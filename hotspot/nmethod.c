// SPDX-License-Identifier: Apache-2.0
#include "hotspot/nmethod.h"

#include "hotspot/metadata.h"
#include "hotspot/scan.h"
#include "hotspot/stream.h"

#define DEPTH_MAX 512u /* MaxInlineLevel is 15; forced inlining goes deeper */
#define SLOTS_MIN 64u
#define CONTENT	  0u /* place of an entry by content; no scope is described at 0 */

/* Returns the offset of an address in the code, SNAP_NONE if it is outside. */
static uint32_t code_offset(const struct hs_blob *blob, uint64_t addr)
{
	return addr >= blob->code && addr < blob->code_end ? (uint32_t)(addr - blob->code)
							   : SNAP_NONE;
}

static uint32_t handler_offset(struct hs *hs, const struct hs_blob *blob, enum hs_field_id address,
			       const enum hs_field_id *offsets, size_t count)
{
	uint64_t addr;
	int64_t offset;

	if (hs_has(hs, address))
		return hs_get(hs, blob->start, address, &addr) ? code_offset(blob, addr)
							       : SNAP_NONE;
	for (size_t i = 0; i < count; i++)
		if (hs_has(hs, offsets[i]) && hs_get_signed(hs, blob->start, offsets[i], &offset) &&
		    offset > 0)
			return code_offset(blob, blob->start + (uint64_t)offset);
	return SNAP_NONE;
}

void hs_nmethod_numbers(struct hs *hs, const struct hs_blob *blob, struct snap_code *ret)
{
	static const enum hs_field_id deopt[] = {HS_NMETHOD_DEOPT_8, HS_NMETHOD_DEOPT_23,
						 HS_NMETHOD_DEOPT_26};
	static const enum hs_field_id deopt_mh[] = {HS_NMETHOD_DEOPT_MH_8, HS_NMETHOD_DEOPT_MH_23};
	uint64_t n;

	ret->deopt = handler_offset(hs, blob, HS_COMPILED_DEOPT, deopt, 3);
	ret->deopt_mh = handler_offset(hs, blob, HS_COMPILED_DEOPT_MH, deopt_mh, 2);
	ret->orig_pc = ret->deopt != SNAP_NONE && hs_get(hs, blob->start, HS_NMETHOD_ORIG_PC, &n) &&
				       n < ret->frame_size
			       ? (uint32_t)n
			       : SNAP_NONE;
	if (hs_get(hs, blob->start, HS_NMETHOD_LEVEL, &n) && n <= 4)
		ret->level = (uint16_t)n;
	if (hs_get(hs, blob->start, HS_NMETHOD_ID, &n))
		ret->compile_id = (uint32_t)n;
}

uint32_t hs_nmethod_entry(struct hs *hs, const struct hs_blob *blob)
{
	uint64_t n;

	if (hs_has(hs, HS_NMETHOD_ENTRY))
		n = hs_get(hs, blob->start, HS_NMETHOD_ENTRY, &n) ? n - blob->code : 0;
	else if (!hs_get(hs, blob->start, HS_NMETHOD_ENTRY_23, &n))
		n = 0;
	return n < blob->code_end - blob->code ? (uint32_t)n : 0;
}

/* Part of an object, as offsets from its start. */
struct extent {
	uint64_t from, to;
};

static bool part_fits(struct extent p, uint64_t size)
{
	return p.from <= p.to && p.to <= size;
}

static bool part_get(struct hs *hs, uint64_t object, enum hs_field_id from, enum hs_field_id to,
		     struct extent *ret)
{
	return hs_get(hs, object, from, &ret->from) && hs_get(hs, object, to, &ret->to);
}

static void debug_set(struct hs *hs, struct hs_debug *d, const uint8_t *base, struct extent pcs,
		      struct extent data)
{
	d->pcs = base + pcs.from;
	d->pc_count = (uint32_t)((pcs.to - pcs.from) / hs->tables.size[HS_TYPE_PC_DESC]);
	d->data = base + data.from;
	d->data_len = (uint32_t)(data.to - data.from);
}

static void metadata_set(struct hs_debug *d, const uint8_t *p, struct extent part)
{
	uint64_t n = (part.to - part.from) / 8;

	d->metadata = p + part.from;
	d->metadata_count = n < HS_METADATA_MAX ? (uint32_t)n : HS_METADATA_MAX;
}

/* Up to JDK 22 the blob contains metadata, scopes data, PcDescs and dependencies, in this order. */
static bool debug_inside(struct hs *hs, const struct hs_blob *blob, struct hs_debug *ret)
{
	struct extent pcs, data, metadata;
	size_t have;
	const uint8_t *p;

	if (hs_has(hs, HS_COMPILED_SCOPES_DATA)) {
		if (!hs_get(hs, blob->start, HS_COMPILED_SCOPES_DATA, &data.from))
			return false;
		data.from -= blob->start;
	} else if (!hs_get(hs, blob->start, HS_NMETHOD_SCOPES_DATA, &data.from)) {
		return false;
	}
	if (!part_get(hs, blob->start, HS_NMETHOD_SCOPES_PCS, HS_NMETHOD_DEPENDENCIES, &pcs) ||
	    !hs_get(hs, blob->start, HS_NMETHOD_METADATA, &metadata.from))
		return false;
	data.to = pcs.from;
	metadata.to = data.from;
	p = hs_mem_view(&hs->mem, blob->start, &have);
	if (!p || have < blob->size || !part_fits(pcs, blob->size) ||
	    !part_fits(data, blob->size) || !part_fits(metadata, blob->size))
		return false;
	debug_set(hs, ret, p, pcs, data);
	metadata_set(ret, p, metadata);
	return true;
}

/* Bypasses the page cache: nothing else is near. */
static bool outside_read(struct hs *hs, uint64_t addr, uint8_t *buf, uint64_t len)
{
	return len == 0 || hs_mem_read_now(&hs->mem, addr, buf, len);
}

/* JDK 23 and 24: at an offset in the blob's data; 25: after the relocations of the mutable data. */
static bool metadata_outside(struct hs *hs, const struct hs_blob *blob,
			     struct hs_debug_buffer *buffer, struct hs_debug *ret)
{
	struct extent part;
	uint64_t addr;
	size_t have;
	const uint8_t *p;

	if (!hs_has(hs, HS_BLOB_MUTABLE)) {
		if (!hs_get(hs, blob->start, HS_NMETHOD_METADATA, &part.from))
			return false;
		part.from += blob->code_end - blob->start;
		part.to = blob->size;
		p = hs_mem_view(&hs->mem, blob->start, &have);
		if (!p || have < blob->size || !part_fits(part, blob->size))
			return false;
		metadata_set(ret, p, part);
		return true;
	}
	if (!part_get(hs, blob->start, HS_BLOB_RELOCATION_SIZE, HS_BLOB_MUTABLE_SIZE, &part) ||
	    part.from > part.to || !hs_get(hs, blob->start, HS_BLOB_MUTABLE, &addr))
		return false;
	addr += part.from;
	part = (struct extent){0, part.to - part.from};
	if (part.to > sizeof(buffer->metadata))
		part.to = sizeof(buffer->metadata);
	metadata_set(ret, buffer->metadata, part);
	return outside_read(hs, addr, buffer->metadata, part.to);
}

static bool debug_outside(struct hs *hs, const struct hs_blob *blob, struct hs_debug_buffer *buffer,
			  struct hs_debug *ret)
{
	struct extent pcs, data;
	uint64_t addr, size;

	if (!hs_get(hs, blob->start, HS_NMETHOD_IMMUTABLE, &addr) ||
	    !hs_get(hs, blob->start, HS_NMETHOD_IMMUTABLE_SIZE, &size) ||
	    !part_get(hs, blob->start, HS_NMETHOD_SCOPES_PCS, HS_NMETHOD_SCOPES_DATA, &pcs))
		return false;
	/* A native wrapper has none. */
	if (size == 0 || pcs.from == pcs.to)
		return true;
	data = (struct extent){pcs.to, size};
	if (size > sizeof(buffer->immutable) || !part_fits(pcs, size) || !part_fits(data, size) ||
	    !outside_read(hs, addr + pcs.from, buffer->immutable, size - pcs.from))
		return false;
	pcs.to -= pcs.from;
	data.from -= pcs.from;
	data.to -= pcs.from;
	pcs.from = 0;
	debug_set(hs, ret, buffer->immutable, pcs, data);
	return metadata_outside(hs, blob, buffer, ret);
}

bool hs_debug_read(struct hs *hs, const struct hs_blob *blob, struct hs_debug_buffer *buffer,
		   struct hs_debug *ret)
{
	uint64_t stride = hs->tables.size[HS_TYPE_PC_DESC];

	ret->pc_count = 0;
	ret->metadata_count = 0;
	if (!hs_has(hs, HS_PC_OFFSET) || !hs_has(hs, HS_PC_SCOPE) || stride > 256 ||
	    hs->tables.field[HS_PC_OFFSET].place + 4 > stride ||
	    hs->tables.field[HS_PC_SCOPE].place + 4 > stride)
		return false;
	return hs_has(hs, HS_NMETHOD_IMMUTABLE) ? debug_outside(hs, blob, buffer, ret)
						: debug_inside(hs, blob, ret);
}

/* ---- scopes ---- */

struct scope_entry {
	uint32_t place, method;
	int32_t bci;
};

void hs_scopes_init(struct hs_scopes *s)
{
	s->round = 0;
	__builtin_memset(s->slot, 0, sizeof(s->slot));
}

/* More slots than entries: at most two for each byte of the data. */
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

static uint32_t slot_hash(uint32_t a, uint32_t b)
{
	return (a ^ b) * 0x9e3779b1u;
}

/* A scope has at most two entries, and so has a place with its own scope: callers stop adding long
 * before the table is full. */
static uint32_t place_slot(const struct hs_scopes *s, uint32_t place)
{
	uint32_t i = slot_hash(place, 0x5bd1e995u) >> s->shift;

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
	uint32_t hash = slot_hash(slot_hash((uint32_t)(scope->method >> 3), (uint32_t)scope->bci),
				  scope->parent + 1);
	uint32_t i = hash >> s->shift;

	while (s->slot[i].round == s->round &&
	       (s->slot[i].place != CONTENT || !scope_is(&s->scope[s->slot[i].scope], scope)))
		i = slot_next(s, i);
	return i;
}

/* Finds or adds a scope. Returns its number, SNAP_NONE if the table is full. */
static uint32_t scope_add(struct hs *hs, struct hs_scopes *s, const struct hs_debug *d,
			  const struct scope_entry *f, uint32_t parent)
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
		scope.line = hs_method_line(hs, scope.method, scope.bci, d->base);
	s->slot[slot].round = s->round;
	s->slot[slot].place = CONTENT;
	s->slot[slot].scope = s->scope_count;
	s->scope[s->scope_count] = scope;
	return s->scope_count++;
}

static bool frame_read(const struct hs_debug *d, uint32_t place, struct scope_entry *f,
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

/* Adds the scope described at a place and all scopes it is inlined into. Returns its number,
 * SNAP_NONE if the data is invalid. `places` counts the entries by place. */
static uint32_t scope_resolve(struct hs *hs, struct hs_scopes *s, const struct hs_debug *d,
			      uint32_t place, uint32_t *places)
{
	struct scope_entry chain[DEPTH_MAX];
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

/* True if a scope describes neither locals nor a stack nor monitors, as between safepoints
 * (debugInfoRec.cpp describe_scope). C2 describes empty ones, C1 omits them. */
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
	    !(d->code && hs_scan_is_after_call(d->code, last->end))) {
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
	uint32_t places = 0, last_place = 0, scope = SNAP_NONE, pc = UINT32_MAX;

	for (uint32_t i = 0; i < d->pc_count; i++) {
		const uint8_t *desc = d->pcs + i * stride;
		uint32_t place;

		__builtin_memcpy(&pc, desc + pc_at, sizeof(pc));
		__builtin_memcpy(&place, desc + scope_at, sizeof(place));
		/* The first and the last are sentinels outside the code. */
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
	/* While code is made, the last one is written last (nmethod::copy_scopes_pcs). */
	return pc > d->code_size;
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

static uint32_t region_at(const struct hs_scopes *s, uint32_t offset)
{
	uint32_t lo = 0, hi = s->region_count;

	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;

		if (s->region[middle].end <= offset)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

bool hs_scopes_split(struct hs_scopes *s, uint32_t end, uint32_t like)
{
	uint32_t at = region_at(s, end), from = region_at(s, like);
	uint32_t scope;

	if (at == s->region_count || from == s->region_count || s->region_count == HS_REGIONS_MAX ||
	    s->region[at].scope == s->region[from].scope)
		return false;
	scope = s->region[from].scope;
	for (uint32_t i = s->region_count++; i > at; i--)
		s->region[i] = s->region[i - 1];
	s->region[at] = (struct snap_region){.end = end, .scope = scope};
	return true;
}
