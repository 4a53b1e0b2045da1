// SPDX-License-Identifier: Apache-2.0
#include "hotspot/code_heap.h"

#include "hotspot/table.h"

#define AHEAD	    256u
#define WATCH_BYTES 1024u  /* more than a CodeHeap has in any release */
#define FREE	    0xffu  /* in the segment map */
#define BACK_MAX    65536u /* steps; the largest code takes some hundred */
#define DENSE	    3072u  /* bytes read in the time that a piece costs: half a microsecond */

static bool space_read(struct hs *hs, uint64_t space, uint64_t *ret_low, uint64_t *ret_high)
{
	return hs_get(hs, space, HS_SPACE_LOW, ret_low) &&
	       hs_get(hs, space, HS_SPACE_HIGH, ret_high) && *ret_low != 0 &&
	       *ret_low < *ret_high && *ret_high - *ret_low <= HS_HEAP_BYTES;
}

static bool heap_read(struct hs *hs, uint64_t addr, struct hs_heap *ret)
{
	uint64_t shift;

	if (!space_read(hs, hs_inside(hs, addr, HS_HEAP_MEMORY), &ret->low, &ret->high) ||
	    !space_read(hs, hs_inside(hs, addr, HS_HEAP_SEGMAP), &ret->segmap, &ret->end) ||
	    !hs_get(hs, addr, HS_HEAP_SHIFT, &shift) || shift < 4 || shift > 16)
		return false;
	ret->shift = (unsigned)shift;
	return true;
}

static void heap_add(struct hs *hs, uint64_t addr, struct hs_heaps *heaps)
{
	struct hs_heap heap = {.at = addr};
	unsigned at;

	if (heaps->count == HS_HEAPS_MAX || !heap_read(hs, addr, &heap))
		return;
	/* Overlapping heaps would make overlapping code. */
	for (unsigned i = 0; i < heaps->count; i++)
		if (heap.low < heaps->heap[i].high && heaps->heap[i].low < heap.high)
			return;
	for (at = heaps->count++; at > 0 && heaps->heap[at - 1].low > heap.low; at--)
		heaps->heap[at] = heaps->heap[at - 1];
	heaps->heap[at] = heap;
}

bool hs_heaps_read(struct hs *hs, struct hs_heaps *ret)
{
	uint64_t array, data, len, heap;

	ret->count = 0;
	if (hs_has(hs, HS_CODE_CACHE_HEAP)) {
		if (hs_get(hs, 0, HS_CODE_CACHE_HEAP, &heap) && heap != 0)
			heap_add(hs, heap, ret);
		return ret->count > 0;
	}
	if (!hs_get(hs, 0, HS_CODE_CACHE_HEAPS, &array) || array == 0 ||
	    !hs_get(hs, array, hs_has(hs, HS_ARRAY_LEN_16) ? HS_ARRAY_LEN_16 : HS_ARRAY_LEN_9,
		    &len) ||
	    !hs_get(hs, array, HS_ARRAY_DATA, &data) || data == 0)
		return false;
	for (uint64_t i = 0; i < len && i < HS_HEAPS_MAX; i++)
		if (hs_mem_ptr(&hs->mem, data + i * sizeof(heap), &heap) && heap != 0)
			heap_add(hs, heap, ret);
	return ret->count > 0;
}

bool hs_watch_find(const struct hs_source *source, void *work, struct hs_watch *ret)
{
	struct hs *hs = work;
	struct hs_heaps heaps;

	hs_mem_init(&hs->mem, source, NULL, 0);
	if (!hs_tables_read(hs) || !hs_heaps_read(hs, &heaps))
		return false;
	*ret = (struct hs_watch){.count = heaps.count,
				 .bytes = (uint32_t)hs->tables.size[HS_TYPE_CODE_HEAP]};
	for (uint32_t i = 0; i < heaps.count; i++)
		ret->heap[i] = heaps.heap[i].at;
	return ret->bytes >= sizeof(uint64_t) && ret->bytes <= WATCH_BYTES;
}

