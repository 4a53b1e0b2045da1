// SPDX-License-Identifier: Apache-2.0
/* Maps of compiled code as text: which lines count, and which line has an address. */
#include "jit/perf_map.h"

#include "dfg/request.h"
#include "lib/snapmake.h"
#include "lib/tap.h"

static int add(struct perf_map *pm, const char *text, size_t len)
{
	CLEANUP(close_fd) int fd = file_of(text, len);
	struct err err;

	return perf_map_read(pm, fd, &err);
}

static struct perf_map *map_of(const char *text)
{
	struct perf_map *pm = perf_map_new();

	if (add(pm, text, strlen(text)) < 0)
		abort();
	perf_map_finish(pm);
	return pm;
}

/* "start-end name" of the symbol at an address, or "". */
static const char *found_at(const struct perf_map *pm, uint64_t addr)
{
	static char buf[128];
	struct perf_map_symbol s;

	buf[0] = '\0';
	if (perf_map_find(pm, addr, &s))
		snprintf(buf, sizeof(buf), "%llx-%llx %.*s", (unsigned long long)s.start,
			 (unsigned long long)s.end, s.len < 40 ? (int)s.len : 40, s.name);
	return buf;
}

/* Case 63. */
static void test_lines(void)
{
	static const struct {
		const char *text, *want, *what;
		uint64_t addr;
	} t[] = {
		{"1000 100 a.B.c\n", "1000-1100 a.B.c", "the first byte of a line is its own",
		 0x1000},
		{"1000 100 a.B.c\n", "1000-1100 a.B.c", "the last byte of a line is its own",
		 0x10ff},
		{"1000 100 a.B.c\n", "", "the byte after a line is nobody's", 0x1100},
		{"1000 100 a.B.c\n", "", "the byte before a line is nobody's", 0xfff},
		{"", "", "an empty map has no symbol", 0x1000},
		{"\n\n1000 1 a\n", "1000-1001 a", "empty lines are skipped", 0x1000},
		{"0x1000 0x100 a\n", "1000-1100 a", "numbers may begin with 0x", 0x1010},
		{"0X1000 0X100 a\n", "1000-1100 a", "numbers may begin with 0X", 0x1010},
		{"1x1000 100 a\n", "", "no other digit comes before an x", 0x1010},
		{"0y1000 100 a\n", "", "no other letter comes after a zero", 0x1010},
		{"0x 100 a\n", "", "a prefix alone is no number", 0},
		{"01000 00100 a\n", "1000-1100 a", "leading zeros are numbers", 0x1010},
		{"0 10 a\n", "0-10 a", "a single zero is a number", 0},
		{"ABC0 10 a\n", "abc0-abd0 a", "digits may be capitals", 0xabc5},
		{"1000 100 a b c\n", "1000-1100 a b c", "a name may have blanks", 0x1010},
		{"1000 100  a\n", "1000-1100  a", "a name may begin with a blank", 0x1010},
		{"1000 100 a", "", "a line without a newline was cut off", 0x1010},
		{"1000 100 \n", "", "a line without a name is dropped", 0x1010},
		{"1000 100\n", "", "a line without a second blank is dropped", 0x1010},
		{"1000\n", "", "a line without a blank is dropped", 0x1010},
		{" 1000 100 a\n", "", "a line that begins with a blank is dropped", 0x1010},
		{"1000 0 a\n", "", "a line without a size is dropped", 0x1000},
		{"1000 g a\n", "", "a size that is no number is dropped", 0x1000},
		{"g 100 a\n", "", "a start that is no number is dropped", 0x10},
		{"g 100 a\n1000 1 b\n", "1000-1001 b", "the line after a bad one counts", 0x1000},
		{"ffffffffffffff00 ff a\n", "ffffffffffffff00-ffffffffffffffff a",
		 "a line may extend to the last address", 0xffffffffffffff01},
		{"ffffffffffffff00 100 a\n", "", "a line does not end at the end of all addresses",
		 0xffffffffffffff01},
		{"ffffffffffffff00 200 a\n", "", "a line does not extend around all addresses",
		 0xffffffffffffff01},
		{"1000 1 a\n" DFG_TRAILER_START "\n2000 1 b\n", "1000-1001 a",
		 "lines before a trailer count", 0x1000},
		{"1000 1 a\n" DFG_TRAILER_START "\n2000 1 b\n", "",
		 "lines after a trailer do not count", 0x2000},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct perf_map *pm = map_of(t[i].text);

		is_str(found_at(pm, t[i].addr), t[i].want, "%s", t[i].what);
		perf_map_free(pm);
	}
}

