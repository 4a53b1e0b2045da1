// SPDX-License-Identifier: Apache-2.0
#include "jit/javasym.h"

#include <sys/mman.h>

#include "common/str.h"
#include "lib/tap.h"

static struct javasym *map_of(const char *text)
{
	struct javasym *js = javasym_new();

	javasym_add(js, text, strlen(text));
	javasym_finish(js);
	return js;
}

static void is_at(const struct javasym *js, uint64_t addr, const char *want)
{
	struct java_symbol s;
	char name[64] = "";

	if (javasym_find(js, addr, &s))
		snprintf(name, sizeof(name), "%.*s", (int)s.len, s.name);
	ok(strcmp(name, want) == 0, "%#llx is %s (%s)", (unsigned long long)addr,
	   *want ? want : "nothing", name);
}

static void test_lines(void)
{
	struct javasym *js = map_of("7f0000002000 100 java.lang.String.hashCode\n"
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
				    "7f0000005000 10 behind.the.trailer\n");

	is_int(javasym_count(js), 3, "three lines are good");
	is_int(javasym_dropped(js), 8, "the others are dropped");
	is_at(js, 0x7f0000002000, "java.lang.String.hashCode");
	is_at(js, 0x7f00000020ff, "java.lang.String.hashCode");
	is_at(js, 0x7f0000002100, "");
	is_at(js, 0x7f000000107f, "Interpreter");
	is_at(js, 0x7f000000300f, "StubRoutines (1)");
	is_at(js, 0x7f0000005000, "");
	is_at(js, 0, "");
	javasym_free(js);
}

static void test_overlap(void)
{
	struct javasym *js = map_of("100 100 old\n150 100 new\n");

	is_at(js, 0x14f, "old");
	is_at(js, 0x150, "new");
	is_at(js, 0x24f, "new");
	javasym_free(js);
	js = map_of("150 100 old\n100 100 new\n");
	is_at(js, 0x1ff, "new");
	is_at(js, 0x200, "old");
	javasym_free(js);
	js = map_of("100 100 outer\n140 10 inner\n");
	is_at(js, 0x13f, "outer");
	is_at(js, 0x140, "inner");
	is_at(js, 0x150, "outer");
	javasym_free(js);
	js = map_of("140 10 inner\n100 100 outer\n");
	is_at(js, 0x140, "outer");
	javasym_free(js);
	js = map_of("100 100 first\n100 100 second\n100 80 third\n");
	is_at(js, 0x17f, "third");
	is_at(js, 0x180, "second");
	javasym_free(js);
}

static void test_snapshots(void)
{
	struct javasym *js = javasym_new();
	static const char later[] = "120 20 moved.here\n";
	static const char earlier[] = "100 100 was.there\n400 10 gone.later\n";

	javasym_add(js, earlier, strlen(earlier));
	javasym_add(js, later, strlen(later));
	javasym_finish(js);
	is_at(js, 0x100, "was.there");
	is_at(js, 0x130, "moved.here");
	is_at(js, 0x140, "was.there");
	is_at(js, 0x400, "gone.later");
	javasym_free(js);
}

static void test_limits(void)
{
	CLEANUP(str_fini) struct str s = {0};
	struct javasym *js;

	str_adds(&s, "100 10 ");
	for (int i = 0; i < JAVASYM_LINE_MAX; i++)
		str_addc(&s, 'x');
	str_adds(&s, "\n200 10 fine\n300 10 cut off");
	js = map_of(s.buf);
	is_int(javasym_count(js), 1, "a line that is too long, and one without an end");
	is_at(js, 0x200, "fine");
	javasym_free(js);
	js = map_of("");
	is_at(js, 0, "");
	javasym_free(js);
}

/* A file much longer than its map, as the host makes it. */
static void test_file(void)
{
	static const char text[] = "100 10 a.b\n";
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct javasym *js = javasym_new();
	struct err err;

	ok(fd >= 0 && write(fd, text, strlen(text)) > 0 && ftruncate(fd, 8 << 20) == 0 &&
		   pwrite(fd, "200 10 behind.zeros\n", 20, 4 << 20) == 20,
	   "a file of 8 MiB");
	is_int(javasym_read(js, fd, &err), 0, "is read");
	javasym_finish(js);
	is_int(javasym_count(js), 1, "up to the zeros");
	is_at(js, 0x108, "a.b");
	javasym_free(js);
	close(fd);
	js = javasym_new();
	is_int(javasym_read(js, -1, &err), -1, "no file");
	javasym_finish(js);
	javasym_free(js);
}

int main(void)
{
	test_lines();
	test_overlap();
	test_snapshots();
	test_limits();
	test_file();
	is_int(javasym_kind("a.B.c", 5), FRAME_JAVA, "a method");
	is_int(javasym_kind("Interpreter", 11), FRAME_INTERPRETED, "the interpreter");
	is_int(javasym_kind("Interpreters", 12), FRAME_STUB, "something else");
	is_int(javasym_kind("StubRoutines (1)", 16), FRAME_STUB, "a stub");
	return tap_done();
}
