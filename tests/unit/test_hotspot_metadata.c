// SPDX-License-Identifier: Apache-2.0
/* Names, files, line numbers and fields as HotSpot's metadata has them, and as it cannot. */
#include "hotspot/metadata.h"

#include "dfg/request.h"
#include "lib/hsfields.h"
#include "lib/tap.h"

#define CLASS_MAX (DFG_NAME_MAX - 256) /* bytes of a class' name before its method's */

static struct snap_image s;
static struct hs *hs;
static char text[DFG_NAME_MAX + 1];

static void start(void)
{
	image_tables(&s.im, hs, NULL, 0);
}

static void build(enum image_release release)
{
	snap_image_build(&s, release);
	start();
}

static uint64_t pointer(uint64_t addr)
{
	return image_pointer(&s.im, addr);
}

static uint64_t const_method(void)
{
	return pointer(s.run + 24);
}

static uint64_t pool(void)
{
	return pointer(const_method() + 16);
}

static uint64_t klass(void)
{
	return pointer(pool() + 32);
}

static uint64_t entry(unsigned i)
{
	return pool() + IM_POOL_HEADER + i * 8;
}

static const char *name(void)
{
	size_t len;

	start();
	len = hs_method_name(hs, s.run, text);
	text[len] = '\0';
	return text;
}

/* ---- names ---- */

static void test_names(void)
{
	static const struct {
		const char *klass, *want;
	} row[] = {
		{"a/b/C", "a.b.C.run"},
		{"a+0x0", "a.0x0.run"},
		{"+0x0", "+0x0.run"},
		{"a+0x0123456789abcdef", "a.0x0123456789abcdef.run"},
		{"a+0x00123456789abcdef", "a+0x00123456789abcdef.run"},
		{"a+0xABCDEF9", "a.0xABCDEF9.run"},
		{"a+0x", "a+0x.run"},
		{"a+0xg", "a+0xg.run"},
		{"a+0xG", "a+0xG.run"},
		{"a+0x:", "a+0x:.run"},
		{"a+0x`", "a+0x`.run"},
		{"a+0x@", "a+0x@.run"},
		{"a+0y1", "a+0y1.run"},
		{"a+1x1", "a+1x1.run"},
		{"a-0x1", "a-0x1.run"},
		{"\x1f \x7e\x7f\x80", "? ~?\x80.run"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		build(i % IMAGE_RELEASES);
		image_set(&s.im, klass() + 88, image_symbol(&s.im, row[i].klass), 8);
		is_str(name(), row[i].want, "the method of a class called '%s' has its name",
		       row[i].klass);
	}
	build(IMAGE_17);
	image_set(&s.im, entry(5), image_symbol(&s.im, ""), 8);
	is_str(name(), "", "a method without a name has none");
	is_int(hs_method_name(hs, 0, text), 0, "no method has no name");
}

/* A text of `len` bytes that ends in `end`. */
static char *long_text(size_t len, const char *end)
{
	static char buf[2000];

	memset(buf, 'a', len);
	strcpy(buf + len - strlen(end), end);
	return buf;
}

static void test_long_names(void)
{
	static const struct {
		size_t len;
		const char *end, *what;
		size_t want;
	} row[] = {
		{CLASS_MAX, "", "as many bytes as there may be", CLASS_MAX},
		{CLASS_MAX, "\xc3\xa9", "as many, the last two a character", CLASS_MAX},
		{CLASS_MAX + 1, "", "one byte more", CLASS_MAX},
		{CLASS_MAX + 1, "\xc3\xa9", "a character of two at the end", CLASS_MAX - 1},
		{CLASS_MAX + 1, "\xe2\x82\xac", "one of three at the end", CLASS_MAX - 2},
		{CLASS_MAX + 2, "\xe2\x82\xac", "one of which a byte fits", CLASS_MAX - 1},
		{CLASS_MAX + 1, "\xf0\x9f\x98\x80", "one of four at the end", CLASS_MAX - 3},
	};
	size_t len;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		build(i % IMAGE_RELEASES);
		image_set(&s.im, klass() + 88,
			  image_symbol(&s.im, long_text(row[i].len, row[i].end)), 8);
		len = strlen(name());
		is_int(len, row[i].want + strlen(".run"), "a class of %s is cut to its length",
		       row[i].what);
	}
	image_set(&s.im, entry(5), image_symbol(&s.im, long_text(1500, "")), 8);
	is_int(strlen(name()), DFG_NAME_MAX, "class and method have no more than the limit");
	len = hs_blob_name(long_text(DFG_NAME_MAX, ".\n"), text);
	ok(len == DFG_NAME_MAX && memcmp(text + len - 3, "a_?", 3) == 0,
	   "code's own name has '_' for '.', and no control bytes");
	is_int(hs_blob_name(long_text(1500, ""), text), DFG_NAME_MAX,
	       "nor has it more than the limit");
}

