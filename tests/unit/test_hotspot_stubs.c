// SPDX-License-Identifier: Apache-2.0
/* The names of stubs in a JVM that is made up: found without a symbol, and only what is proved. */
#include "common/str.h"
#include "dfg/request.h"
#include "lib/hssnap.h"
#include "lib/tap.h"

#define STUBS	  SNAP_IM_STUBS
#define STUB_SIZE SNAP_IM_STUB
#define VARIABLES 64 /* words */

static struct snap_image s;
static struct hs_source source;
static struct str text; /* the stubs of the last snapshot: "stub0@1200+32 …", and its call stub */
static void *state;
static uint64_t call_stub; /* the variable that has StubRoutines::_call_stub_return_address */
static uint64_t list;	   /* StubCodeDesc::_list */
static uint64_t desc[STUBS];
static uint64_t hole; /* a page that cannot be read; 0: none */

static bool take(void *arg, const char *record, size_t len)
{
	uint32_t type = snap_record_type(record, len);
	struct snap_stub t;
	struct snap_head head;

	(void)arg;
	if (type == SNAP_HEAD) {
		memcpy(&head, record, sizeof(head));
		str_addf(&text, "%s", head.call_stub_return ? "" : "(starting)");
	} else if (type == SNAP_STUB) {
		memcpy(&t, record, sizeof(t));
		str_addf(&text, " %.*s@%llx+%u", (int)t.name_len, record + sizeof(t),
			 (unsigned long long)(t.start - IMAGE_BASE), t.size);
	}
	return true;
}

static int64_t read_around(void *arg, uint64_t addr, void *buf, size_t len)
{
	return hole && addr >= hole && addr < hole + 4096 ? -1 : image_read(arg, addr, buf, len);
}

static const char *next(void)
{
	struct hs_sink sink = {.write = take};
	struct hs_result result;

	str_clear(&text);
	str_adds(&text, "");
	hs_dump_delta(&source, &sink, image_work(), state, true, &result);
	return text.buf;
}

static uint64_t code_of(unsigned i)
{
	return snap_image_stub_code(&s, i);
}

static uint64_t add_desc(uint64_t next_one, const char *name, uint64_t start)
{
	return snap_image_stub(&s, next_one, name, start);
}

/* stub0 is the last one that was made, so it comes first; stub7 is the call stub. */
static void build(enum image_release release)
{
	struct image *im = &s.im;
	uint64_t variables;

	snap_image_build(&s, release);
	free(state);
	state = calloc(1, HS_STATE_BYTES);
	call_stub = snap_image_stubs(&s, desc);
	image_new(im, 8192); /* for a hole */
	variables = image_new(im, VARIABLES * 8);
	list = variables + 40 * 8;
	image_set(im, list, desc[0], 8);
	/* Other contents of the variables: garbage, holes, a list without an end. */
	image_set(im, variables, 0xdeadbeefcafef00d, 8);
	image_set(im, variables + 8, 0x10000, 8);
	image_set(im, variables + 16, code_of(0) & ~7ull, 8);
	image_set(im, variables + 24, add_desc(0, "call_stub", code_of(7)), 8);
	image_set(im, variables + 32, s.run, 8);
	source = image_source(im);
	source.read = read_around;
	source.image = (struct hs_span){variables, variables + VARIABLES * 8};
	source.variables = source.image;
}

static const char *all(void)
{
	static char buf[1024];
	size_t n = 0;

	for (unsigned i = 0; i < STUBS; i++) {
		char name[16];

		snprintf(name, sizeof(name), i == 7 ? "call_stub" : "stub_%u", i);
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, " %s@%llx+32", name,
				      (unsigned long long)(code_of(i) - IMAGE_BASE));
	}
	return buf;
}

static void test_names(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		build((enum image_release)r);
		is_str(next(), all(), "layout: each stub has its name");
		is_str(next(), "", "once");
		image_set(&s.im, list, add_desc(desc[0], "later", code_of(STUBS)), 8);
		next();
		ok(has_prefix(text.buf, " later@") && !strstr(text.buf, "stub_"),
		   "what comes later is written then, and nothing else");
		free(state);
		state = calloc(1, HS_STATE_BYTES);
		source.variables.low -= 8192;
		hole = source.variables.low;
		ok(strstr(next(), "stub_0@") != NULL, "found after a hole, too");
		hole = 0;
	}
}