/* Case 63. */
static void test_overlaps(void)
{
	static const struct {
		const char *text, *want, *what;
		uint64_t addr;
	} t[] = {
		{"1000 100 a\n1100 100 b\n", "1000-1100 a", "a line ends where the next begins",
		 0x10ff},
		{"1000 100 a\n1100 100 b\n", "1100-1200 b", "a line begins where the other ends",
		 0x1100},
		{"1100 100 a\n1000 100 b\n", "1000-1100 b", "lines need no order", 0x10ff},
		{"1000 100 a\n1000 100 b\n", "1000-1100 b", "of equal ranges the later counts",
		 0x1000},
		{"1000 100 a\n1040 20 b\n", "1000-1040 a", "a hole leaves the part before it",
		 0x103f},
		{"1000 100 a\n1040 20 b\n", "1040-1060 b", "a hole is the later line's", 0x1040},
		{"1000 100 a\n1040 20 b\n", "1040-1060 b", "the end of a hole is the later line's",
		 0x105f},
		{"1000 100 a\n1040 20 b\n", "1060-1100 a", "a hole leaves the part after it",
		 0x1060},
		{"1040 20 b\n1000 100 a\n", "1000-1100 a", "a line covers an earlier one whole",
		 0x1050},
		{"1040 20 b\n1000 100 a\n", "1000-1100 a", "what is covered does not divide",
		 0x1000},
		{"1000 100 a\n1080 100 b\n", "1000-1080 a", "a later line takes the end", 0x107f},
		{"1000 100 a\n1080 100 b\n", "1080-1180 b", "a later line keeps its own start",
		 0x1080},
		{"1080 100 b\n1000 100 a\n", "1000-1100 a", "a later line takes the start", 0x10ff},
		{"1080 100 b\n1000 100 a\n", "1100-1180 b", "the rest is the earlier line's",
		 0x1100},
		{"1000 100 a\n1010 10 b\n1018 20 c\n", "1010-1018 b",
		 "of three lines the second keeps what the third leaves", 0x1017},
		{"1000 100 a\n1010 10 b\n1018 20 c\n", "1018-1038 c",
		 "the third has all of its own", 0x1037},
		{"1000 100 a\n1010 10 b\n1018 20 c\n", "1038-1100 a", "the first has the rest",
		 0x1038},
		{"1000 10 a\n3000 10 b\n", "", "between two lines is nothing", 0x2000},
		{"1000 10 a\n3000 10 b\n", "", "after all lines is nothing", 0x3010},
		{"1000 10 same\n1010 10 same\n", "1010-1020 same",
		 "lines of one name are not joined", 0x1010},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct perf_map *pm = map_of(t[i].text);

		is_str(found_at(pm, t[i].addr), t[i].want, "%s", t[i].what);
		perf_map_free(pm);
	}
}