static void test_bad_names(void)
{
	const struct {
		uint64_t at, value;
		size_t width;
		const char *what;
	} row[] = {
		{s.run + 24, 64, 8, "its constants in a hole"},
		{const_method() + 16, 64, 8, "a pool in a hole"},
		{const_method() + 42, 8, 2, "a name after the pool"},
		{const_method() + 42, 0, 2, "a name at 0"},
		{const_method() + 30, 8, 2, "a descriptor after the pool"},
		{const_method() + 30, 5, 2, "a descriptor without '('"},
		{entry(6), 0, 8, "no descriptor"},
		{entry(5), 0, 8, "no name"},
		{entry(5), 64, 8, "a name in a hole"},
		{entry(5), pointer(entry(5)) + 4, 8, "a name that is not aligned"},
		{pool() + 12, 6, 4, "a pool that ends before the descriptor"},
		{pool() + 32, 64, 8, "a holder in a hole"},
		{klass() + 88, 0, 8, "a class without a name"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		build(IMAGE_17);
		image_set(&s.im, row[i].at, row[i].value, row[i].width);
		is_str(name(), "", "a method with %s is none", row[i].what);
	}
	build(IMAGE_17);
	image_set(&s.im, pool() + 12, 7, 4);
	is_str(name(), "com.example.Main.run", "the last entry of a pool is one of it");
	start();
	hs->tables.field[HS_POOL_LENGTH].found = false;
	hs->tables.field[HS_CONST_SIGNATURE_INDEX].found = false;
	image_set(&s.im, pool() + 12, 0, 4);
	image_set(&s.im, const_method() + 30, 0, 2);
	ok(hs_method_name(hs, s.run, text) > 0,
	   "a release that lists neither length nor descriptor has names");
}

/* ---- fingerprints, files ---- */

static void test_fingerprints(void)
{
	const uint64_t at[] = {s.run + 24, const_method() + 16, const_method() + 42,
			       const_method() + 30};
	uint64_t was, copy;

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		build(IMAGE_25);
		was = hs_method_fingerprint(hs, s.run);
		start();
		ok(was && was == hs_method_fingerprint(hs, s.run),
		   "the same method has the same fingerprint");
		copy = image_new(&s.im, 64);
		memcpy(image_at(&s.im, copy), image_at(&s.im, const_method()), 64);
		if (i == 0)
			image_set(&s.im, at[i], copy, 8);
		else
			image_set(&s.im, at[i], i == 1 ? copy : 3, i == 1 ? 8 : 2);
		start();
		ok(was != hs_method_fingerprint(hs, s.run),
		   "a method at its place that differs in part %zu has another", i);
	}
	build(IMAGE_25);
	ok(hs_method_fingerprint(hs, s.run) != hs_method_fingerprint(hs, s.get),
	   "another method has another fingerprint");
	is_int(hs_method_fingerprint(hs, 64), 0, "a method in a hole has no fingerprint");
	image_set(&s.im, const_method() + 16, 0, 8);
	image_set(&s.im, s.run + 24, IMAGE_BASE + IMAGE_BYTES - 20, 8);
	start();
	is_int(hs_method_fingerprint(hs, s.run), 0, "nor has one that cannot be read to its end");
}

