// SPDX-License-Identifier: Apache-2.0
#include "hotspot/tables.h"

#define ENTRIES_MAX 16384
#define STRIDE_MAX  256
#define TEXT_MAX    96
#define FLAGS_MAX   8192u

static const struct {
	const char *type, *field;
} wanted_field[HS_FIELD_COUNT] = {
#define X(id, type, field) [HS_##id] = {type, field},
	HS_FIELDS(X)
#undef X
};

static const char *const wanted_type[HS_TYPE_COUNT] = {
	[HS_TYPE_CODE_HEAP] = "CodeHeap",
	[HS_TYPE_HEAP_BLOCK] = "HeapBlock",
	[HS_TYPE_CONSTANT_POOL] = "ConstantPool",
	[HS_TYPE_PC_DESC] = "PcDesc",
	[HS_TYPE_CONST_METHOD] = "ConstMethod",
	[HS_TYPE_FLAG] = "JVMFlag",
	[HS_TYPE_FLAG_8] = "Flag",
};

/* The C type of each field as the table spells it; the table of types has its size. */
struct field_types {
	char text[HS_FIELD_COUNT][TEXT_MAX];
};

/* Reads one of the gHotSpot… variables. */
static bool variable(struct hs *hs, const char *name, uint64_t *ret)
{
	const struct hs_source *source = hs->mem.source;
	uint64_t addr = source->symbol(source->symbol_arg, name);

	return addr != 0 && hs_mem_ptr(&hs->mem, addr, ret);
}

/* Reads the offset of a column in an entry. */
static bool column(struct hs *hs, const char *name, uint64_t stride, uint64_t *ret)
{
	return variable(hs, name, ret) && *ret < stride;
}

static bool text_at(struct hs *hs, uint64_t addr, char *buf)
{
	uint64_t text;

	buf[0] = '\0';
	return hs_mem_ptr(&hs->mem, addr, &text) && text != 0 &&
	       hs_mem_text(&hs->mem, text, buf, TEXT_MAX) > 0;
}

struct struct_columns {
	uint64_t array, stride, type, field, type_text, is_static, offset, address;
};

static bool struct_columns_read(struct hs *hs, struct struct_columns *c)
{
	return variable(hs, "gHotSpotVMStructs", &c->array) && c->array != 0 &&
	       variable(hs, "gHotSpotVMStructEntryArrayStride", &c->stride) && c->stride != 0 &&
	       c->stride <= STRIDE_MAX &&
	       column(hs, "gHotSpotVMStructEntryTypeNameOffset", c->stride, &c->type) &&
	       column(hs, "gHotSpotVMStructEntryFieldNameOffset", c->stride, &c->field) &&
	       column(hs, "gHotSpotVMStructEntryTypeStringOffset", c->stride, &c->type_text) &&
	       column(hs, "gHotSpotVMStructEntryIsStaticOffset", c->stride, &c->is_static) &&
	       column(hs, "gHotSpotVMStructEntryOffsetOffset", c->stride, &c->offset) &&
	       column(hs, "gHotSpotVMStructEntryAddressOffset", c->stride, &c->address);
}

static void struct_entry_read(struct hs *hs, const struct struct_columns *c, uint64_t entry,
			      enum hs_field_id id, struct field_types *types)
{
	struct hs_field *f = &hs->tables.field[id];
	uint32_t is_static;

	if (!hs_mem_read(&hs->mem, entry + c->is_static, &is_static, sizeof(is_static)) ||
	    !hs_mem_ptr(&hs->mem, entry + (is_static ? c->address : c->offset), &f->place))
		return;
	text_at(hs, entry + c->type_text, types->text[id]);
	/* No object is that large, and no static field is at 0. */
	f->found = is_static ? f->place != 0 : f->place < 4096;
}

static bool structs_read(struct hs *hs, struct field_types *types)
{
	char type[TEXT_MAX], field[TEXT_MAX];
	struct struct_columns c;

	if (!struct_columns_read(hs, &c))
		return false;
	for (unsigned i = 0; i < ENTRIES_MAX; i++) {
		uint64_t entry = c.array + i * c.stride;

		/* The last entry has no names. */
		if (!text_at(hs, entry + c.type, type) || !text_at(hs, entry + c.field, field))
			return true;
		for (unsigned id = 0; id < HS_FIELD_COUNT; id++)
			if (!hs->tables.field[id].found &&
			    hs_text_is(field, wanted_field[id].field) &&
			    hs_text_is(type, wanted_field[id].type))
				struct_entry_read(hs, &c, entry, (enum hs_field_id)id, types);
	}
	return false;
}

