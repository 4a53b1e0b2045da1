// SPDX-License-Identifier: Apache-2.0
/* Compiled methods: their handlers and entries, where their debug information is, and its scopes.
 */
#include "hotspot/nmethod.h"

#include "common/str.h"
#include "lib/hsfields.h"
#include "lib/tap.h"

static struct snap_image s;
static struct hs *hs;
static struct hs_blob blob;
static struct hs_debug_buffer *buffer;
static struct hs_debug debug;
static struct hs_scopes *scopes;
static uint8_t window[8192];

#define BLOB (s.im.block[0] + IM_HEADER)

/* Reads the blob's memory into the window. */
static void start(void)
{
	image_tables(&s.im, hs, window, sizeof(window));
	hs_mem_window(&hs->mem, BLOB, 4096);
	blob = (struct hs_blob){.start = BLOB,
				.size = (4u << IMAGE_SEG) - IM_HEADER,
				.code = BLOB + IM_BLOB,
				.code_end = BLOB + IM_BLOB + 100,
				.is_nmethod = true};
}

/* ---- numbers ---- */

static struct snap_code numbers(void)
{
	struct snap_code c = {.frame_size = 48};

	start();
	hs_nmethod_numbers(hs, &blob, &c);
	return c;
}

/* Returns the place of the deoptimisation handler's offset or address. */
static uint64_t deopt_at(void)
{
	return BLOB + (s.im.release == IMAGE_17 ? 168 : 108);
}

static void deopt_set(int64_t offset)
{
	if (s.im.release == IMAGE_17)
		image_set(&s.im, deopt_at(), BLOB + (uint64_t)offset, 8);
	else
		image_set(&s.im, deopt_at(), (uint64_t)offset, 4);
}

static void test_handlers(void)
{
	static const struct {
		int offset;
		uint32_t want;
		const char *what;
	} row[] = {{IM_BLOB, 0, "at its begin"},
		   {IM_BLOB + 99, 99, "at its last byte"},
		   {IM_BLOB - 1, SNAP_NONE, "before it"},
		   {IM_BLOB + 100, SNAP_NONE, "after it"},
		   {-1, SNAP_NONE, "nowhere"}};

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
			snap_image_build(&s, (enum image_release)r);
			deopt_set(row[i].offset);
			is_int(numbers().deopt, row[i].want, "layout %d: a handler %s is %s", r,
			       row[i].what, row[i].want == SNAP_NONE ? "none" : "found");
			is_int(numbers().orig_pc, row[i].want == SNAP_NONE ? SNAP_NONE : 8,
			       "layout %d: the original pc is there with a handler only", r);
		}
		is_int(numbers().deopt_mh, SNAP_NONE, "layout %d: the other handler is none", r);
	}
}

/* The fields of a handler as releases name them. */
static void test_handler_names(void)
{
	static const struct {
		enum image_release release;
		const char *type, *field, *c_type;
		bool mh;
	} row[] = {{IMAGE_8, "nmethod", "_deoptimize_mh_offset", "int", true},
		   {IMAGE_17, "CompiledMethod", "_deopt_mh_handler_begin", "address", true},
		   {IMAGE_25, "nmethod", "_deopt_mh_handler_offset", "int", true},
		   {IMAGE_25, "nmethod", "_deopt_handler_entry_offset", "int", false}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct image_field f = {row[i].type, row[i].field, row[i].c_type, 160, false};
		struct snap_code c;

		snap_image_build(&s, row[i].release);
		f.offset = row[i].release == IMAGE_17 ? 136 : 160;
		image_more_fields(&s.im, &f, 1);
		if (!row[i].mh)
			image_hide(&s.im, "nmethod", "_deopt_handler_offset");
		image_set(&s.im, BLOB + f.offset, (*row[i].c_type == 'a' ? BLOB : 0) + IM_BLOB + 33,
			  *row[i].c_type == 'a' ? 8 : 4);
		c = numbers();
		is_int(row[i].mh ? c.deopt_mh : c.deopt, 33, "%s::%s is a handler", row[i].type,
		       row[i].field);
	}
}

static void test_numbers(void)
{
	struct snap_code c;

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		snap_image_build(&s, (enum image_release)r);
		c = numbers();
		ok(c.level == 4 && c.compile_id == 77, "layout %d: code has a level and an id", r);
		image_set(&s.im, BLOB + 140, 5, 1);
		image_set(&s.im, BLOB + 144, 47, 4);
		c = numbers();
		is_int(c.level, 0, "layout %d: a level above 4 is unknown", r);
		is_int(c.orig_pc, 47, "layout %d: the original pc is in the frame", r);
		image_set(&s.im, BLOB + 144, 48, 4);
		is_int(numbers().orig_pc, SNAP_NONE, "layout %d: not after it", r);
	}
}