static void test_class_fingerprint(void)
{
	uint64_t class;

	build(IMAGE_17);
	class = klass();
	image_set(&s.im, class + 88, image_symbol(&s.im, "foobar"), 8);
	start();
	is_int(hs_class_fingerprint(hs, class), 0xbf9cf968, "a class has its name's FNV-1a");
	image_set(&s.im, class + 88, image_symbol(&s.im, ""), 8);
	start();
	is_int(hs_class_fingerprint(hs, class), 0, "a class without a name has none");
	is_int(hs_class_fingerprint(hs, 64), 0, "nor has one in a hole");
}

static void test_files(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		build((enum image_release)r);
		is_int(hs_method_file(hs, s.run, text, 4), 4, "a file's name is cut to the room");
		is_int(hs_method_file(hs, s.run, text, 255), 9, "a file has its whole name");
		ok(memcmp(text, "Main.java", 9) == 0, "which is that of the class' attribute");
		image_set(&s.im, entry(7), image_symbol(&s.im, "a\n"), 8);
		start();
		is_int(hs_method_file(hs, s.run, text, 255), 2, "a file may have any name");
		ok(memcmp(text, "a?", 2) == 0, "in which control bytes are replaced");
		image_set(&s.im, r == IMAGE_8 ? klass() + 96 : pool() + 20, 0, 2);
		start();
		is_int(hs_method_file(hs, s.run, text, 255), 0, "a class may have no file");
		is_int(hs_method_file(hs, 64, text, 255), 0, "a method in a hole has no file");
		image_set(&s.im, const_method() + 16, 64, 8);
		start();
		is_int(hs_method_file(hs, s.run, text, 255), 0, "nor has one without a pool");
		build((enum image_release)r);
		image_set(&s.im, pool() + 32, 64, 8);
		start();
		is_int(hs_method_file(hs, s.run, text, 255), r == IMAGE_8 ? 0 : 9,
		       "layout %d: the file stands in the %s", r, r == IMAGE_8 ? "class" : "pool");
	}
}

/* ---- line numbers ---- */

#define CODE_SIZE 65535u /* the greatest there is */

struct line {
	int bci, line;
};

/* Appends the difference of two numbers as JDK's CompressedLineNumberWriteStream does. */
static uint8_t *pack_signed(uint8_t *p, int n)
{
	return snap_image_pack(&s.im, p, n < 0 ? 2 * (uint32_t)-n - 1 : 2 * (uint32_t)n);
}

static size_t lines_make(uint8_t *start_at, const struct line *l, unsigned n)
{
	uint8_t *p = start_at;
	int bci = 0, line = 0;

	for (unsigned i = 0; i < n; i++) {
		int more = l[i].bci - bci, down = l[i].line - line;

		if (more >= 0 && more < 31 && down >= 0 && down < 8 && (more || down)) {
			*p++ = (uint8_t)(more << 3 | down);
		} else {
			*p++ = 0xff;
			p = pack_signed(p, more);
			p = pack_signed(p, down);
		}
		bci = l[i].bci;
		line = l[i].line;
	}
	*p++ = 0;
	return (size_t)(p - start_at);
}

/* Makes s.run a method whose line numbers begin so many bytes after the begin of a page. */
static uint64_t lines_place(size_t at)
{
	uint64_t cm, table;

	s.im.used = (s.im.used + 4095) & ~4095u;
	cm = image_new(&s.im, CODE_SIZE + 3 * 4096);
	table = ((cm + CODE_SIZE + 4095) & ~4095ull) + at;
	cm = table - CODE_SIZE - SNAP_IM_CONST_METHOD;
	memcpy(image_at(&s.im, cm), image_at(&s.im, const_method()), SNAP_IM_CONST_METHOD);
	image_set(&s.im, s.run + 24, cm, 8);
	image_set(&s.im, cm + 46, CODE_SIZE, 2);
	return table;
}