/* Compares each address with the last line that has it. */
static void test_many(void)
{
	CLEANUP(str_fini) struct str text = {0};
	static uint32_t want[0x400];
	struct perf_map *pm;
	uint32_t seed = 3;
	bool same = true;

	for (uint32_t i = 1; i <= 300; i++) {
		uint32_t start, size;

		seed = seed * 1664525 + 1013904223;
		start = seed >> 12 & 0x3ff;
		size = 1 + (seed >> 24 & 0x1f);
		size = start + size > 0x400 ? 0x400 - start : size;
		str_addf(&text, "%x %x %u\n", start, size, i);
		for (uint32_t a = start; a < start + size; a++)
			want[a] = i;
	}
	pm = map_of(text.buf);
	for (uint32_t a = 0; a < 0x400; a++) {
		struct perf_map_symbol s;
		bool found = perf_map_find(pm, a, &s);

		same = same && found == (want[a] != 0);
		same = same && (!found || (a >= s.start && a < s.end));
		same = same && (!found || strtoul(s.name, NULL, 10) == want[a]);
	}
	ok(same, "each address has the last of 300 lines that cover it");
	perf_map_free(pm);
}

/* Lines that are dropped leave nothing of the one before. */
static void test_dropped(void)
{
	static const char *const bad[] = {"1000 0 b",
					  "1000 100 ",
					  "1000 100",
					  "g 100 b",
					  "1000 g b",
					  "1000",
					  "ffffffffffffffff 2 b",
					  ""};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP(free) char *text = xasprintf("1000 1 a\n%s\n2000 2 c\n", bad[i]);
		CLEANUP(str_fini) struct str lines = {0};
		struct perf_map *pm = map_of(text);

		perf_map_lines(pm, &lines);
		is_str(lines.buf, "1000 1 a\n2000 2 c\n", "a bad line is no line: %s", bad[i]);
		perf_map_free(pm);
	}
}

static void test_files(void)
{
	static const char nul[] = "1000 10 a\n\0002000 10 b\n";
	struct perf_map *pm = perf_map_new();
	CLEANUP(str_fini) struct str lines = {0};
	struct err err = {0};

	perf_map_lines(pm, &lines);
	is_int(lines.len, 0, "a map without a file has no lines");
	is_int(add(pm, nul, sizeof(nul) - 1), 0, "a map with a zero in it is read");
	is_int(add(pm, "1008 10 c\n5000 4 d;e\n", 21), 0, "a second file is read");
	is_int(add(pm, "", 0), 0, "an empty file is read");
	perf_map_finish(pm);
	is_str(found_at(pm, 0x1007), "1000-1008 a", "a line of the first file counts");
	is_str(found_at(pm, 0x1008), "1008-1018 c", "a line of the second file covers it");
	is_str(found_at(pm, 0x2000), "", "lines after a zero do not count");
	perf_map_lines(pm, &lines);
	is_str(lines.buf, "1000 10 a\n1008 10 c\n5000 4 d:e\n",
	       "the lines are given as they were written, in clean names");
	is_int(perf_map_read(pm, -1, &err), -1, "what cannot be read is an error");
	is_str(err.msg, "read a map of compiled code: Bad file descriptor", "its error says why");
	perf_map_free(pm);
	perf_map_free(NULL);
}

static void test_line_limit(void)
{
	for (size_t len = PERF_MAP_LINE_MAX - 1; len <= PERF_MAP_LINE_MAX + 1; len++) {
		CLEANUP(str_fini) struct str text = {0};
		struct perf_map_symbol s = {0};
		struct perf_map *pm;
		bool found;

		str_adds(&text, "1000 10 ");
		while (text.len < len)
			str_addc(&text, 'x');
		str_addc(&text, '\n');
		pm = map_of(text.buf);
		found = perf_map_find(pm, 0x1000, &s);
		ok(found == (len <= PERF_MAP_LINE_MAX), "a line of %zu bytes is %s", len,
		   found ? "kept" : "dropped");
		is_int(s.len, found ? len - 8 : 0, "its name is not cut");
		perf_map_free(pm);
	}
}

