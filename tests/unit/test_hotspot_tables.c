// SPDX-License-Identifier: Apache-2.0
/* The tables of a HotSpot: shapes that are refused, widths of fields, numbers, constants, flags. */
#include "hotspot/tables.h"
#include "lib/hsimage.h"
#include "lib/tap.h"

enum { STRUCTS, STRUCT_STRIDE, TYPES = 8, TYPE_STRIDE, TYPE_NAME, TYPE_SIZE, CONSTANTS };

static struct image im;
static struct hs *hs;

static void start(void)
{
	static struct hs_source source;

	source = image_source(&im);
	hs_mem_init(&hs->mem, &source, NULL, 0);
}

static bool tables(void)
{
	start();
	return hs_tables_read(hs);
}

/* Gives one of the gHotSpot... variables another value. */
static void variable_set(unsigned i, uint64_t value)
{
	image_set(&im, im.symbol[i].addr, value, 8);
}

static void test_variables(void)
{
	for (unsigned i = 0; i < CONSTANTS; i++) {
		const char *name;
		bool is_column = i > STRUCT_STRIDE && i != TYPES && i != TYPE_STRIDE;

		image_build(&im, IMAGE_17);
		name = im.symbol[i].name;
		im.symbol[i].addr = 0;
		ok(!tables(), "tables without %s are refused", name);
		image_build(&im, IMAGE_17);
		variable_set(i, is_column ? i < TYPES ? IM_STRIDE : IM_TYPE_STRIDE : 0);
		ok(!tables(), "tables are refused whose %s is %s", name,
		   is_column ? "as large as an entry" : "0");
	}
	image_build(&im, IMAGE_17);
	ok(tables(), "tables that have all are read");
	ok(!hs_tables_whole(hs), "they are not whole without what a snapshot requires");
}

static void strides_widen(unsigned variable, uint64_t *table, uint64_t old, uint64_t stride)
{
	uint64_t wide = image_new(&im, 40 * 260);

	for (unsigned i = 0; i < (variable == TYPE_STRIDE ? 16 : 40); i++)
		memcpy(image_at(&im, wide + i * stride), image_at(&im, *table + i * old), old);
	*table = wide;
	variable_set(variable - 1, wide);
	variable_set(variable, stride);
}

static void test_strides(void)
{
	static const struct {
		uint64_t stride;
		bool good;
	} row[] = {{256, true}, {257, false}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const char *verb = row[i].good ? "are read" : "are refused";

		image_build(&im, IMAGE_17);
		strides_widen(STRUCT_STRIDE, &im.structs, IM_STRIDE, row[i].stride);
		is_int(tables(), row[i].good, "fields of %d bytes each %s", (int)row[i].stride,
		       verb);
		image_build(&im, IMAGE_17);
		strides_widen(TYPE_STRIDE, &im.types, IM_TYPE_STRIDE, row[i].stride);
		is_int(tables(), row[i].good, "types of %d bytes each %s", (int)row[i].stride,
		       verb);
	}
}

static unsigned fields_count(void)
{
	uint64_t name;
	unsigned n = 0;

	do
		memcpy(&name, image_at(&im, im.structs + n++ * IM_STRIDE + IM_FIELD), 8);
	while (name);
	return n - 1;
}

static void type_add(unsigned i, const char *name, uint64_t size)
{
	image_set(&im, im.types + i * IM_TYPE_STRIDE + IM_TYPE_NAME, image_text(&im, name), 8);
	image_set(&im, im.types + i * IM_TYPE_STRIDE + IM_TYPE_SIZE, size, 8);
}

static void test_widths(void)
{
	static const struct {
		enum hs_field_id id;
		uint64_t place;
		int width;
		const char *what;
	} row[] = {
		{HS_HEAP_MEMORY, 40, 0, "an embedded object"},
		{HS_HEAP_SHIFT, 12, 4, "an int"},
		{HS_SPACE_LOW, 32, 8, "a char*"},
		{HS_BLOCK_LENGTH, 8, 8, "a size_t"},
		{HS_BLOCK_USED, 3, 1, "a bool"},
		{HS_BLOB_NAME, 16, 8, "a const char*"},
		{HS_CONST_NAME_INDEX, 42, 2, "a u2"},
		{HS_SYMBOL_LENGTH_REFS, 4, 4, "a volatile uint"},
		{HS_SYMBOL_BODY_0, 9, 0, "a field without a type"},
	};

	image_build(&im, IMAGE_17);
	tables();
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct hs_field *f = &hs->tables.field[row[i].id];

		ok(f->found, "%s is found", row[i].what);
		is_int(f->place, row[i].place, "%s is where the table says", row[i].what);
		is_int(f->width, row[i].width, "%s has its width", row[i].what);
	}
	ok(!hs_has(hs, HS_CODE_CACHE_HEAP), "a field of another release is not found");
}