static int line_at(int bci)
{
	start();
	return hs_method_line(hs, s.run, bci, s.im.release == IMAGE_25);
}

static void test_lines(void)
{
	static const struct {
		const char *what;
		struct line l[5];
		unsigned n;
		int bci, want;
	} row[] = {
		{"before the first entry", {{4, 10}}, 1, 3, 0},
		{"at an entry", {{4, 10}}, 1, 4, 10},
		{"after an entry", {{4, 10}, {6, 11}}, 2, 5, 10},
		{"after the last entry", {{4, 10}, {6, 11}}, 2, 65534, 11},
		{"at the entry of the method", {{0, 9}, {6, 11}}, 2, -1, 9},
		{"of a method without entries", {{0, 0}}, 0, 0, 0},
		{"after entries that go back", {{9, 20}, {3, 10}, {6, 15}, {1, 5}}, 4, 8, 15},
		{"at one of two entries for it", {{4, 10}, {4, 12}}, 2, 4, 10},
		{"after two entries with one bytecode", {{4, 10}, {4, 12}}, 2, 5, 12},
		{"after the same with others between", {{4, 10}, {9, 11}, {4, 12}}, 3, 5, 12},
		{"after two entries of bytecode 0", {{0, 10}, {0, 12}}, 2, 1, 12},
		{"in large steps", {{300, 4000}, {5000, 65535}, {5100, 3}}, 3, 5050, 65535},
		{"of steps that fill their byte", {{30, 7}, {60, 14}}, 2, 60, 14},
		{"after a line of 0", {{4, 10}, {5, 0}, {6, 12}}, 3, 7, 12},
		{"after the greatest line", {{4, 10}, {5, 65535}, {6, 12}}, 3, 7, 12},
		{"after a line that is too large", {{4, 10}, {5, 65536}, {6, 12}}, 3, 7, 10},
		{"after a line below 0", {{4, 10}, {5, -1}, {6, 12}}, 3, 7, 10},
		{"after a bytecode below 0", {{4, 10}, {-1, 11}, {6, 12}}, 3, 7, 10},
		{"after the greatest bytecode", {{4, 10}, {65535, 11}, {6, 12}}, 3, 7, 12},
		{"after one that is too large", {{4, 10}, {65536, 11}, {6, 12}}, 3, 7, 10},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		for (int r = 0; r < IMAGE_RELEASES; r++) {
			build((enum image_release)r);
			lines_make(image_at(&s.im, lines_place(0)), row[i].l, row[i].n);
			is_int(line_at(row[i].bci), row[i].want, "layout %d: the line %s is %d", r,
			       row[i].what, row[i].want);
		}
	}
}

/* The table of line numbers may begin and end on different pages. */
static void test_line_pages(void)
{
	static const struct line l[] = {{4, 10}, {400, 900}, {500, 30}, {510, 31}};
	uint8_t bytes[32];
	size_t len;
	unsigned right = 0;
	uint64_t table;

	build(IMAGE_17);
	len = lines_make(bytes, l, 4);
	for (size_t after = 0; after <= len; after++) {
		build(IMAGE_17);
		memcpy(image_at(&s.im, lines_place(4096 - after)), bytes, len);
		right += line_at(509) == 30 && line_at(600) == 31;
	}
	is_int(right, len + 1, "a table is read wherever a page ends in it");
	for (size_t n = 2 * 4096 - 1; n <= 2 * 4096; n++) {
		build(IMAGE_17);
		table = lines_place(0);
		memset(image_at(&s.im, table), 1 << 3, n);
		image_set(&s.im, table, 1 << 3 | 5, 1);
		is_int(line_at(60000), n < 2 * 4096 ? 5 : 0, "a table of %s two pages is %s",
		       n < 2 * 4096 ? "less than" : "more than", n < 2 * 4096 ? "read" : "not");
	}
	build(IMAGE_17);
	memcpy(image_at(&s.im, IMAGE_BASE + IMAGE_BYTES - len), bytes, len);
	table = IMAGE_BASE + IMAGE_BYTES - len;
	lines_place(0);
	image_set(&s.im, const_method() + 46, 600, 2);
	memmove(image_at(&s.im, table - 600 - SNAP_IM_CONST_METHOD),
		image_at(&s.im, const_method()), SNAP_IM_CONST_METHOD);
	image_set(&s.im, s.run + 24, table - 600 - SNAP_IM_CONST_METHOD, 8);
	is_int(line_at(599), 31, "a table before the end of the memory is read");
	image_set(&s.im, IMAGE_BASE + IMAGE_BYTES - 1, 1, 1);
	is_int(line_at(599), 0, "one that goes on there is not");
}

