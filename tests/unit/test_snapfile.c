// SPDX-License-Identifier: Apache-2.0
#include "jit/code_history.h"

#include <sys/mman.h>

#include "common/fs.h"
#include "jit/perf_map.h"
#include "lib/snapmake.h"
#include "lib/tap.h"

static const struct snap_scope scopes[] = {
	{.method = 1, .bci = 10, .line = 100, .parent = SNAP_NONE},
	{.method = 2, .bci = 20, .line = 200, .parent = 0},
	{.method = 9, .bci = 30, .line = 300, .parent = 1}, /* of a method without a record */
	{.method = 1, .parent = 3},			    /* its own parent */
};
static const struct snap_region regions[] = {
	{.end = 16, .scope = 0}, {.end = 32, .scope = 1}, {.end = 48, .scope = 2},
	{.end = 64, .scope = 3}, {.end = 80, .scope = 7}, {.end = 96, .scope = SNAP_NONE},
};
static const struct snap_exit exits[] = {{.pop = 20, .end = 28}, {.pop = 40, .end = 44}};
static const uint32_t calls[] = {18, 70};
static const struct snap_spill spills[] = {{.begin = 100, .end = 110, .bytes = 32},
					   {.begin = 112, .end = 120, .bytes = 4096}};

static const struct sm_code compiled = {.head = {.start = 0x1000,
						 .size = 128,
						 .kind = SNAP_COMPILED,
						 .flags = SNAP_BETWEEN,
						 .method = 1,
						 .region_count = 6,
						 .scope_count = 4,
						 .exit_count = 2,
						 .call_count = 2},
					.scopes = scopes,
					.regions = regions,
					.exits = exits,
					.calls = calls,
					.spills = spills,
					.spill_count = 2};

static const struct snap_scope two_scopes[] = {
	{.method = 1, .bci = 10, .line = 100, .parent = SNAP_NONE},
	{.method = 2, .bci = 20, .line = 200, .parent = 0},
	{.method = 1, .bci = 11, .line = 101, .parent = SNAP_NONE},
	{.method = 2, .bci = 20, .line = 200, .parent = 2},
	{.method = 2, .bci = 21, .line = 201, .parent = 2},
};
static const struct snap_region two_regions[] = {{.end = 16, .scope = 0},
						 {.end = 32, .scope = 1},
						 {.end = 48, .scope = 3},
						 {.end = 64, .scope = 4}};
static const uint32_t two_calls[] = {10, 40, 58};

/* Code at an address in which methods are inlined at two places. */
static void make_two(struct str *s, uint64_t start, uint16_t flags)
{
	sm_code(s, (struct sm_code){.head = {.start = start,
					     .size = 128,
					     .kind = SNAP_COMPILED,
					     .flags = flags,
					     .method = 1,
					     .region_count = 4,
					     .scope_count = 5,
					     .call_count = 3},
				    .scopes = two_scopes,
				    .regions = two_regions,
				    .calls = two_calls});
}

static void make(struct str *s)
{
	sm_head(s, (struct snap_head){.time = 7, .call_stub_return = 0x2010, .jdk = 17});
	sm_code(s, compiled);
	sm_code(s, (struct sm_code){.head = {.start = 0x2000, .size = 64, .kind = SNAP_STUBS},
				    .name = "StubRoutines (1)"});
	make_two(s, 0x3000, 0);
	make_two(s, 0x3800, SNAP_BETWEEN);
	sm_method(s, 1, "a.B.outer", "B.java");
	sm_method(s, 2, "a.B.inlined", "");
	sm_done(s);
}

/* The only code at an address at a time; NULL: none, or there are several. */
static const struct snapfile_code *code_at(const struct snapfile *sf, uint64_t addr, uint64_t time)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];

	return snapfile_find(sf, addr, snapfile_around(sf, time), c) == 1 ? c[0] : NULL;
}