static const char *skip_word(const char *type, const char *word)
{
	size_t i = 0;

	while (word[i] && type[i] == word[i])
		i++;
	return word[i] ? type : type + i;
}

static const char *skip_qualifier(const char *type)
{
	return skip_word(skip_word(type, "volatile "), "const ");
}

static void width_set(struct hs_field *f, uint64_t size)
{
	if (size == 1 || size == 2 || size == 4 || size == 8)
		f->width = (uint8_t)size;
}

static bool types_read(struct hs *hs, const struct field_types *types)
{
	uint64_t array, stride, name, size_at, size;
	char type[TEXT_MAX];

	if (!variable(hs, "gHotSpotVMTypes", &array) || array == 0 ||
	    !variable(hs, "gHotSpotVMTypeEntryArrayStride", &stride) || stride == 0 ||
	    stride > STRIDE_MAX ||
	    !column(hs, "gHotSpotVMTypeEntryTypeNameOffset", stride, &name) ||
	    !column(hs, "gHotSpotVMTypeEntrySizeOffset", stride, &size_at))
		return false;
	for (unsigned i = 0; i < ENTRIES_MAX; i++) {
		uint64_t entry = array + i * stride;

		if (!text_at(hs, entry + name, type))
			return true;
		if (!hs_mem_ptr(&hs->mem, entry + size_at, &size))
			return false;
		for (unsigned t = 0; t < HS_TYPE_COUNT; t++)
			if (hs_text_is(type, wanted_type[t]))
				hs->tables.size[t] = size;
		for (unsigned id = 0; id < HS_FIELD_COUNT; id++)
			if (hs_text_is(type, skip_qualifier(types->text[id])))
				width_set(&hs->tables.field[id], size);
	}
	return false;
}

/* Not listed are all pointer types, which have the same size, and "signed char" (JDK 9 to 26). */
static void widths_add(struct hs *hs, const struct field_types *types)
{
	for (unsigned id = 0; id < HS_FIELD_COUNT; id++) {
		const char *text = types->text[id];
		size_t len = 0;

		while (text[len])
			len++;
		if (len > 0 && text[len - 1] == '*')
			hs->tables.field[id].width = 8;
		else if (hs_text_is(skip_qualifier(text), "signed char"))
			hs->tables.field[id].width = 1;
	}
}

/* Reads the tables, whatever they have. */
static bool tables_load(struct hs *hs)
{
	struct field_types types;

	hs->tables = (struct hs_tables){0};
	for (unsigned id = 0; id < HS_FIELD_COUNT; id++)
		types.text[id][0] = '\0';
	if (!structs_read(hs, &types) || !types_read(hs, &types))
		return false;
	widths_add(hs, &types);
	return true;
}

bool hs_get(struct hs *hs, uint64_t object, enum hs_field_id id, uint64_t *ret)
{
	const struct hs_field *f = &hs->tables.field[id];
	uint64_t value = 0;

	/* Little-endian targets only. */
	if (!f->found || f->width == 0 ||
	    !hs_mem_read(&hs->mem, object + f->place, &value, f->width))
		return false;
	*ret = value;
	return true;
}

bool hs_get_signed(struct hs *hs, uint64_t object, enum hs_field_id id, int64_t *ret)
{
	unsigned bits = 64 - 8u * hs->tables.field[id].width;
	uint64_t value;

	if (!hs_get(hs, object, id, &value))
		return false;
	*ret = (int64_t)(value << bits) >> bits;
	return true;
}

bool hs_constant(struct hs *hs, const char *name, int32_t *ret)
{
	uint64_t array, stride, name_at, value_at;
	char text[TEXT_MAX];

	if (!variable(hs, "gHotSpotVMIntConstants", &array) || array == 0 ||
	    !variable(hs, "gHotSpotVMIntConstantEntryArrayStride", &stride) || stride == 0 ||
	    stride > STRIDE_MAX ||
	    !column(hs, "gHotSpotVMIntConstantEntryNameOffset", stride, &name_at) ||
	    !column(hs, "gHotSpotVMIntConstantEntryValueOffset", stride, &value_at))
		return false;
	for (unsigned i = 0; i < ENTRIES_MAX; i++) {
		uint64_t entry = array + i * stride;

		if (!text_at(hs, entry + name_at, text))
			return false;
		if (hs_text_is(text, name))
			return hs_mem_read(&hs->mem, entry + value_at, ret, sizeof(*ret));
	}
	return false;
}

/* ---- what a dump requires ---- */