/* The window may have more of a table than there is room for. */
static void test_line_window(void)
{
	static uint8_t room[3 * 4096];
	uint64_t table;

	build(IMAGE_17);
	table = lines_place(0);
	memset(image_at(&s.im, table), 1 << 3, sizeof(room) - 4096);
	start();
	hs->mem.room = room;
	hs->mem.cap = sizeof(room);
	hs_mem_window(&hs->mem, table - 4096, sizeof(room));
	is_int(hs_method_line(hs, s.run, 60000, 0), 0, "a table without end is none");
	image_set(&s.im, table + 6000, 0, 1);
	image_set(&s.im, table + 100, 1 << 3 | 3, 1);
	hs_mem_window(&hs->mem, table - 4096, sizeof(room));
	is_int(hs_method_line(hs, s.run, 60000, 0), 3, "one that ends in the window is read");
}

static void test_no_lines(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		build((enum image_release)r);
		is_int(line_at(19), 13, "layout %d: the last bytecode has a line", r);
		is_int(line_at(20), 0, "layout %d: a bytecode after the code has none", r);
		image_set(&s.im, const_method() + 48, 0xfe, 1);
		is_int(line_at(4), 0, "layout %d: a method without lines has none", r);
		image_set(&s.im, const_method() + 48, 0xff, 1);
		is_int(line_at(4), 12, "layout %d: other flags do not matter", r);
		hs->tables.size[HS_TYPE_CONST_METHOD] = 0;
		is_int(hs_method_line(hs, s.run, 4, r == IMAGE_25), 0,
		       "layout %d: an unknown size of ConstMethod leaves no lines", r);
		is_int((start(), hs_method_line(hs, 64, 4, 0)), 0,
		       "layout %d: a method in a hole has no lines", r);
	}
}

/* ---- fields ---- */

static const struct made_field fields[] = {
	{"other", "I", 12, 0},	    {"name", "I", 16, 1},   {"names", "[C", 20, 4},
	{"name", "[C", 24, 16},	    {"nam", "[C", 28, 21},  {"value", "[B", 32, 10},
	{"zero", "I", 0, 0},	    {"last", "I", 4096, 0}, {"far", "I", 4097, 0},
	{"farther", "I", 16400, 0},
};
#define FIELDS (sizeof(fields) / sizeof(*fields))

static uint64_t class_build(enum image_release release)
{
	uint64_t class;

	snap_image_build(&s, release);
	image_fields_tables(&s.im);
	class = image_fields_class(&s.im, fields, FIELDS);
	start();
	return class;
}

/* The offset of a field, 0: not found. */
static uint32_t offset_of(uint64_t class, const char *field, const char *descriptor)
{
	uint32_t offset = 0;

	hs->mem.window.have = 0;
	hs_mem_drop_pages(&hs->mem);
	return hs_field_offset(hs, class, field, descriptor, &offset) ? offset : 0;
}

static void test_fields(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		uint64_t class = class_build((enum image_release)r);

		for (unsigned i = 0; i < FIELDS; i++)
			is_int(offset_of(class, fields[i].name, fields[i].descriptor),
			       fields[i].offset <= 4096 ? fields[i].offset : 0,
			       "layout %d: a field at %u is %s", r, fields[i].offset,
			       fields[i].offset && fields[i].offset <= 4096 ? "found" : "refused");
		is_int(offset_of(class, "value", "[C"), 0,
		       "layout %d: a field of another type is not found", r);
		is_int(offset_of(class, "valu", "[B"), 0, "layout %d: half of a name is not found",
		       r);
		is_int(offset_of(64, "value", "[B"), 0, "layout %d: a class in a hole has no field",
		       r);
		image_set(&s.im, class + FIELDS_LIST, 64, 8);
		is_int(offset_of(class, "value", "[B"), 0,
		       "layout %d: a class whose list is in a hole has no field", r);
	}
}