static bool method_at(const struct snapfile *sf, uint64_t id, uint64_t time,
		      struct snapfile_method *ret)
{
	uint32_t number[SNAPFILE_AROUND];

	if (snapfile_find_method(sf, id, snapfile_around(sf, time), number) != 1)
		return false;
	*ret = snapfile_method(sf, number[0]);
	return true;
}

static void is_text(const char *p, size_t len, const char *want, const char *what)
{
	char *got = xstrndup(p, len);

	is_str(got, want, "%s", what);
	free(got);
}

static void test_scopes(const struct snapfile *sf)
{
	struct snapfile_scope found[SNAPFILE_DEPTH];
	const struct snapfile_code *c = code_at(sf, 0x1000, 0);

	is_int(snapfile_scopes(c, 0, found), 1, "the first byte is in the first region");
	is_int(snapfile_scopes(c, 15, found), 1, "and so is the last one of it");
	is_text(found[0].method.name, found[0].method.name_len, "a.B.outer", "its method");
	is_text(found[0].method.file, found[0].method.file_len, "B.java", "and file");
	is_int(found[0].line, 100, "and line");
	is_int(snapfile_scopes(c, 16, found), 1, "and the instruction that starts at its end");
	is_int(snapfile_scopes(c, 17, found), 2, "after it is the next one");
	is_text(found[0].method.name, found[0].method.name_len, "a.B.inlined", "innermost first");
	is_int(found[1].bci, 10, "where it is inlined");
	is_int(snapfile_scopes(c, 47, found), 3, "a method without a record is a scope, too");
	is_int(found[0].method.name_len, 0, "without a name");
	is_int(snapfile_scopes(c, 49, found), SNAPFILE_DEPTH, "a circle ends");
	is_int(snapfile_scopes(c, 65, found), 0, "a scope that is not there");
	is_int(snapfile_scopes(c, 81, found), 0, "a region without one");
	is_int(snapfile_scopes(c, 97, found), 0, "after the last region");
}

/* Calls that no region describes, in code whose regions are not exact. */
static void test_shared_scopes(const struct snapfile *sf)
{
	struct snapfile_scope found[SNAPFILE_DEPTH];
	const struct snapfile_code *c = code_at(sf, 0x3000, 0);

	is_int(snapfile_scopes(c, 39, found), 1, "between two inlined methods is what both are in");
	is_text(found[0].method.name, found[0].method.name_len, "a.B.outer", "their caller");
	is_int(found[0].line, 0, "at a place that is not known");
	is_int(snapfile_scopes(c, 40, found), 2, "what is described has all");
	is_int(snapfile_scopes(c, 57, found), 2, "two places of an inlined method are in it");
	is_text(found[0].method.name, found[0].method.name_len, "a.B.inlined", "that one");
	is_int(found[0].bci, -1, "somewhere");
	is_int(found[1].bci, 11, "inlined where both are");
	is_int(snapfile_scopes(c, 9, found), 0, "before the first region nothing is shared");
	c = code_at(sf, 0x3800, 0);
	is_int(snapfile_scopes(c, 39, found), 2, "exact code has what its regions say");
}