/* The types of a field as releases have spelt them. */
static void test_qualifiers(void)
{
	static const struct {
		const char *text;
		int width;
	} row[] = {{"volatile int", 4},
		   {"const int", 4},
		   {"volatile const int", 4},
		   {"volatileint", 0},
		   {"volatile ", 0},
		   {"three", 0},
		   {"sixteen", 0},
		   {"one", 1},
		   {"two", 2},
		   {"eight", 8},
		   {"volatile", 0},
		   {"unknown", 0},
		   {"volatile signed char", 1},
		   {"signed char", 1},
		   {"unknown*", 8},
		   {"*unknown", 0},
		   {"*", 8}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct image_field f = {"nmethod", "_state", row[i].text, 66, false};

		image_build(&im, IMAGE_17);
		type_add(11, "three", 3);
		type_add(12, "sixteen", 16);
		type_add(13, "one", 1);
		type_add(14, "two", 2);
		type_add(15, "eight", 8);
		image_add_field(&im, fields_count(), &f);
		tables();
		is_int(hs->tables.field[HS_NMETHOD_STATE].width, row[i].width,
		       "a field of type '%s' has the width %d", row[i].text, row[i].width);
	}
}

static void test_places(void)
{
	static const struct {
		uint64_t place;
		bool is_static, found;
	} row[] = {{0, false, true}, {4095, false, true}, {4096, false, false},
		   {0, true, false}, {1, true, true},	  {1 << 20, true, true}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct image_field f = {"nmethod", "_state", "int", row[i].place,
					      row[i].is_static};

		image_build(&im, IMAGE_17);
		image_add_field(&im, fields_count(), &f);
		tables();
		is_int(hs_has(hs, HS_NMETHOD_STATE), row[i].found, "a %s field at %d is %s",
		       row[i].is_static ? "static" : "member", (int)row[i].place,
		       row[i].found ? "found" : "not believed");
	}
}

static void test_sizes(void)
{
	static const struct {
		unsigned type;
		uint64_t size;
		bool good;
	} row[] = {{8, 0, false},  {8, 1, true},  {8, 64, true},
		   {8, 65, false}, {9, 0, false}, {9, 4096, true}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		image_build(&im, IMAGE_17);
		image_set(&im, im.types + row[i].type * IM_TYPE_STRIDE + IM_TYPE_SIZE, row[i].size,
			  8);
		is_int(tables(), row[i].good, "a %s of %d bytes is %s",
		       row[i].type == 8 ? "HeapBlock" : "ConstantPool", (int)row[i].size,
		       row[i].good ? "read" : "refused");
	}
}

static void test_numbers(void)
{
	uint64_t at, value = 0;
	int64_t number = 0;

	image_build(&im, IMAGE_17);
	tables();
	at = image_new(&im, 256);
	image_set(&im, at + 12, 0xfffffffe, 8);
	ok(hs_get(hs, at, HS_HEAP_SHIFT, &value), "a number of four bytes is read");
	is_int(value, 0xfffffffe, "a number without a sign has none");
	ok(hs_get_signed(hs, at, HS_HEAP_SHIFT, &number), "a number with a sign is read");
	is_int(number, -2, "its sign is that of its width");
	ok(!hs_get(hs, at, HS_HEAP_MEMORY, &value), "an embedded object is no number");
	ok(!hs_get(hs, at, HS_CODE_CACHE_HEAP, &value), "a field that is missing is no number");
	ok(!hs_get(hs, 64, HS_HEAP_SHIFT, &value), "a number in a hole is not read");
	ok(!hs_get_signed(hs, 64, HS_HEAP_SHIFT, &number), "nor is one with a sign");
	is_int(value, 0xfffffffe, "what is not read leaves the result alone");
}