uint64_t hs_watch_read(const struct hs_source *source, const struct hs_watch *w)
{
	uint64_t words[WATCH_BYTES / sizeof(uint64_t)], hash[HS_HEAPS_MAX];

	for (uint32_t i = 0; i < w->count; i++) {
		if (source->read(source->arg, w->heap[i], words, w->bytes) != w->bytes)
			return 0;
		hash[i] = hs_hash(words, w->bytes / sizeof(*words));
	}
	return hs_hash(hash, w->count);
}

void hs_walk_start(struct hs_walk *walk, const struct hs_heap *heap, unsigned budget)
{
	*walk = (struct hs_walk){.heap = heap, .next = heap->low, .budget = budget};
}

bool hs_block_read(struct hs *hs, const struct hs_heap *heap, uint64_t start, struct hs_block *ret)
{
	uint64_t length, used;

	if (!hs_get(hs, start, HS_BLOCK_LENGTH, &length) ||
	    !hs_get(hs, start, HS_BLOCK_USED, &used) || length == 0 ||
	    length > (heap->high - start) >> heap->shift)
		return false;
	ret->start = start;
	ret->size = length << heap->shift;
	ret->used = (used & 1) != 0;
	return true;
}

/* Finds the next start of a block in the segment map. False: there is none, or (*ret is 0) the map
 * cannot be read. */
static bool start_find(struct hs *hs, const struct hs_heap *heap, uint64_t from, uint64_t *ret)
{
	uint64_t at = heap->segmap + ((from - heap->low) >> heap->shift);
	uint64_t end = heap->segmap + ((heap->high - heap->low) >> heap->shift);

	if (end > heap->end)
		end = heap->end;
	*ret = heap->high;
	while (at < end) {
		size_t len;
		const uint8_t *map = hs_mem_view(&hs->mem, at, &len);

		if (!map) {
			*ret = 0;
			return false;
		}
		for (size_t i = 0; i < len && at < end; i++, at++) {
			if (map[i] == 0) {
				*ret = heap->low + ((at - heap->segmap) << heap->shift);
				return true;
			}
		}
	}
	return false;
}

#if __STDC_HOSTED__
bool hs_block_find(struct hs *hs, const struct hs_heap *heap, uint64_t addr, uint64_t *ret)
{
	uint64_t segment = (addr - heap->low) >> heap->shift;
	uint8_t back;

	if (addr < heap->low || addr >= heap->high)
		return false;
	for (unsigned i = 0; i < BACK_MAX; i++) {
		if (segment >= heap->end - heap->segmap ||
		    !hs_mem_read(&hs->mem, heap->segmap + segment, &back, 1) || back > segment ||
		    back == FREE)
			return false;
		*ret = heap->low + (segment << heap->shift);
		if (back == 0)
			return true;
		segment -= back;
	}
	return false;
}
#endif

bool hs_walk_seek(struct hs *hs, struct hs_walk *walk)
{
	uint64_t start;

	if (walk->next >= walk->heap->high)
		return false;
	if (walk->budget > 0 && start_find(hs, walk->heap, walk->next, &start)) {
		walk->next = start;
		return true;
	}
	walk->cut = walk->budget == 0 || start == 0;
	return false;
}

void hs_walk_read_ahead(struct hs *hs, const struct hs_walk *walk, size_t len)
{
	struct hs_pieces *p = &hs->mem.pieces;
	uint64_t at = walk->next;

	for (p->count = 0; p->count < AHEAD; at += 1ull << walk->heap->shift) {
		if (at >= walk->heap->high || !start_find(hs, walk->heap, at, &at))
			break;
		p->at[p->count++] = at;
	}
	if (p->count > 1 && at - walk->next < p->count * DENSE) {
		hs_mem_window(&hs->mem, walk->next, (size_t)(at - walk->next) + len);
		p->count = 0;
	} else {
		hs_mem_read_pieces(&hs->mem, len);
	}
}

bool hs_walk_next(struct hs *hs, struct hs_walk *walk, struct hs_block *ret)
{
	walk->budget--;
	if (!hs_block_read(hs, walk->heap, walk->next, ret)) {
		walk->next += 1ull << walk->heap->shift;
		return false;
	}
	walk->next += ret->size;
	return true;
}

/* ---- blobs ---- */