static void test_places(const struct snapfile *sf)
{
	const struct snapfile_code *c = code_at(sf, 0x107f, 0);
	struct snapfile_method m;

	ok(c && c->start == 0x1000, "the last byte of code");
	ok(!code_at(sf, 0x1080, 0) && !code_at(sf, 0xfff, 0), "outside of it");
	ok(snapfile_is_return(c, 32), "the end of a region");
	ok(snapfile_is_return(c, 18) && snapfile_is_return(c, 70), "ends of calls");
	ok(!snapfile_is_return(c, 31) && !snapfile_is_return(c, 33) && !snapfile_is_return(c, 0),
	   "anything else is none");
	ok(!snapfile_exit(c, 19) && snapfile_exit(c, 20) && snapfile_exit(c, 27), "an exit");
	ok(!snapfile_exit(c, 28) && snapfile_exit(c, 43) && !snapfile_exit(c, 44), "the next");
	is_int(snapfile_spilled(c, 99), 0, "nothing is spilled before a slow path");
	is_int(snapfile_spilled(c, 100), 32, "a slow path has its size from its begin on");
	is_int(snapfile_spilled(c, 109), 32, "a slow path has its size up to its end");
	is_int(snapfile_spilled(c, 110), 0, "nothing is spilled between two slow paths");
	is_int(snapfile_spilled(c, 119), 4096, "the second slow path has its own size");
	is_int(snapfile_spilled(c, 120), 0, "nothing is spilled after the last slow path");
	ok(snapfile_code_method(c, &m), "the method of code");
	is_text(m.name, m.name_len, "a.B.outer", "its name");
	c = code_at(sf, 0x2000, 0);
	ok(c && !snapfile_code_method(c, &m), "a stub has no method");
	is_text(c->name, c->record->name_len, "StubRoutines (1)", "but a name");
	ok(!snapfile_is_return(c, 8), "and no calls");
	is_int(snapfile_spilled(c, 8), 0, "and no slow paths");
	ok(method_at(sf, 2, 0, &m) && !method_at(sf, 3, 0, &m), "a method by its id");
	is_int((int64_t)snapfile_head(sf)->call_stub_return, 0x2010, "the head");
}

/* Counts which of the two codes are found when the first record has these figures. */
static int codes_with(uint32_t scope_count, uint32_t size, uint64_t start)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	CLEANUP(str_fini) struct str s = {0};
	size_t at = sizeof(struct snap_head);
	struct snap_code code;
	struct err err;

	make(&s);
	memcpy(&code, s.buf + at, sizeof(code));
	code.scope_count = scope_count;
	code.size = size;
	code.start = start;
	memcpy(s.buf + at, &code, sizeof(code));
	if (sm_read(sf, s.buf, s.len, &err) < 0)
		return 99;
	snapfile_finish(sf);
	return (code_at(sf, 0x1000, 0) != NULL) + (code_at(sf, 0x2000, 0) != NULL);
}

static void test_hostile(void)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	CLEANUP(str_fini) struct str s = {0};
	uint32_t size = 0xfffffff8;
	struct err err;

	is_int(codes_with(4, 128, 0x1000), 2, "as it was");
	is_int(codes_with(0xffffffff, 128, 0x1000), 1, "more scopes than the record has");
	is_int(codes_with(6, 128, 0x1000), 1, "more scopes than there is room for");
	is_int(codes_with(4, 0, 0x1000), 1, "code without a byte");
	is_int(codes_with(4, 128, UINT64_MAX - 64), 1, "code beyond the last address");
	ok(sm_read(sf, "", 0, &err) < 0, "nothing is no snapshot");
	make(&s);
	s.buf[8] ^= 1;
	ok(sm_read(sf, s.buf, s.len, &err) < 0, "nor is what begins otherwise");
	s.buf[8] ^= 1;
	memcpy(s.buf + sizeof(struct snap_head) + 4, &size, sizeof(size));
	ok(sm_read(sf, s.buf, s.len, &err) == 0, "a record longer than the file");
	snapfile_finish(sf);
	ok(!code_at(sf, 0x1000, 0) && !code_at(sf, 0x2000, 0), "ends it");
}

static void test_files(void)
{
	CLEANUP(close_fd) int fd = memfd_create("snapshot", MFD_CLOEXEC);
	CLEANUP(close_fd) int text = memfd_create("text", MFD_CLOEXEC);
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	CLEANUP(str_fini) struct str s = {0};
	struct err err;

	make(&s);
	ok(fs_write_all(fd, s.buf, s.len, &err) == 0 && ftruncate(fd, 64 << 20) == 0 &&
		   fs_write_all(text, "1000 80 a.B.c\n", 14, &err) == 0,
	   "files");
	ok(snapfile_is(fd) && !snapfile_is(text) && !snapfile_is(-1), "which are snapshots");
	ok(snapfile_read(sf, fd, &err) == 0, "read one with zeros after it");
	snapfile_finish(sf);
	ok(code_at(sf, 0x1000, 0) && code_at(sf, 0x2000, 0), "its code");
}

