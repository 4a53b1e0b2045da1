// SPDX-License-Identifier: Apache-2.0
#include "hotspot/blob.h"

static bool text_is(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

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

/* The VM names its code in plain ASCII; anything else is memory that is something else now. */
static bool text_plausible(const char *text)
{
	for (const char *p = text; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			return false;
	return *text != '\0';
}

size_t hs_blob_header(const struct hs *hs)
{
	static const enum hs_field_id looked_at[] = {
		HS_BLOB_NAME,	     HS_BLOB_SIZE,	  HS_BLOB_CODE_BEGIN, HS_BLOB_CODE_END,
		HS_BLOB_CODE_OFFSET, HS_BLOB_DATA_OFFSET, HS_NMETHOD_METHOD,  HS_COMPILED_METHOD,
		HS_NMETHOD_ID,	     HS_NMETHOD_STATE};
	uint64_t end = 0;

	for (size_t i = 0; i < sizeof(looked_at) / sizeof(*looked_at); i++) {
		const struct hs_field *f = &hs->tables.field[looked_at[i]];

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
	/* No vtable is looked at: nmethod gives these two names, and nothing else does. */
	ret->is_nmethod = text_is(text, "nmethod") || text_is(text, "native nmethod");
	return !ret->is_nmethod || hs_get(hs, ret->start, method, &ret->method);
}

uint32_t hs_blob_print(struct hs *hs, const struct hs_blob *blob)
{
	uint64_t said[] = {blob->start, blob->size,   blob->code, blob->code_end,
			   blob->name,	blob->method, 0};
	uint64_t hash = 0;
	int64_t state;

	if (blob->is_nmethod) {
		if (hs_get_signed(hs, blob->start, HS_NMETHOD_STATE, &state) && state == -1)
			return 0;
		hs_get(hs, blob->start, HS_NMETHOD_ID, &said[6]);
	}
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		hash = (hash ^ said[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash ? (uint32_t)hash : 1;
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