static void test_field_array(void)
{
	uint64_t class = class_build(IMAGE_17), list = pointer(class + FIELDS_LIST);

	image_set(&s.im, list + 4, 59, 4);
	is_int(offset_of(class, "other", "I"), 0, "more fields than the array has are none");
	image_set(&s.im, list + 4, 1 << 30, 4);
	image_set(&s.im, class + FIELDS_COUNT, 4096, 2);
	is_int(offset_of(class, "other", "I"), 12, "a class may have 4096 fields");
	image_set(&s.im, class + FIELDS_COUNT, 4097, 2);
	is_int(offset_of(class, "other", "I"), 0, "a class with more is not believed");
	image_set(&s.im, class + FIELDS_COUNT, 1, 2);
	is_int(offset_of(class, "name", "I"), 0, "a field that the JVM adds is not looked at");
	image_set(&s.im, list + FIELDS_DATA + 8, 12 << 2 | 2, 2);
	is_int(offset_of(class, "other", "I"), 0, "a field whose offset is not set is not found");
	class = class_build(IMAGE_17);
	hs->tables.field[HS_ARRAY_U2_DATA].found = false;
	is_int(offset_of(class, "other", "I"), 0, "a release without Array<u2> has no fields");
	class = class_build(IMAGE_17);
	list = IMAGE_BASE + IMAGE_BYTES - FIELDS_DATA - 12;
	image_set(&s.im, list + 4, 1 << 30, 4);
	image_set(&s.im, class + FIELDS_LIST, list, 8);
	is_int(offset_of(class, "other", "I"), 0, "an array that ends in a hole ends the search");
}

static void test_field_stream(void)
{
	uint64_t class = class_build(IMAGE_25), list = pointer(class + FIELDS_LIST);
	uint8_t *data = image_at(&s.im, list + FIELDS_DATA);

	data[1] = 3 + 1;
	is_int(offset_of(class, "last", "I"), 4096,
	       "the number of fields that the JVM adds is read");
	data[0] = 1 + 1;
	is_int(offset_of(class, "other", "I"), 12, "the first of one field is found");
	is_int(offset_of(class, "name", "I"), 0, "a field that the JVM adds is not looked at");
	data[0] = 11;
	image_set(&s.im, list + 4, 1 << 30, 4);
	is_int(offset_of(class, "other", "I"), 12, "a stream without end is read as far as needed");
	image_set(&s.im, list + 4, 6, 4);
	is_int(offset_of(class, "other", "I"), 0, "a field that is cut is not found");
	image_set(&s.im, list + 4, 7, 4);
	is_int(offset_of(class, "other", "I"), 12, "a field at the end of a stream is found");
	is_int(offset_of(class, "name", "I"), 0, "the next one is not there");
	data[2] = 0;
	is_int(offset_of(class, "other", "I"), 0, "a byte that packs no number ends the search");
	class = class_build(IMAGE_25);
	hs->tables.field[HS_ARRAY_U1_DATA].found = false;
	is_int(offset_of(class, "other", "I"), 0, "a release without Array<u1> has no fields");
}

int main(void)
{
	hs = aligned_alloc(4096, HS_WORK_BYTES);
	build(IMAGE_17);
	test_names();
	test_long_names();
	build(IMAGE_17);
	test_bad_names();
	build(IMAGE_25);
	test_fingerprints();
	test_class_fingerprint();
	test_files();
	test_lines();
	test_line_pages();
	test_line_window();
	test_no_lines();
	test_fields();
	test_field_array();
	test_field_stream();
	free(hs);
	return tap_done();
}