static void test_file_limits(void)
{
	CLEANUP(str_fini) struct str text = {0};
	struct perf_map *pm;

	for (uint32_t i = 1; i < PERF_MAP_LINES_MAX; i++)
		str_adds(&text, "1 1 a\n");
	str_adds(&text, "1000 10 last\n2000 10 more\n");
	pm = perf_map_new();
	is_int(add(pm, text.buf, text.len), 0, "a file with more lines than count is read");
	is_int(add(pm, "3000 10 other\n", 14), 0, "another file is read after it");
	perf_map_finish(pm);
	is_str(found_at(pm, 0x1000), "1000-1010 last", "the last line that counts is there");
	is_str(found_at(pm, 0x2000), "", "the line after the limit is dropped");
	is_str(found_at(pm, 0x3000), "3000-3010 other", "each file has its own limit");
	perf_map_free(pm);
}

static void test_kinds(void)
{
	is_int(perf_map_kind("a.b", 3), FRAME_JAVA, "a name with a dot is Java's");
	is_int(perf_map_kind("ab.", 2), FRAME_STUB, "a dot after the name does not count");
	is_int(perf_map_kind("Interpreter", 11), FRAME_INTERPRETED, "the interpreter is one");
	is_int(perf_map_kind("InterpreteR", 11), FRAME_STUB, "another name is a stub's");
	is_int(perf_map_kind("Interpreter", 10), FRAME_STUB, "a shorter name is a stub's");
	is_int(perf_map_kind("Interpreter2", 12), FRAME_STUB, "a longer name is a stub's");
	is_int(perf_map_kind("", 0), FRAME_STUB, "no name is a stub's");
}

static void blob(struct str *s, uint64_t start, uint32_t size, const char *name)
{
	sm_code(s, (struct sm_code){.head = {.start = start, .size = size, .kind = SNAP_STUBS},
				    .name = name});
}

static void is_text_of(const struct str *s, const char *want, const char *what)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	CLEANUP(str_fini) struct str map = {0};
	struct err err;

	ok(!s->len || sm_read(sf, s->buf, s->len, &err) == 0, "the history is read");
	snapfile_finish(sf);
	str_adds(&map, "");
	perf_map_text(sf, &map);
	is_str(map.len ? map.buf : "", want, "%s", what);
}

/* A blob in which stubs have their own names. */
static void test_text(void)
{
	CLEANUP(str_fini) struct str s = {0};

	is_text_of(&s, "", "a history of nothing is an empty map");
	sm_head(&s, (struct snap_head){.time = 1});
	blob(&s, 0x2000, 0x100, "blob");
	blob(&s, 0x1000, 0x100, "lower;blob");
	sm_code(&s, (struct sm_code){.head = {.start = 0x3000,
					      .size = 0x100,
					      .kind = SNAP_COMPILED,
					      .method = 1}});
	sm_method(&s, 1, "a.B.c", "");
	sm_stub(&s, 0x1ff8, 0x10, "before");
	sm_stub(&s, 0x2010, 0x10, "first");
	sm_stub(&s, 0x2018, 0x10, "overlaps");
	sm_stub(&s, 0x2020, 0x10, "second");
	sm_stub(&s, 0x20f0, 0x10, "last");
	sm_stub(&s, 0x20f8, 0x10, "crosses");
	sm_stub(&s, 0x10f0, 0x10, "end");
	sm_stub(&s, 0x1000, 0x10, "start");
	sm_stub(&s, 0x3010, 0x10, "in_a_method");
	sm_done(&s);
	is_text_of(&s,
		   "1000 10 start\n1010 e0 lower:blob\n10f0 10 end\n"
		   "2000 10 blob\n2010 10 first\n2020 10 second\n2030 c0 blob\n20f0 10 last\n"
		   "3000 100 a.B.c\n",
		   "stubs divide the blob that holds them whole");
}

int main(void)
{
	test_lines();
	test_overlaps();
	test_many();
	test_dropped();
	test_files();
	test_line_limit();
	test_file_limits();
	test_kinds();
	test_text();
	return tap_done();
}
