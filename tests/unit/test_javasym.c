// SPDX-License-Identifier: Apache-2.0
#include "jit/perf_map.h"

#include <sys/mman.h>

#include "common/str.h"
#include "lib/tap.h"
#include "lib/textfile.h"

static void add(struct perf_map *pm, const char *text)
{
	CLEANUP(close_fd) int fd = file_of(text, strlen(text));
	struct err err;

	if (perf_map_read(pm, fd, &err) < 0)
		abort();
}

static struct perf_map *map_of(const char *text)
{
	struct perf_map *pm = perf_map_new();

	add(pm, text);
	perf_map_finish(pm);
	return pm;
}

static void is_at(const struct perf_map *pm, uint64_t addr, const char *want)
{
	struct perf_map_symbol s;
	char name[64] = "";

	if (perf_map_find(pm, addr, &s))
		snprintf(name, sizeof(name), "%.*s", (int)s.len, s.name);
	ok(strcmp(name, want) == 0, "%#llx is %s (%s)", (unsigned long long)addr,
	   *want ? want : "nothing", name);
}

static void test_lines(void)
{
	struct perf_map *pm = map_of("7f0000002000 100 java.lang.String.hashCode\n"
				     "7f0000001000 80 Interpreter\n"
				     "0x00007f0000003000 0x0000000000000010 StubRoutines (1)\n"
				     "7f0000004000 0 no.size\n"
				     "7f0000004000  10 two.blanks\n"
				     "7f0000004000 10 \n"
				     "7f0000004000 10\n"
				     "ffffffffffffffff 10 over.the.end\n"
				     "12345678901234567 10 too.long\n"
				     "-1 10 minus\n"
				     "\n"
				     "#dfg1 end seq=1 status=0 entries=3 skipped=0 bytes=1 us=1\n"
				     "7f0000005000 10 after.the.trailer\n");

	is_at(pm, 0x7f0000002000, "java.lang.String.hashCode");
	is_at(pm, 0x7f00000020ff, "java.lang.String.hashCode");
	is_at(pm, 0x7f0000002100, "");
	is_at(pm, 0x7f000000107f, "Interpreter");
	is_at(pm, 0x7f000000300f, "StubRoutines (1)");
	is_at(pm, 0x7f0000004000, "");
	is_at(pm, 0x7f0000004008, "");
	is_at(pm, 0x7f0000005000, "");
	is_at(pm, 0, "");
	perf_map_free(pm);
}

static void test_overlap(void)
{
	struct perf_map *pm = map_of("100 100 old\n150 100 new\n");

	is_at(pm, 0x14f, "old");
	is_at(pm, 0x150, "new");
	is_at(pm, 0x24f, "new");
	perf_map_free(pm);
	pm = map_of("150 100 old\n100 100 new\n");
	is_at(pm, 0x1ff, "new");
	is_at(pm, 0x200, "old");
	perf_map_free(pm);
	pm = map_of("100 100 outer\n140 10 inner\n");
	is_at(pm, 0x13f, "outer");
	is_at(pm, 0x140, "inner");
	is_at(pm, 0x150, "outer");
	perf_map_free(pm);
	pm = map_of("140 10 inner\n100 100 outer\n");
	is_at(pm, 0x140, "outer");
	perf_map_free(pm);
	pm = map_of("100 100 first\n100 100 second\n100 80 third\n");
	is_at(pm, 0x17f, "third");
	is_at(pm, 0x180, "second");
	perf_map_free(pm);
}

static void test_snapshots(void)
{
	struct perf_map *pm = perf_map_new();
	static const char later[] = "120 20 moved.here\n";
	static const char earlier[] = "100 100 was.there\n400 10 gone.later\n";

	add(pm, earlier);
	add(pm, later);
	perf_map_finish(pm);
	is_at(pm, 0x100, "was.there");
	is_at(pm, 0x130, "moved.here");
	is_at(pm, 0x140, "was.there");
	is_at(pm, 0x400, "gone.later");
	perf_map_free(pm);
}

static void test_limits(void)
{
	CLEANUP(str_fini) struct str s = {0};
	struct perf_map *pm;

	str_adds(&s, "100 10 ");
	for (int i = 0; i < PERF_MAP_LINE_MAX; i++)
		str_addc(&s, 'x');
	str_adds(&s, "\n200 10 fine\n300 10 cut off");
	pm = map_of(s.buf);
	is_at(pm, 0x100, "");
	is_at(pm, 0x200, "fine");
	is_at(pm, 0x300, "");
	perf_map_free(pm);
	pm = map_of("");
	is_at(pm, 0, "");
	perf_map_free(pm);
}

/* A file much longer than its map, as the host makes it. */
static void test_file(void)
{
	static const char text[] = "100 10 a.b\n";
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct perf_map *pm = perf_map_new();
	struct err err;

	ok(fd >= 0 && write(fd, text, strlen(text)) > 0 && ftruncate(fd, 8 << 20) == 0 &&
		   pwrite(fd, "200 10 after.zeros\n", 20, 4 << 20) == 20,
	   "a file of 8 MiB");
	is_int(perf_map_read(pm, fd, &err), 0, "is read");
	perf_map_finish(pm);
	is_at(pm, 0x108, "a.b");
	is_at(pm, 0x208, "");
	perf_map_free(pm);
	close(fd);
	pm = perf_map_new();
	is_int(perf_map_read(pm, -1, &err), -1, "no file");
	perf_map_finish(pm);
	perf_map_free(pm);
}

/* All lines, those that a later one covers, too, in the order of the file. */
static void test_text(void)
{
	struct perf_map *pm = map_of("0x200 0x10 a.b\nno line\n100 20 c\033\n100 20 d.e\n");
	CLEANUP(str_fini) struct str text = {0};

	perf_map_lines(pm, &text);
	is_str(text.buf, "200 10 a.b\n100 20 c?\n100 20 d.e\n",
	       "a map is written as it was read, without what is no line, in clean names");
	perf_map_free(pm);
}

int main(void)
{
	test_text();
	test_lines();
	test_overlap();
	test_snapshots();
	test_limits();
	test_file();
	is_int(perf_map_kind("a.B.c", 5), FRAME_JAVA, "a method");
	is_int(perf_map_kind("Interpreter", 11), FRAME_INTERPRETED, "the interpreter");
	is_int(perf_map_kind("Interpreters", 12), FRAME_STUB, "something else");
	is_int(perf_map_kind("StubRoutines (1)", 16), FRAME_STUB, "a stub");
	return tap_done();
}