static void test_long_names(void)
{
	uint64_t name;

	build(IMAGE_25);
	for (unsigned i = 7; i <= 9; i++) {
		static const char *const names[] = {"Stub Generator call_stub_stub",
						    "Stub Generator dsin_stub",
						    "Stub Generator _stub"};

		name = image_text(&s.im, names[i - 7]);
		image_set(&s.im, desc[i] + 16, name, 8);
	}
	next();
	ok(strstr(text.buf, " call_stub@") && strstr(text.buf, " dsin@") &&
		   strstr(text.buf, " Stub Generator _stub@"),
	   "names of JDK 26 are shortened");
}

static void test_start(void)
{
	build(IMAGE_17);
	image_set(&s.im, call_stub, 0, 8);
	is_str(next(), "(starting)", "a JVM that has no call stub yet");
	image_set(&s.im, call_stub, code_of(7) + 10, 8);
	is_str(next(), all(), "has one in the next delta, and all names");
}

static void test_proof(void)
{
	build(IMAGE_17);
	image_set(&s.im, call_stub, code_of(8) + 10, 8);
	is_str(next(), "", "the call stub is another one: not believed");
	image_set(&s.im, call_stub, code_of(7) + 10, 8);
	is_str(next(), "", "nor looked for again");

	build(IMAGE_17);
	image_set(&s.im, desc[STUBS - 1], desc[2], 8);
	is_str(next(), "", "a list without end");

	build(IMAGE_17);
	image_set(&s.im, desc[12], IMAGE_BASE - 4096, 8);
	is_str(next(), "", "one that leads into a hole");

	build(IMAGE_17);
	image_set(&s.im, desc[12] + 32, s.im.heap_low[1] + (1 << 30), 8);
	is_str(next(), "", "one with a stub outside of the code cache");

	build(IMAGE_17);
	image_set(&s.im, desc[9], 0, 8);
	is_str(next(), "", "one that is too short");

	build(IMAGE_17);
	image_set(&s.im, desc[3] + 16, IMAGE_BASE - 4096, 8);
	next();
	ok(strstr(text.buf, "stub_2@") && strstr(text.buf, "stub_4@") &&
		   !strstr(text.buf, "stub_3@"),
	   "a stub whose name cannot be read has none");

	build(IMAGE_17);
	source.variables = (struct hs_span){0};
	is_str(next(), "", "variables that are not known");
}

/* A header, `nops` bytes of other code, and the jump to the method. */
static void add_vtable(uint64_t at, uint64_t next_one, uint8_t type, uint16_t nops)
{
#if defined(__aarch64__)
	static const uint32_t jump[] = {0xf9402188, 0xd61f0100};
#else
	static const uint8_t jump[] = {0xff, 0x63, 0x40};
#endif
	image_set(&s.im, at, next_one, 8);
	image_set(&s.im, at + 8, 5, 2);
	image_set(&s.im, at + 10, nops, 2);
	image_set(&s.im, at + 12, 0, 2);
	image_set(&s.im, at + 14, type, 1);
	memcpy(image_at(&s.im, at + 16 + nops), jump, sizeof(jump));
}

static void test_vtables(void)
{
	uint64_t code;
	char want[128];
#if defined(__aarch64__)
	unsigned jump = 8, far = 12;
#else
	unsigned jump = 3, far = 5;
#endif

	build(IMAGE_25);
	code = image_block(&s.im, 0, 24, 4, "vtable chunks", 0) + IM_HEADER + IM_BLOB;
	next();
	ok(!strstr(text.buf, "table"), "a chunk without stubs names none");
	add_vtable(code, 0, 1, 8);
	snprintf(want, sizeof(want), " vtable stub@%llx+%u",
		 (unsigned long long)(code + 16 - IMAGE_BASE), 8 + jump);
	is_str(next(), want, "a vtable stub is named in the next delta");
	add_vtable(code + 40, code, 0, 4);
	snprintf(want + strlen(want), sizeof(want) - strlen(want), " itable stub@%llx+%u",
		 (unsigned long long)(code + 56 - IMAGE_BASE), 4 + jump + far);
	is_str(next(), want, "an itable stub follows, with the far jump after its own");
	is_str(next(), "", "stubs that are written already are not written again");
	image_set(&s.im, code + 40, 12345, 8);
	image_set(&s.im, code + 14, 2, 1);
	is_str(next(), "", "a header that links nowhere or has another type names no stub");
	image_set(&s.im, code + 14, 1, 1);
	image_set(&s.im, code + 10, 9, 2);
	is_str(next(), "", "a header that does not lead to the jump names no stub");
}