static bool code_read(struct hs *hs, struct hs_blob *b)
{
	if (hs_has(hs, HS_BLOB_CODE_BEGIN))
		return hs_get(hs, b->start, HS_BLOB_CODE_BEGIN, &b->code) &&
		       hs_get(hs, b->start, HS_BLOB_CODE_END, &b->code_end);
	if (!hs_get(hs, b->start, HS_BLOB_CODE_OFFSET, &b->code) ||
	    !hs_get(hs, b->start, HS_BLOB_DATA_OFFSET, &b->code_end))
		return false;
	b->code += b->start;
	b->code_end += b->start;
	return true;
}

/* The VM names its code in plain ASCII; anything else is memory that was reused. */
static bool text_plausible(const char *text)
{
	for (const char *p = text; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			return false;
	return *text != '\0';
}

size_t hs_blob_header(const struct hs *hs)
{
	static const enum hs_field_id fields[] = {
		HS_BLOB_NAME,	     HS_BLOB_SIZE,	  HS_BLOB_CODE_BEGIN, HS_BLOB_CODE_END,
		HS_BLOB_CODE_OFFSET, HS_BLOB_DATA_OFFSET, HS_NMETHOD_METHOD,  HS_COMPILED_METHOD,
		HS_NMETHOD_ID,	     HS_NMETHOD_STATE};
	uint64_t end = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const struct hs_field *f = &hs->tables.field[fields[i]];

		if (f->found && f->place + f->width > end)
			end = f->place + f->width;
	}
	end += hs->tables.size[HS_TYPE_HEAP_BLOCK];
	return end < HS_BLOB_HEADER ? (size_t)end : HS_BLOB_HEADER;
}

bool hs_blob_read(struct hs *hs, const struct hs_block *block, struct hs_blob *ret,
		  char text[HS_BLOB_NAME_MAX])
{
	uint64_t header = hs->tables.size[HS_TYPE_HEAP_BLOCK];
	enum hs_field_id method =
		hs_has(hs, HS_COMPILED_METHOD) ? HS_COMPILED_METHOD : HS_NMETHOD_METHOD;

	ret->start = block->start + header;
	ret->method = 0;
	if (!block->used || block->size <= header ||
	    !hs_get(hs, ret->start, HS_BLOB_SIZE, &ret->size) || ret->size > block->size - header ||
	    !code_read(hs, ret) || ret->code < ret->start || ret->code >= ret->code_end ||
	    ret->code_end > ret->start + ret->size ||
	    !hs_get(hs, ret->start, HS_BLOB_NAME, &ret->name) || ret->name == 0 ||
	    hs_mem_text(&hs->mem, ret->name, text, HS_BLOB_NAME_MAX) <= 0 || !text_plausible(text))
		return false;
	/* Only class nmethod uses these two names. */
	ret->is_nmethod = hs_text_is(text, "nmethod") || hs_text_is(text, "native nmethod");
	return !ret->is_nmethod || hs_get(hs, ret->start, method, &ret->method);
}

uint32_t hs_blob_fingerprint(struct hs *hs, const struct hs_blob *blob)
{
	uint64_t fields[] = {blob->start, blob->size,	blob->code, blob->code_end,
			     blob->name,  blob->method, 0};
	int64_t state;
	uint32_t hash;

	if (blob->is_nmethod) {
		if (hs_get_signed(hs, blob->start, HS_NMETHOD_STATE, &state) && state == -1)
			return 0;
		hs_get(hs, blob->start, HS_NMETHOD_ID, &fields[6]);
	}
	hash = (uint32_t)hs_hash(fields, sizeof(fields) / sizeof(*fields));
	return hash ? hash : 1;
}

bool hs_blob_still(struct hs *hs, const struct hs_heap *heap, const struct hs_block *block,
		   const struct hs_blob *blob)
{
	char text[HS_BLOB_NAME_MAX];
	struct hs_block block_now;
	struct hs_blob now;

	return hs_block_read(hs, heap, block->start, &block_now) && block_now.size == block->size &&
	       hs_blob_read(hs, &block_now, &now, text) && now.size == blob->size &&
	       now.code == blob->code && now.code_end == blob->code_end && now.name == blob->name &&
	       now.method == blob->method;
}