static const char *stub_at(const struct snapfile *sf, uint64_t addr)
{
	static char buf[32];
	const struct snapfile_stub *stub = snapfile_stub(sf, addr);

	snprintf(buf, sizeof(buf), "%.*s", stub ? (int)stub->name_len : 1, stub ? stub->name : "-");
	return buf;
}

static void test_stubs(void)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(str_fini) struct str map = {0};
	struct err err;
	uint32_t len = 1000;

	is_str(stub_at(sf, 0x2000), "-", "no stub without a snapshot");
	make(&s);
	s.len -= sizeof(struct snap_end);
	sm_stub(&s, 0x2020, 16, "later");
	sm_stub(&s, 0x2000, 32, "call_stub");
	sm_stub(&s, 0x2038, 0, "empty");
	sm_stub(&s, UINT64_MAX - 4, 16, "around");
	sm_stub(&s, 0x2030, 8, "claims");
	memcpy(s.buf + s.len - 8 - sizeof(len), &len, sizeof(len));
	sm_done(&s);
	ok(sm_read(sf, s.buf, s.len, &err) == 0 && sm_read(sf, s.buf, s.len, &err) == 0,
	   "a snapshot with stubs, twice");
	snapfile_finish(sf);
	is_str(stub_at(sf, 0x1fff), "-", "in front of all");
	is_str(stub_at(sf, 0x2000), "call_stub", "the first byte of a stub");
	is_str(stub_at(sf, 0x201f), "call_stub", "its last byte");
	is_str(stub_at(sf, 0x2020), "later", "the next one");
	is_str(stub_at(sf, 0x2030), "-", "not one whose name is longer than its record");
	is_str(stub_at(sf, 0x2038), "-", "nor an empty one");
	is_str(stub_at(sf, UINT64_MAX - 1), "-", "nor one around the end of memory");
	perf_map_text(sf, &map);
	is_str(map.buf,
	       "1000 80 a.B.outer\n2000 20 call_stub\n2020 10 later\n2030 10 StubRoutines "
	       "(1)\n3000 80 a.B.outer\n3800 80 a.B.outer\n",
	       "perf's map has stubs, and between them their blob");
}

/* A map has no time: what was at an address last counts. */
static void test_replaced(void)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(str_fini) struct str map = {0};
	struct err err;

	make(&s);
	sm_head(&s, (struct snap_head){.time = 9, .flags = SNAP_DELTA});
	sm_code(&s, (struct sm_code){.head = {.start = 0x1000, .size = 64, .kind = SNAP_STUBS},
				     .name = "new"});
	sm_done(&s);
	ok(sm_read(sf, s.buf, s.len, &err) == 0, "a code is replaced by a shorter one");
	snapfile_finish(sf);
	perf_map_text(sf, &map);
	is_str(map.buf,
	       "1000 40 new\n1040 40 a.B.outer\n2000 40 StubRoutines (1)\n3000 80 a.B.outer\n3800 "
	       "80 a.B.outer\n",
	       "perf's map has the last code of each address");
}

/* ---- places of fields -------------------------------------------------------------------- */

/* `size` of the record: less than it needs, or more, as of a later version. */
static void layout(struct str *s, uint32_t value, uint32_t size)
{
	struct {
		struct snap_layout l;
		uint64_t more;
	} r = {{.record = {.type = SNAP_LAYOUT, .size = size},
		.class_name = value,
		.symbol_length = value + 1,
		.symbol_body = value + 2,
		.allocated = value + 3,
		.tlab_start = value + 4,
		.tlab_top = value + 5},
	       0};

	sm_head(s, (struct snap_head){.time = value});
	str_add(s, &r, size);
	sm_done(s);
}