static void test_constants(void)
{
	int32_t value = 0;
	uint64_t table;

	image_build(&im, IMAGE_17);
	start();
	ok(!hs_constant(hs, "second", &value), "without a table there are no constants");
	table = image_new(&im, 3 * 48);
	image_set(&im, table + 24, image_text(&im, "first"), 8);
	image_set(&im, table + 12, 41, 4);
	image_set(&im, table + 48 + 24, image_text(&im, "second"), 8);
	image_set(&im, table + 48 + 12, (uint32_t)-42, 4);
	image_variable(&im, "gHotSpotVMIntConstants", table);
	image_variable(&im, "gHotSpotVMIntConstantEntryArrayStride", 48);
	image_variable(&im, "gHotSpotVMIntConstantEntryNameOffset", 24);
	image_variable(&im, "gHotSpotVMIntConstantEntryValueOffset", 12);
	start();
	ok(hs_constant(hs, "first", &value) && value == 41, "the first constant is read");
	ok(hs_constant(hs, "second", &value) && value == -42, "a negative constant is read");
	ok(!hs_constant(hs, "secon", &value), "a constant that is not listed is not read");
	for (unsigned i = 0; i < 4; i++) {
		uint64_t old;

		memcpy(&old, image_at(&im, im.symbol[CONSTANTS + i].addr), 8);
		variable_set(CONSTANTS + i, i < 2 ? 0 : 48);
		start();
		ok(!hs_constant(hs, "first", &value), "a table of constants is refused for its %s",
		   im.symbol[CONSTANTS + i].name);
		variable_set(CONSTANTS + i, old);
	}
}

/* The last entry's name is the end of the memory. */
static void test_hole(void)
{
	uint64_t at = IMAGE_BASE + IMAGE_BYTES - 11 * IM_TYPE_STRIDE - IM_TYPE_NAME - 8;

	image_build(&im, IMAGE_17);
	memcpy(image_at(&im, at), image_at(&im, im.types), 11 * IM_TYPE_STRIDE);
	im.types = at;
	variable_set(TYPES, at);
	ok(tables(), "types up to the end of the memory are read");
	image_set(&im, at + 11 * IM_TYPE_STRIDE + IM_TYPE_NAME, image_text(&im, "long"), 8);
	ok(!tables(), "a type whose size is in a hole makes the tables invalid");
}

static void flags_make(const char *type, uint64_t size)
{
	uint64_t table = image_new(&im, 3 * 48), at = image_new(&im, 8), on = image_new(&im, 1);
	const struct image_field fields[] = {{type, "flags", "JVMFlag*", at, true},
					     {type, "numFlags", "size_t", image_new(&im, 8), true},
					     {type, "_name", "const char*", 8, false},
					     {type, "_addr", "void*", 32, false}};

	image_set(&im, at, table, 8);
	image_set(&im, fields[1].offset, 3, 8);
	image_set(&im, table + 8, image_text(&im, "UseLess"), 8);
	image_set(&im, table + 32, image_new(&im, 1), 8);
	image_set(&im, table + 48 + 8, image_text(&im, "UseMore"), 8);
	image_set(&im, table + 48 + 32, on, 8);
	image_set(&im, on, 1, 1);
	type_add(11, type, size);
	image_add_fields(&im, fields_count(), fields, 4);
}

static void test_flags(void)
{
	static const struct {
		const char *type;
		uint64_t size;
		bool good;
	} row[] = {{"JVMFlag", 48, true},
		   {"Flag", 48, true},
		   {"JVMFlag", 0, false},
		   {"JVMFlag", 257, false}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct hs_source source = image_source(&im);
		uint64_t at = 0;
		uint8_t value = 7;

		image_build(&im, IMAGE_17);
		flags_make(row[i].type, row[i].size);
		tables();
		is_int(hs_flag_is_set(hs, "UseMore"), row[i].good, "%s of %d bytes: a flag is set",
		       row[i].type, (int)row[i].size);
		ok(!hs_flag_is_set(hs, "UseLess"), "a flag of value 0 is not set");
		ok(!hs_flag_is_set(hs, "UseMor"), "a flag that is not listed is not set");
		is_int(hs_find_flag(&source, hs, "UseLess", &at, &value), row[i].good,
		       "%s of %d bytes: a flag is found", row[i].type, (int)row[i].size);
		is_int(value, row[i].good ? 0 : 7, "its value is read where it is found");
		is_int(at != 0, row[i].good, "its address is given where it is found");
	}
}

int main(void)
{
	hs = aligned_alloc(4096, HS_WORK_BYTES);
	test_variables();
	test_strides();
	test_widths();
	test_qualifiers();
	test_places();
	test_sizes();
	test_numbers();
	test_constants();
	test_hole();
	test_flags();
	free(hs);
	return tap_done();
}