static uint32_t entry_of(int64_t offset)
{
	if (s.im.release == IMAGE_25)
		image_set(&s.im, BLOB + 32, (uint64_t)offset, 2);
	else
		image_set(&s.im, BLOB + 152, BLOB + IM_BLOB + (uint64_t)offset, 8);
	start();
	return hs_nmethod_entry(hs, &blob);
}

static void test_entries(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		snap_image_build(&s, (enum image_release)r);
		is_int(entry_of(2), 2, "layout %d: an entry after some bytes", r);
		is_int(entry_of(99), 99, "layout %d: an entry at the last byte", r);
		is_int(entry_of(100), 0, "layout %d: one after the code is unknown", r);
		is_int(entry_of(-1), 0, "layout %d: one before it, too", r);
		blob.start = 64;
		is_int(hs_nmethod_entry(hs, &blob), 0, "layout %d: so is one in a hole", r);
		entry_of(5);
		hs->tables.field[HS_NMETHOD_ENTRY].found = false;
		hs->tables.field[HS_NMETHOD_ENTRY_23].found = false;
		is_int(hs_nmethod_entry(hs, &blob), 0, "layout %d: or of no such field", r);
	}
}

/* ---- where debug information is ---- */

static bool read_debug(void)
{
	start();
	memset(&debug, 0xa5, sizeof(debug));
	return hs_debug_read(hs, &blob, buffer, &debug);
}

static void debug_is(const char *what)
{
	uint32_t pc;
	uint64_t method;

	is_int(debug.pc_count, SNAP_IM_PC_COUNT, "%s: all PcDescs are there", what);
	memcpy(&pc, debug.pcs + SNAP_IM_PC_DESC + 4, sizeof(pc));
	is_int(pc, 24, "%s: they are those of the method", what);
	ok(memcmp(debug.data + s.place[0], image_at(&s.im, s.scopes + s.place[0]), 8) == 0,
	   "%s: so are the scopes", what);
	memcpy(&method, debug.metadata, sizeof(method));
	is_int(method, s.run, "%s: and the metadata", what);
}

static void test_debug(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		char what[32];

		snprintf(what, sizeof(what), "layout %d", r);
		snap_image_build(&s, (enum image_release)r);
		ok(read_debug(), "%s: debug information is read", what);
		debug_is(what);
		is_int(debug.metadata_count, 3, "%s: of so many methods", what);
		is_int(debug.data_len, 40, "%s: with so many bytes", what);
	}
}

/* Bounds of what is in the blob, up to JDK 22. */
static void test_debug_inside(void)
{
	const uint32_t size = (4u << IMAGE_SEG) - IM_HEADER;
	const struct {
		unsigned at; /* metadata 0, pcs 4, dependencies 8, scopes 148 */
		uint32_t value;
		bool good;
		const char *what;
	} row[] = {
		{0, SNAP_IM_SCOPES, true, "without metadata"},
		{0, SNAP_IM_SCOPES + 1, false, "whose metadata begins after its end"},
		{148, SNAP_IM_PCS, true, "without scopes"},
		{148, SNAP_IM_PCS + 1, false, "whose scopes begin after their end"},
		{148, SNAP_IM_METADATA, true, "whose scopes begin with the metadata"},
		{8, SNAP_IM_PCS, true, "without PcDescs"},
		{8, SNAP_IM_PCS - 1, false, "whose PcDescs end before they begin"},
		{8, size, true, "whose PcDescs end with the blob"},
		{8, size + 1, false, "whose PcDescs end after it"},
		{4, 0xffffffff, false, "whose PcDescs are nowhere"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		snap_image_build(&s, IMAGE_8);
		image_set(&s.im, BLOB + row[i].at, row[i].value, 4);
		is_int(read_debug(), row[i].good, "a method %s is %s", row[i].what,
		       row[i].good ? "read" : "refused");
	}
	snap_image_build(&s, IMAGE_17);
	image_set(&s.im, BLOB + 160, BLOB - 1, 8);
	ok(!read_debug(), "scopes before the blob are refused");
	snap_image_build(&s, IMAGE_17);
	start();
	hs_mem_window(&hs->mem, BLOB, (size_t)blob.size);
	ok(hs_debug_read(hs, &blob, buffer, &debug), "a blob that is whole in the window is read");
	hs_mem_window(&hs->mem, BLOB, (size_t)blob.size - 1);
	ok(!hs_debug_read(hs, &blob, buffer, &debug), "one that is not is refused");
}

static void test_strides(void)
{
	static const struct {
		uint64_t stride;
		unsigned pc, place;
		bool good;
	} row[] = {{256, 4, 12, true}, {257, 4, 12, false}, {16, 4, 12, true}, {16, 13, 4, false},
		   {16, 4, 13, false}, {16, 12, 4, true},   {0, 0, 0, false},  {4, 0, 0, true}};

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
			snap_image_build(&s, (enum image_release)r);
			start();
			hs->tables.size[HS_TYPE_PC_DESC] = row[i].stride;
			hs->tables.field[HS_PC_OFFSET].place = row[i].pc;
			hs->tables.field[HS_PC_SCOPE].place = row[i].place;
			is_int(hs_debug_read(hs, &blob, buffer, &debug), row[i].good,
			       "layout %d: PcDescs of %d bytes with numbers at %u and %u are %s", r,
			       (int)row[i].stride, row[i].pc, row[i].place,
			       row[i].good ? "read" : "refused");
		}
		for (int i = 0; i < 2; i++) {
			start();
			hs->tables.field[i ? HS_PC_OFFSET : HS_PC_SCOPE].found = false;
			ok(!hs_debug_read(hs, &blob, buffer, &debug),
			   "layout %d: without PcDesc's fields none is read", r);
		}
	}
}