/* ---- bounds ---- */

static bool is_found(void)
{
	return strstr(next(), "stub_0@") != NULL;
}

static void test_call_stub(void)
{
	static const struct {
		unsigned at;
		bool found;
	} row[] = {{0, false}, {1, true}, {STUB_SIZE, true}, {STUB_SIZE + 1, false}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		build(IMAGE_25);
		image_set(&s.im, call_stub, code_of(7) + row[i].at, 8);
		is_int(is_found(), row[i].found, "a call stub that is left at its byte %u is %s",
		       row[i].at, row[i].found ? "believed" : "not believed");
	}
	build(IMAGE_25);
	image_set(&s.im, desc[7] + 16, image_text(&s.im, "call_stub2"), 8);
	ok(!is_found(), "a call stub of another name is not believed");
}

static void test_list_bounds(void)
{
	uint64_t low, high;
	const struct {
		uint64_t *start;
		int64_t begin, end;
		bool found;
		const char *what;
	} row[] = {{&low, 0, 32, true, "begins with the code"},
		   {&low, -8, 32, false, "begins before it"},
		   {&low, 0, 0, false, "is empty"},
		   {&low, 0, 1, true, "has one byte"},
		   {&high, -32, 0, true, "ends with the code"},
		   {&high, -32, 1, false, "ends after it"}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		unsigned at = i % 2 ? 24 : 32;

		build(at == 24 ? IMAGE_17 : IMAGE_8);
		low = s.im.heap_low[0];
		high = s.im.heap_low[at == 24] + IMAGE_HEAP;
		image_set(&s.im, desc[3] + at, *row[i].start + (uint64_t)row[i].begin, 8);
		image_set(&s.im, desc[3] + at + 8, *row[i].start + (uint64_t)row[i].end, 8);
		is_int(is_found(), row[i].found, "a list with a stub that %s is %s", row[i].what,
		       row[i].found ? "believed" : "not believed");
	}
	build(IMAGE_25);
	image_set(&s.im, desc[3] + 16, 0, 8);
	ok(!is_found(), "nor is one with a stub without a name");
	for (unsigned n = 15; n <= 16; n++) {
		build(IMAGE_25);
		image_set(&s.im, desc[n - 1], 0, 8);
		is_int(is_found(), n == 16, "a list of %u stubs is %s", n,
		       n == 16 ? "long enough" : "too short");
	}
}

/* Variables with so many pointers before the list. */
static void variables_build(unsigned pointers)
{
	uint64_t at;

	build(IMAGE_8);
	at = image_new(&s.im, 8 * (pointers + 2));
	for (unsigned i = 0; i < pointers; i++)
		image_set(&s.im, at + 8 * i, s.run, 8);
	image_set(&s.im, at + 8 * pointers, desc[0], 8);
	source.image = source.variables = (struct hs_span){at, at + 8 * (pointers + 2)};
}

static void test_variables(void)
{
	static const unsigned row[] = {0, 1, 1022, 1023, 1024, 1025, 2048};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		variables_build(row[i]);
		is_str(next(), all(), "a list after %u other pointers is found", row[i]);
	}
	variables_build(3);
	source.variables.high = source.variables.low + (16 << 20);
	ok(is_found(), "variables may have 16 MB");
	variables_build(3);
	source.variables.high = source.variables.low + (16 << 20) + 1;
	ok(!is_found(), "larger ones are not searched");
	variables_build(3);
	source.variables.high = source.variables.low + 32;
	ok(is_found(), "the last variable counts");
	variables_build(3);
	source.variables.high = source.variables.low + 31;
	ok(!is_found(), "one that is cut does not");
	variables_build(0);
	image_set(&s.im, source.variables.low, desc[0] + 4, 8);
	ok(!is_found(), "a pointer that is not aligned leads to no stub");
	variables_build(3);
	source.image = (struct hs_span){IMAGE_BASE, IMAGE_BASE + IMAGE_BYTES};
	ok(!is_found(), "nor does one into the library");
	variables_build(3);
	source.image = (struct hs_span){0x10000, 0x20000};
	ok(is_found(), "one that is near the heaps does, wherever the library is");
	variables_build(3);
	source.image = (struct hs_span){desc[0] + 8, desc[0] + 4096};
	ok(is_found(), "as does one before the library");
	variables_build(3);
	source.image = (struct hs_span){desc[0] - 4096, desc[0]};
	ok(is_found(), "or after it");
}

