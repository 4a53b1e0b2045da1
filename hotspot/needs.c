// SPDX-License-Identifier: Apache-2.0
#include "hotspot/tables.h"

/* One of these fields, the newest release's first; one that is an object or an array has no width.
 */
struct need {
	unsigned count;
	enum hs_field_id one_of[3];
	bool embedded;
};
#define ONE_OF(...)                                                                                \
	.count = sizeof((enum hs_field_id[]){__VA_ARGS__}) / sizeof(enum hs_field_id),             \
	.one_of = {__VA_ARGS__}

/* What no dump can do without. */
static const struct need needed[] = {
	{ONE_OF(HS_CODE_CACHE_HEAPS, HS_CODE_CACHE_HEAP)},
	{ONE_OF(HS_ARRAY_DATA, HS_CODE_CACHE_HEAP)},
	{ONE_OF(HS_ARRAY_LEN_16, HS_ARRAY_LEN_9, HS_CODE_CACHE_HEAP)},
	{ONE_OF(HS_HEAP_MEMORY), .embedded = true},
	{ONE_OF(HS_HEAP_SEGMAP), .embedded = true},
	{ONE_OF(HS_HEAP_SHIFT)},
	{ONE_OF(HS_SPACE_LOW)},
	{ONE_OF(HS_SPACE_HIGH)},
	{ONE_OF(HS_BLOCK_LENGTH)},
	{ONE_OF(HS_BLOCK_USED)},
	{ONE_OF(HS_BLOB_NAME)},
	{ONE_OF(HS_BLOB_SIZE)},
	{ONE_OF(HS_BLOB_CODE_OFFSET, HS_BLOB_CODE_BEGIN)},
	{ONE_OF(HS_BLOB_DATA_OFFSET, HS_BLOB_CODE_END)},
	{ONE_OF(HS_NMETHOD_METHOD, HS_COMPILED_METHOD)},
	{ONE_OF(HS_METHOD_CONST)},
	{ONE_OF(HS_CONST_POOL)},
	{ONE_OF(HS_CONST_NAME_INDEX)},
	{ONE_OF(HS_POOL_HOLDER)},
	{ONE_OF(HS_KLASS_NAME)},
	{ONE_OF(HS_SYMBOL_LENGTH, HS_SYMBOL_LENGTH_REFS)},
	{ONE_OF(HS_SYMBOL_BODY_0, HS_SYMBOL_BODY), .embedded = true},
};

/* What a snapshot needs to be whole: frames, inlined methods, interpreted ones. */
static const struct need needed_whole[] = {
	{ONE_OF(HS_BLOB_FRAME_SIZE)},
	{ONE_OF(HS_BLOB_FRAME_COMPLETE)},
	{ONE_OF(HS_PC_OFFSET)},
	{ONE_OF(HS_PC_SCOPE)},
	{ONE_OF(HS_NMETHOD_SCOPES_PCS)},
	{ONE_OF(HS_NMETHOD_SCOPES_DATA, HS_COMPILED_SCOPES_DATA)},
	{ONE_OF(HS_NMETHOD_IMMUTABLE, HS_NMETHOD_DEPENDENCIES)},
	{ONE_OF(HS_BLOB_MUTABLE, HS_NMETHOD_METADATA)},
	{ONE_OF(HS_LOADERS, HS_KLASS_OBJECT)},
	{ONE_OF(HS_LOADER_KLASSES, HS_KLASS_OBJECT)},
	{ONE_OF(HS_KLASS_NEXT, HS_KLASS_OBJECT)},
	{ONE_OF(HS_KLASS_METHODS)},
	{ONE_OF(HS_METHOD_COUNTERS)},
	{ONE_OF(HS_CALL_STUB_RETURN)},
};

static bool is_met(const struct hs *hs, const struct need *need)
{
	for (unsigned i = 0; i < need->count; i++) {
		const struct hs_field *f = &hs->tables.field[need->one_of[i]];

		if (f->found && (f->width != 0 || need->embedded))
			return true;
	}
	return false;
}

/* NULL: all are met. */
static const struct need *first_unmet(const struct hs *hs, const struct need *needs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!is_met(hs, &needs[i]))
			return &needs[i];
	return NULL;
}

static bool sizes_known(const struct hs *hs)
{
	return hs->tables.size[HS_TYPE_HEAP_BLOCK] != 0 &&
	       hs->tables.size[HS_TYPE_HEAP_BLOCK] <= 64 &&
	       hs->tables.size[HS_TYPE_CONSTANT_POOL] != 0;
}

bool hs_tables_read(struct hs *hs)
{
	return hs_tables_load(hs) && sizes_known(hs) &&
	       !first_unmet(hs, needed, sizeof(needed) / sizeof(*needed));
}

bool hs_tables_whole(const struct hs *hs)
{
	return !first_unmet(hs, needed_whole, sizeof(needed_whole) / sizeof(*needed_whole)) &&
	       hs->tables.size[HS_TYPE_PC_DESC] != 0;
}

static void missing_add(char *buf, const char *text)
{
	size_t len = 0;

	while (buf[len])
		len++;
	for (; *text && len + 1 < HS_MISSING_MAX; text++)
		buf[len++] = *text;
	buf[len] = '\0';
}

bool hs_missing(const struct hs_source *source, void *work, char ret[HS_MISSING_MAX])
{
	const struct need *need;
	struct hs *hs = work;
	bool loaded;

	hs_mem_init(&hs->mem, source, NULL, 0);
	loaded = hs_tables_load(hs);
	need = first_unmet(hs, needed, sizeof(needed) / sizeof(*needed));
	if (loaded && !need && sizes_known(hs))
		need = first_unmet(hs, needed_whole, sizeof(needed_whole) / sizeof(*needed_whole));
	ret[0] = '\0';
	if (!loaded) {
		missing_add(ret, "gHotSpotVMStructs or gHotSpotVMTypes");
	} else if (need) {
		missing_add(ret, hs_field_type(need->one_of[0]));
		missing_add(ret, "::");
		missing_add(ret, hs_field_name(need->one_of[0]));
	} else if (!sizes_known(hs) || hs->tables.size[HS_TYPE_PC_DESC] == 0) {
		missing_add(ret, "the size of HeapBlock, ConstantPool or PcDesc");
	}
	return ret[0] != '\0';
}