/* At least one of these fields, the newest release's first. An embedded object or array has no
 * width. */
struct need {
	unsigned count;
	enum hs_field_id one_of[3];
	bool embedded;
};
#define ONE_OF(...)                                                                                \
	.count = sizeof((enum hs_field_id[]){__VA_ARGS__}) / sizeof(enum hs_field_id),             \
	.one_of = {__VA_ARGS__}
#define ALL(array) sizeof(array) / sizeof(*(array))

/* Required for any dump. */
static const struct need needed_always[] = {
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

/* Required for a whole snapshot: frames, inlined and interpreted methods. */
static const struct need needed_for_whole[] = {
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
	return tables_load(hs) && sizes_known(hs) &&
	       !first_unmet(hs, needed_always, ALL(needed_always));
}

bool hs_tables_whole(const struct hs *hs)
{
	return !first_unmet(hs, needed_for_whole, ALL(needed_for_whole)) &&
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
	loaded = tables_load(hs);
	need = first_unmet(hs, needed_always, ALL(needed_always));
	if (loaded && !need && sizes_known(hs))
		need = first_unmet(hs, needed_for_whole, ALL(needed_for_whole));
	ret[0] = '\0';
	if (!loaded) {
		missing_add(ret, "gHotSpotVMStructs or gHotSpotVMTypes");
	} else if (need) {
		missing_add(ret, wanted_field[need->one_of[0]].type);
		missing_add(ret, "::");
		missing_add(ret, wanted_field[need->one_of[0]].field);
	} else if (!sizes_known(hs) || hs->tables.size[HS_TYPE_PC_DESC] == 0) {
		missing_add(ret, "the size of HeapBlock, ConstantPool or PcDesc");
	}
	return ret[0] != '\0';
}

/* ---- flags ---- */

struct flag_table {
	uint64_t array, count, stride, name, addr;
};

static bool flags_read(struct hs *hs, struct flag_table *f)
{
	bool old = !hs_has(hs, HS_FLAGS);
	enum hs_field_id array = old ? HS_FLAGS_8 : HS_FLAGS;
	enum hs_field_id count = old ? HS_FLAG_COUNT_8 : HS_FLAG_COUNT;
	enum hs_field_id name = old ? HS_FLAG_NAME_8 : HS_FLAG_NAME;
	enum hs_field_id addr = old ? HS_FLAG_ADDR_8 : HS_FLAG_ADDR;

	/* numFlags is a size_t, a type that not every release lists. */
	if (!hs_has(hs, name) || !hs_has(hs, addr) || !hs_has(hs, count) ||
	    !hs_get(hs, 0, array, &f->array) || f->array == 0 ||
	    !hs_mem_ptr(&hs->mem, hs_inside(hs, 0, count), &f->count) || f->count > FLAGS_MAX)
		return false;
	f->stride = hs->tables.size[old ? HS_TYPE_FLAG_8 : HS_TYPE_FLAG];
	f->name = hs->tables.field[name].place;
	f->addr = hs->tables.field[addr].place;
	return f->stride > 0 && f->stride <= STRIDE_MAX;
}

bool hs_flag(struct hs *hs, const char *name, uint64_t *ret_addr, uint8_t *ret_value)
{
	char text[TEXT_MAX];
	struct flag_table f;

	if (!flags_read(hs, &f))
		return false;
	for (uint64_t i = 0; i < f.count; i++) {
		uint64_t flag = f.array + i * f.stride, at;

		/* The last entry has no name. */
		if (!hs_mem_ptr(&hs->mem, flag + f.name, &at) || at == 0 ||
		    hs_mem_text(&hs->mem, at, text, sizeof(text)) <= 0 || !hs_text_is(text, name))
			continue;
		if (!hs_mem_ptr(&hs->mem, flag + f.addr, &at) || at == 0 ||
		    !hs_mem_read(&hs->mem, at, ret_value, 1))
			return false;
		*ret_addr = at;
		return true;
	}
	return false;
}

bool hs_flag_is_set(struct hs *hs, const char *name)
{
	uint64_t addr;
	uint8_t value;

	return hs_flag(hs, name, &addr, &value) && value != 0;
}

bool hs_find_flag(const struct hs_source *source, void *work, const char *name, uint64_t *ret_addr,
		  uint8_t *ret_value)
{
	struct hs *hs = work;

	_Static_assert(sizeof(*hs) <= HS_WORK_BYTES, "the work memory holds a reader");
	hs_mem_init(&hs->mem, source, NULL, 0);
	return hs_tables_read(hs) && hs_flag(hs, name, ret_addr, ret_value);
}