/* Bounds of what is outside of the blob, from JDK 23 on. */
static void test_debug_outside(void)
{
	const uint32_t pcs = 16, data = 16 + SNAP_IM_PC_COUNT * SNAP_IM_PC_DESC, size = data + 40;
	const struct {
		unsigned at; /* pcs 4, immutable size 104, scopes 148, relocations 92, mutable 88 */
		uint32_t value;
		bool good;
		const char *what;
		uint32_t count;
	} row[] = {
		{104, 0, true, "without immutable data", 0},
		{148, pcs, true, "without PcDescs", 0},
		{148, pcs - 1, false, "whose PcDescs end before they begin", 0},
		{148, size, true, "without scopes", 9},
		{148, size + 1, false, "whose PcDescs end after the data", 0},
		{104, data - 1, false, "whose data ends before the scopes", 0},
		{104, HS_IMMUTABLE_MAX + 1, false, "of more data than there is room for", 0},
		{92, 48, true, "without metadata", 7},
		{92, 49, false, "whose metadata ends before it begins", 0},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		snap_image_build(&s, IMAGE_25);
		image_set(&s.im, BLOB + row[i].at, row[i].value, 4);
		is_int(read_debug(), row[i].good, "a method %s is %s", row[i].what,
		       row[i].good ? "read" : "refused");
		if (row[i].good)
			is_int(debug.pc_count, row[i].count, "a method %s has %u PcDescs",
			       row[i].what, row[i].count);
	}
	snap_image_build(&s, IMAGE_25);
	image_set(&s.im, BLOB + 88, 24 + 8 * 8193, 4);
	ok(read_debug() && debug.metadata_count == HS_METADATA_MAX,
	   "of more metadata than there is room for the first is read");
	snap_image_build(&s, IMAGE_25);
	image_set(&s.im, BLOB + 80, 64, 8);
	ok(!read_debug(), "metadata in a hole is refused");
	image_set(&s.im, BLOB + 80, IMAGE_BASE + IMAGE_BYTES - 40, 8);
	ok(!read_debug(), "metadata that goes into one, too");
	image_set(&s.im, BLOB + 92, 48, 4);
	ok(read_debug(), "but none may be anywhere");
	image_hide(&s.im, "nmethod", "_immutable_data_size");
	ok(!read_debug(), "without the size of the data none is read");
}

