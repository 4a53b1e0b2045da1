// SPDX-License-Identifier: Apache-2.0
#include "hotspot/nmethod.h"

/* An address, or what is not one, as an offset in the code. */
static uint32_t code_offset(const struct hs_blob *blob, uint64_t addr)
{
	return addr >= blob->code && addr < blob->code_end ? (uint32_t)(addr - blob->code)
							   : SNAP_NONE;
}

static uint32_t handler(struct hs *hs, const struct hs_blob *blob, enum hs_field_id address,
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

	ret->deopt = handler(hs, blob, HS_COMPILED_DEOPT, deopt, 3);
	ret->deopt_mh = handler(hs, blob, HS_COMPILED_DEOPT_MH, deopt_mh, 2);
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

/* Part of an object: from `from` to `to`, counted from its start. */
struct part {
	uint64_t from, to;
};

static bool part_fits(struct part p, uint64_t size)
{
	return p.from <= p.to && p.to <= size;
}

static bool part_get(struct hs *hs, uint64_t object, enum hs_field_id from, enum hs_field_id to,
		     struct part *ret)
{
	return hs_get(hs, object, from, &ret->from) && hs_get(hs, object, to, &ret->to);
}

static void debug_set(struct hs *hs, struct hs_debug *d, const uint8_t *base, struct part pcs,
		      struct part data)
{
	d->pcs = base + pcs.from;
	d->pc_count = (uint32_t)((pcs.to - pcs.from) / hs->tables.size[HS_TYPE_PC_DESC]);
	d->data = base + data.from;
	d->data_len = (uint32_t)(data.to - data.from);
}

static void metadata_set(struct hs_debug *d, const uint8_t *p, struct part part)
{
	uint64_t n = (part.to - part.from) / 8;

	d->metadata = p + part.from;
	d->metadata_count = n < HS_METADATA_MAX ? (uint32_t)n : HS_METADATA_MAX;
}

/* To JDK 22: pointers' place, scopes' data, PcDescs, dependencies, in this order, in the blob. */
static bool debug_inside(struct hs *hs, const struct hs_blob *blob, struct hs_debug *ret)
{
	struct part pcs, data, metadata;
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

/* Around the cache: nothing else is near. */
static bool outside_read(struct hs *hs, uint64_t addr, uint8_t *buf, uint64_t len)
{
	const struct hs_source *source = hs->mem.source;

	return len == 0 ||
	       (addr < 1ull << 62 && source->read(source->arg, addr, buf, len) == (int64_t)len);
}

/* 23 and 24: an offset in the blob's data; 25: behind the relocations of the mutable data. */
static bool metadata_outside(struct hs *hs, const struct hs_blob *blob,
			     struct hs_nmethod_room *room, struct hs_debug *ret)
{
	struct part part;
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
	part = (struct part){0, part.to - part.from};
	if (part.to > sizeof(room->metadata))
		part.to = sizeof(room->metadata);
	metadata_set(ret, room->metadata, part);
	return outside_read(hs, addr, room->metadata, part.to);
}

static bool debug_outside(struct hs *hs, const struct hs_blob *blob, struct hs_nmethod_room *room,
			  struct hs_debug *ret)
{
	struct part pcs, data;
	uint64_t addr, size;

	if (!hs_get(hs, blob->start, HS_NMETHOD_IMMUTABLE, &addr) ||
	    !hs_get(hs, blob->start, HS_NMETHOD_IMMUTABLE_SIZE, &size) ||
	    !part_get(hs, blob->start, HS_NMETHOD_SCOPES_PCS, HS_NMETHOD_SCOPES_DATA, &pcs))
		return false;
	/* A native wrapper has none. */
	if (size == 0 || pcs.from == pcs.to)
		return true;
	data = (struct part){pcs.to, size};
	if (size > sizeof(room->immutable) || !part_fits(pcs, size) || !part_fits(data, size) ||
	    !outside_read(hs, addr + pcs.from, room->immutable, size - pcs.from))
		return false;
	pcs.to -= pcs.from;
	data.from -= pcs.from;
	data.to -= pcs.from;
	pcs.from = 0;
	debug_set(hs, ret, room->immutable, pcs, data);
	return metadata_outside(hs, blob, room, ret);
}

bool hs_nmethod_debug(struct hs *hs, const struct hs_blob *blob, struct hs_nmethod_room *room,
		      struct hs_debug *ret)
{
	uint64_t stride = hs->tables.size[HS_TYPE_PC_DESC];

	ret->pc_count = 0;
	ret->metadata_count = 0;
	if (!hs_has(hs, HS_PC_OFFSET) || !hs_has(hs, HS_PC_SCOPE) || stride > 256 ||
	    hs->tables.field[HS_PC_OFFSET].place + 4 > stride ||
	    hs->tables.field[HS_PC_SCOPE].place + 4 > stride)
		return false;
	return hs_has(hs, HS_NMETHOD_IMMUTABLE) ? debug_outside(hs, blob, room, ret)
						: debug_inside(hs, blob, ret);
}