/* Case 80: lists without an end, one after the other, before the real one. */
static void test_endless(void)
{
	for (unsigned lists = 15; lists <= 16; lists++) {
		uint64_t endless, at;

		build(IMAGE_17);
		endless = add_desc(0, "stub", code_of(0));
		image_set(&s.im, endless, endless, 8);
		at = image_new(&s.im, 8 * 17);
		for (unsigned i = 0; i < lists; i++)
			image_set(&s.im, at + 8 * i, endless, 8);
		image_set(&s.im, at + 8 * lists, desc[0], 8);
		source.image = source.variables = (struct hs_span){at, at + 8 * 17};
		is_int(is_found(), lists == 15, "after %u endless lists the search %s", lists,
		       lists == 15 ? "goes on" : "ends");
	}
}

/* Headers of vtable stubs that are none. */
static void test_vtable_headers(void)
{
	static const struct {
		unsigned at;
		uint64_t value;
		size_t width;
		bool is_code, found;
		const char *what;
	} row[] = {{12, 8, 2, false, true, "that faults at its jump"},
		   {12, 9, 2, false, false, "that faults after its jump"},
		   {10, 0, 2, false, false, "without code before its jump"},
		   {14, 2, 1, false, false, "of a third kind"},
		   {0, 40, 8, true, true, "that links to another"},
		   {0, 44, 8, true, false, "that links to no aligned place"},
		   {0, (uint64_t)-IMAGE_BYTES, 8, true, false, "that links out of the code"}};
	uint64_t code;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		build(IMAGE_25);
		code = image_block(&s.im, 0, 24, 4, "vtable chunks", 0) + IM_HEADER + IM_BLOB;
		add_vtable(code, 0, 1, 8);
		if (row[i].at == 10) /* the jump is right after the header */
			add_vtable(code, 0, 1, 0);
		else
			image_set(&s.im, code + row[i].at,
				  row[i].value + (row[i].is_code ? code : 0), row[i].width);
		is_int(strstr(next(), " vtable stub@") != NULL, row[i].found,
		       "a header %s names %s stub", row[i].what, row[i].found ? "a" : "no");
	}
}

/* The last stub of a chunk of 100 bytes. */
static void test_last_vtable(void)
{
#if defined(__aarch64__)
	unsigned jump = 8, fits = 4;
#else
	unsigned jump = 3, fits = 9;
#endif
	uint64_t code;
	char want[64];

	for (unsigned nops = fits - 1; nops <= fits + 1; nops++) {
		unsigned left = 100 - 72 - 16;

		build(IMAGE_25);
		code = image_block(&s.im, 0, 24, 4, "vtable chunks", 0) + IM_HEADER + IM_BLOB;
		add_vtable(code + 72, 0, 0, (uint16_t)nops);
		snprintf(want, sizeof(want), " itable stub@%llx+%u",
			 (unsigned long long)(code + 88 - IMAGE_BASE), left);
		is_int(strstr(next(), want) != NULL,
		       nops + jump <= left && (sizeof(void *) == 8) &&
#if defined(__aarch64__)
			       nops % 4 == 0,
#else
			       true,
#endif
		       "a stub whose jump %s its chunk is %s",
		       nops + jump <= left ? "ends in" : "leaves",
		       nops + jump <= left ? "named up to its end" : "none");
	}
}

int main(void)
{
	test_call_stub();
	test_list_bounds();
	test_variables();
	test_endless();
	test_vtable_headers();
	test_last_vtable();
	test_vtables();
	test_names();
	test_long_names();
	test_start();
	test_proof();
	free(state);
	str_fini(&text);
	return tap_done();
}