/* JDK 23 and 24 have metadata in the blob, after the code. */
static void test_debug_23(void)
{
	const struct image_field f = {"nmethod", "_metadata_offset", "int", 132, false};
	const uint32_t left = (4u << IMAGE_SEG) - IM_HEADER - IM_BLOB - 100;

	snap_image_build(&s, IMAGE_25);
	image_hide(&s.im, "CodeBlob", "_mutable_data");
	image_more_fields(&s.im, &f, 1);
	image_set(&s.im, BLOB + 132, 12, 4);
	memcpy(image_at(&s.im, BLOB + IM_BLOB + 112), image_at(&s.im, s.metadata), 24);
	ok(read_debug(), "JDK 23: a method is read");
	debug_is("JDK 23");
	is_int(debug.metadata_count, (left - 12) / 8, "JDK 23: metadata goes on to the blob's end");
	image_set(&s.im, BLOB + 132, left, 4);
	ok(read_debug() && debug.metadata_count == 0, "JDK 23: a method may have none");
	image_set(&s.im, BLOB + 132, left + 1, 4);
	ok(!read_debug(), "JDK 23: none is after the blob");
	image_set(&s.im, BLOB + 132, 12, 4);
	start();
	hs_mem_window(&hs->mem, BLOB, (size_t)blob.size);
	ok(hs_debug_read(hs, &blob, buffer, &debug), "JDK 23: a blob that is whole is read");
	hs_mem_window(&hs->mem, BLOB, (size_t)blob.size - 1);
	ok(!hs_debug_read(hs, &blob, buffer, &debug), "JDK 23: a blob that is cut is refused");
	image_hide(&s.im, "nmethod", "_metadata_offset");
	ok(!read_debug(), "JDK 23: without the field none is read");
}

/* ---- scopes ---- */

struct pc {
	uint32_t pc, place;
};

/* The scopes as text, "[end method@bci<method@bci]", a method by its number; "invalid". */
static const char *scopes_of(const uint8_t *data, uint32_t len, const struct pc *pcs,
			     uint32_t count, const uint8_t *code)
{
	static const uint64_t metadata[] = {0x1000, 0x2000, 0x3000};
	static struct str text;
	struct hs_debug d = {.pcs = (const uint8_t *)pcs,
			     .pc_count = count,
			     .data = data,
			     .data_len = len,
			     .metadata = (const uint8_t *)metadata,
			     .metadata_count = 3,
			     .code = code,
			     .code_size = 100};

	str_clear(&text);
	str_adds(&text, "");
	if (!hs_scopes_read(hs, scopes, &d))
		return scopes->scope_count || scopes->region_count ? "left over" : "invalid";
	for (uint32_t i = 0; i < scopes->region_count; i++) {
		str_addf(&text, "[%u", scopes->region[i].end);
		for (uint32_t n = scopes->region[i].scope; n != SNAP_NONE;
		     n = scopes->scope[n].parent)
			str_addf(&text, " %u@%d", (unsigned)(scopes->scope[n].method >> 12),
				 scopes->scope[n].bci);
		str_adds(&text, "]");
	}
	return text.buf;
}

/* Sender, method, bci + 1, locals, stack, monitors: the places are 1, 7, 13 and 19. */
static const uint8_t nested[] = {0, 0, 1, 5, 0, 0, 0, 1, 2, 8, 1, 0, 0,
				 7, 3, 0, 0, 1, 0, 1, 2, 8, 0, 0, 1};
#define NESTED	  nested, sizeof(nested)
#define LIST(...) (const struct pc[]){__VA_ARGS__}, sizeof((const struct pc[]){__VA_ARGS__}) / 8
#define PCS(...)  LIST(__VA_ARGS__, {101, 0}) /* with the sentinel at the end */

static void test_scopes(void)
{
	start();
	hs->tables.size[HS_TYPE_PC_DESC] = 8;
	hs->tables.field[HS_PC_OFFSET].place = 0;
	hs->tables.field[HS_PC_SCOPE].place = 4;
	hs_mem_drop_pages(&hs->mem);
	is_str(scopes_of(NESTED, PCS({10, 1}, {20, 7}, {30, 13}), NULL),
	       "[10 1@4][20 2@7 1@4][30 3@-1 2@7 1@4]", "scopes are inlined into others");
	is_int(scopes->scope_count, 3, "each is there once");
	is_int(scopes->places, 3, "places are counted");
	is_int(scopes->plain, 1, "as are those that describe nothing");
	is_str(scopes_of(NESTED, PCS({10, 13}, {20, 1}), NULL), "[10 3@-1 2@7 1@4][20 1@4]",
	       "an inner scope may come first");
	is_str(scopes_of(NESTED, PCS({10, 7}, {20, 19}), NULL), "[20 2@7 1@4]",
	       "regions of one scope are joined, wherever it is described");
	is_str(scopes_of(NESTED, PCS({0, 7}, {10, 0}, {20, 1}, {100, 0}, {101, 7}), NULL),
	       "[10][20 1@4][100]", "what is outside of the code does not count");
	is_str(scopes_of(NESTED, PCS({20, 1}, {20, 7}), NULL), "invalid", "two ends are not one");
	is_str(scopes_of(NESTED, PCS({20, 1}, {19, 7}), NULL), "invalid", "ends ascend");
	is_str(scopes_of(NESTED, PCS({20, 25}), NULL), "invalid", "a place is in the data");
	is_str(scopes_of(NESTED, PCS({20, 23}), NULL), "invalid", "with all of its numbers");
	is_str(scopes_of(NESTED, LIST({20, 1}), NULL), "invalid", "the last PcDesc is a sentinel");
	is_str(scopes_of(NESTED, LIST({0, 0}, {0, 0}), NULL), "invalid",
	       "which code that is being made lacks");
	is_str(scopes_of(NESTED, LIST({0, 0}, {101, 0}), NULL), "",
	       "small code has only sentinels");
	is_str(scopes_of(NESTED, PCS({20, 1}), NULL), "[20 1@4]", "after that others are read");
}

