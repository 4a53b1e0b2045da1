// SPDX-License-Identifier: Apache-2.0
#include "hotspot/tables.h"

#define ENTRIES_MAX 16384
#define STRIDE_MAX  256
#define TEXT_MAX    96

static const struct {
	const char *type, *field;
} wanted_field[HS_FIELD_COUNT] = {
#define X(id, type, field) [HS_##id] = {type, field},
	HS_FIELDS(X)
#undef X
};

static const char *const wanted_type[HS_TYPE_COUNT] = {
	[HS_TYPE_HEAP_BLOCK] = "HeapBlock", [HS_TYPE_CONSTANT_POOL] = "ConstantPool",
	[HS_TYPE_PC_DESC] = "PcDesc",	    [HS_TYPE_CONST_METHOD] = "ConstMethod",
	[HS_TYPE_FLAG] = "JVMFlag",	    [HS_TYPE_FLAG_8] = "Flag",
};

/* The C type of each field found, as the table writes it: the types' table has its size. */
struct field_types {
	char text[HS_FIELD_COUNT][TEXT_MAX];
};

static bool text_is(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The value of one of the gHotSpot… variables. */
static bool variable(struct hs *hs, const char *name, uint64_t *ret)
{
	const struct hs_source *source = hs->mem.source;
	uint64_t addr = source->symbol(source->symbol_arg, name);

	return addr != 0 && hs_mem_ptr(&hs->mem, addr, ret);
}

/* The place of a column in an entry. */
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

static void struct_entry_take(struct hs *hs, const struct struct_columns *c, uint64_t entry,
			      enum hs_field_id id, struct field_types *types)
{
	struct hs_field *f = &hs->tables.field[id];
	uint32_t is_static;

	if (!hs_mem_read(&hs->mem, entry + c->is_static, &is_static, sizeof(is_static)) ||
	    !hs_mem_ptr(&hs->mem, entry + (is_static ? c->address : c->offset), &f->place))
		return;
	text_at(hs, entry + c->type_text, types->text[id]);
	/* An offset beyond any object is nonsense; so is a static field nowhere. */
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
			if (!hs->tables.field[id].found && text_is(field, wanted_field[id].field) &&
			    text_is(type, wanted_field[id].type))
				struct_entry_take(hs, &c, entry, (enum hs_field_id)id, types);
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
			if (text_is(type, wanted_type[t]))
				hs->tables.size[t] = size;
		for (unsigned id = 0; id < HS_FIELD_COUNT; id++)
			if (text_is(type, skip_qualifier(types->text[id])))
				width_set(&hs->tables.field[id], size);
	}
	return false;
}

/* Pointer types are not all listed as types; every one of them has the same size. */
static void pointers_set(struct hs *hs, const struct field_types *types)
{
	for (unsigned id = 0; id < HS_FIELD_COUNT; id++) {
		const char *text = types->text[id];
		size_t len = 0;

		while (text[len])
			len++;
		if (len > 0 && text[len - 1] == '*')
			hs->tables.field[id].width = 8;
	}
}

bool hs_tables_load(struct hs *hs)
{
	struct field_types types;

	hs->tables = (struct hs_tables){0};
	for (unsigned id = 0; id < HS_FIELD_COUNT; id++)
		types.text[id][0] = '\0';
	if (!structs_read(hs, &types) || !types_read(hs, &types))
		return false;
	pointers_set(hs, &types);
	return true;
}

const char *hs_field_type(enum hs_field_id id)
{
	return wanted_field[id].type;
}

const char *hs_field_name(enum hs_field_id id)
{
	return wanted_field[id].field;
}

bool hs_get(struct hs *hs, uint64_t object, enum hs_field_id id, uint64_t *ret)
{
	const struct hs_field *f = &hs->tables.field[id];
	uint64_t value = 0;

	/* Little-endian targets only, as all that HotSpot and perf share today. */
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
		if (text_is(text, name))
			return hs_mem_read(&hs->mem, entry + value_at, ret, sizeof(*ret));
	}
	return false;
}