/* Checks what a history of the snapshots has; `value` SNAP_NONE: nothing. */
static void is_layout(const struct str *s, uint32_t value, const char *what)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	const bool none = value == SNAP_NONE;
	const struct snap_layout *l;
	struct err err;

	if (s->len && sm_read(sf, s->buf, s->len, &err) < 0)
		abort();
	snapfile_finish(sf);
	l = snapfile_layout(sf);
	ok(l->class_name == value && l->symbol_length == value + !none &&
		   l->symbol_body == (none ? value : value + 2) &&
		   l->allocated == (none ? value : value + 3) &&
		   l->tlab_start == (none ? value : value + 4) &&
		   l->tlab_top == (none ? value : value + 5),
	   "%s: %d", what, (int)l->class_name);
}

static void test_layout(void)
{
	CLEANUP(str_fini) struct str s = {0};

	is_layout(&s, SNAP_NONE, "nothing is known without a snapshot");
	make(&s);
	is_layout(&s, SNAP_NONE, "nor of one without a layout");
	layout(&s, 16, sizeof(struct snap_layout) - 8);
	is_layout(&s, SNAP_NONE, "nor of one that is too short");
	layout(&s, 32, sizeof(struct snap_layout));
	is_layout(&s, 32, "the places are those of the record");
	layout(&s, 48, sizeof(struct snap_layout) + 8);
	is_layout(&s, 48, "the latest ones count, also where the record has more");
	make(&s);
	is_layout(&s, 48, "they stay where a later snapshot tells none");
}

/* `size` of the record, whose bytes are all `value`. */
static void add_objects(struct str *s, uint8_t value, uint32_t size)
{
	uint8_t bytes[sizeof(struct snap_objects) + 8];
	const struct snap_record record = {SNAP_OBJECTS, size};

	memset(bytes, value, sizeof(bytes));
	memcpy(bytes, &record, sizeof(record));
	sm_head(s, (struct snap_head){.time = value});
	str_add(s, (const char *)bytes, size);
	sm_done(s);
}

static void are_objects(const struct str *s, uint8_t value, const char *what)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	uint8_t want[sizeof(struct snap_objects)];
	struct err err;

	memset(want, value, sizeof(want));
	if (s->len && sm_read(sf, s->buf, s->len, &err) < 0)
		abort();
	snapfile_finish(sf);
	ok(memcmp(&snapfile_objects(sf)->record + 1, want + sizeof(struct snap_record),
		  sizeof(want) - sizeof(struct snap_record)) == 0,
	   "%s", what);
}

static void test_objects(void)
{
	CLEANUP(str_fini) struct str s = {0};

	are_objects(&s, 0xff, "nothing is known of objects without a snapshot");
	make(&s);
	are_objects(&s, 0xff, "nor from one without a record of them");
	add_objects(&s, 16, sizeof(struct snap_objects) - 8);
	are_objects(&s, 0xff, "nor from one that is too short");
	add_objects(&s, 32, sizeof(struct snap_objects));
	are_objects(&s, 32, "they are as the record says");
	add_objects(&s, 48, sizeof(struct snap_objects) + 8);
	are_objects(&s, 48, "the latest counts, also where the record has more");
	make(&s);
	are_objects(&s, 48, "it stays where a later snapshot has none");
}

int main(void)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	CLEANUP(str_fini) struct str s = {0};
	struct err err;

	make(&s);
	ok(sm_read(sf, s.buf, s.len, &err) == 0, "a snapshot");
	snapfile_finish(sf);
	test_scopes(sf);
	test_shared_scopes(sf);
	test_places(sf);
	test_hostile();
	test_files();
	test_stubs();
	test_replaced();
	test_layout();
	test_objects();
	return tap_done();
}