static void test_joins(void)
{
	uint8_t code[100] = {0};

#if defined(__aarch64__)
	memcpy(code + 8, &(uint32_t){0x94000040}, 4);
#else
	code[7] = 0xe8;
#endif
	is_str(scopes_of(NESTED, PCS({12, 1}, {20, 1}), code), "[12 1@4][20 1@4]",
	       "the end of a call is kept");
	is_str(scopes_of(NESTED, PCS({16, 1}, {20, 1}), code), "[20 1@4]", "others are not");
	is_str(scopes_of(NESTED, PCS({12, 1}, {20, 1}), NULL), "[20 1@4]",
	       "nor is any without the code");
}

static void test_frames(void)
{
	static const struct {
		uint8_t data[8];
		const char *want, *what;
	} row[] = {
		{{0, 0, 1, 1, 1}, "[10 1@0]", "at the first bytecode"},
		{{0, 0, 3, 0, 1}, "[10 3@-1]", "of the last method, at its entry"},
		{{0, 0, 4, 1, 1}, "[10 0@0]", "of a method after the metadata"},
		{{0, 0, 0, 1, 1}, "[10 0@0]", "of no method"},
		{{0, 1, 1, 1, 1}, "invalid", "that is its own sender"},
		{{0, 2, 1, 1, 1}, "invalid", "whose sender comes later"},
		{{0, 0, 1, 192, 191}, "[10 1@12415]", "at a large bytecode"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		is_str(scopes_of(row[i].data, 8, PCS({10, 1}), NULL), row[i].want,
		       "a scope %s is %s", row[i].what, *row[i].want == '[' ? "read" : "refused");
	/* 65535 + 1 and 65536 + 1, packed */
	is_str(scopes_of((const uint8_t[]){0, 0, 1, 192, 253, 12}, 6, PCS({10, 1}), NULL),
	       "[10 1@65535]", "the last bytecode is one");
	is_str(scopes_of((const uint8_t[]){0, 0, 1, 193, 253, 12}, 6, PCS({10, 1}), NULL),
	       "invalid", "one after it is none");
}

/* Each scope is inlined into the one before it; each is 6 bytes from place 1 on. */
static void test_depth(void)
{
	uint8_t *data = calloc(1, 8 * 600);
	uint32_t at = 1, place = 0, place_512 = 0;

	for (unsigned i = 0; i < 513; i++) {
		uint32_t sender = place, start_at = at;

		/* A sender of two bytes is at most 192 + 63 * 64 + 63. */
		if (sender >= 192) {
			data[at++] = (uint8_t)(192 + (sender - 192) % 64);
			data[at++] = (uint8_t)((sender - 192) / 64);
		} else {
			data[at++] = (uint8_t)sender;
		}
		data[at++] = 1;
		data[at++] = (uint8_t)(1 + i % 100);
		place = start_at;
		if (i == 511)
			place_512 = place;
	}
	ok(*scopes_of(data, at, PCS({10, place_512}), NULL) == '[', "512 scopes may be nested");
	is_int(scopes->scope_count, 512, "all of them are there");
	is_str(scopes_of(data, at, PCS({10, place}), NULL), "invalid", "but not one more");
	ok(*scopes_of(data, at, PCS({10, place_512}, {20, place}), NULL) == '[',
	   "unless the others are known");
	free(data);
}

int main(void)
{
	hs = aligned_alloc(4096, HS_WORK_BYTES);
	buffer = malloc(sizeof(*buffer));
	scopes = calloc(1, sizeof(*scopes));
	hs_scopes_init(scopes);
	test_handlers();
	test_handler_names();
	test_numbers();
	test_entries();
	test_debug();
	test_debug_inside();
	test_strides();
	test_debug_outside();
	test_debug_23();
	test_scopes();
	test_joins();
	test_frames();
	test_depth();
	free(hs);
	free(buffer);
	free(scopes);
	return tap_done();
}
