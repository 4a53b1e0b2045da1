// SPDX-License-Identifier: Apache-2.0
/* A profile with all details in each format that takes them, whole. UPDATE=1 writes the expected
 * files anew: look at them. */
#include <fcntl.h>
#include <time.h>

#include "format/html.h"
#include "lib/drawn.h"
#include "lib/tap.h"

#define EXPECTED "tests/golden/draw/details."

static uint32_t frame(struct profile *p, const char *name, enum frame_kind kind, uint32_t line,
		      const char *module)
{
	struct frames *fs = stacks_frames(p->stacks);

	return frames_place(fs, frames_intern(fs, name, strlen(name), kind), line,
			    frames_intern_module(fs, module));
}

static void add(struct profile *p, uint64_t ms, uint32_t node, uint32_t thread)
{
	samples_add(p->samples, ms * 1000000 + 500, node, thread);
	p->quality.samples++;
}

static void add_threads(struct profile *p)
{
	uint32_t web =
		samples_add_origin(p->samples, &(struct origin){"web", "0123", "web-1", "shop",
								"db1", "2026-11-21T10:00:00Z"});
	uint32_t db = samples_add_origin(
		p->samples, &(struct origin){"db", "4567", "", "", "", "2026-11-21T11:00:00Z"});

	samples_add_thread(p->samples, web, 7, 7);
	samples_add_thread(p->samples, web, 7, 9);
	samples_add_thread(p->samples, db, 8, 8);
	samples_add_thread(p->samples, db, 8, 12);
}

/* Frames that differ in one thing each: the end of the name, kind, file, line. */
static void add_places(struct profile *p, uint32_t thread)
{
	uint32_t stack[] = {
		thread,
		frame(p, "a.B.cc", FRAME_INTERPRETED, 12, ""),
		frame(p, "a.B.c", FRAME_INTERPRETED, 13, ""),
		frame(p, "a.B.c", FRAME_JAVA, 12, "/jdk/libjvm.so"),
		frame(p, "a.B.c", FRAME_JAVA, 12, "/lib/libc.so.6"),
		frame(p, "a.B", FRAME_INTERPRETED, 0, ""),
		frame(p, "a.B.c", FRAME_JAVA, 11, "/jdk/libjvm.so"),
	};

	stacks_add(p->stacks, stack, ARRAY_LEN(stack), 1);
}

/* Threads of two containers; a frame of each kind; stacks that have no sample of a known thread,
 * one of them without a frame, one without a thread's name. */
static void profile_make(struct profile *p)
{
	uint32_t stack[10], full, shorter, other;

	profile_init(p, true);
	add_threads(p);
	stack[0] = frame(p, "exec-1", FRAME_ROOT, 0, "");
	stack[1] = frame(p, "start_thread", FRAME_NATIVE, 0, "/lib/libc.so.6");
	stack[2] = frame(p, "JavaThread::run", FRAME_JVM, 0, "/jdk/libjvm.so");
	stack[3] = frame(p, "a.B.c", FRAME_INTERPRETED, 12, "");
	stack[4] = frame(p, "a.B.d", FRAME_JAVA, 34, "");
	stack[5] = frame(p, "a.B.e", FRAME_INLINED, 56, "");
	stack[6] = frame(p, "a.B.e", FRAME_INLINED, 57, "");
	stack[7] = frame(p, "arraycopy", FRAME_STUB, 0, "");
	stack[8] = frame(p, "[anon]", FRAME_UNKNOWN, 0, "");
	stack[9] = frame(p, "page_fault", FRAME_KERNEL, 0, "[kernel.kallsyms]");
	full = stacks_add(p->stacks, stack, 10, 3);
	shorter = stacks_add(p->stacks, stack, 5, 2);
	stacks_add(p->stacks, stack, 4, 4);
	stacks_add(p->stacks, stack, 0, 5);
	stacks_add(p->stacks, stack + 3, 2, 1);
	stack[0] = frame(p, "GC \"1\"", FRAME_ROOT, 0, "");
	other = stacks_add(p->stacks, stack, 2, 2);
	add_places(p, stack[0]);
	add(p, 0, full, 0);
	add(p, 10, full, 0);
	add(p, 20, shorter, 0);
	add(p, 25, other, 2);
	add(p, 30, full, 1);
	add(p, 40, shorter, 0);
	add(p, 12345, other, 3);
	p->quality = (struct quality){.samples = 18,
				      .lost = 2,
				      .java_samples = 10,
				      .java_complete = 9,
				      .frames = 100,
				      .frames_unknown = 4,
				      .truncated = 3,
				      .stale = 5};
}

/* The files name no version. */
static char *without_version(const char *text)
{
	static const char named[] = "\"dfg " DFG_VERSION "\"";
	const char *at = strstr(text, named);

	return at ? xasprintf("%.*s\"dfg\"%s", (int)(at - text), text, at + strlen(named))
		  : xstrdup(text);
}

static void check(const char *name, const char *text)
{
	CLEANUP(free) char *path = xasprintf(EXPECTED "%s", name);
	CLEANUP(free) char *got = without_version(text);
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(free) char *want = NULL;

	if (getenv("UPDATE")) {
		FILE *f = fopen(path, "we");

		if (f) {
			fputs(got, f);
			fclose(f);
		}
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	want = fd < 0 ? NULL : drawn_text(fd);
	is_str(got, want, "all details are in %s as expected", name);
}

typedef int draw_fn(const struct stacks *s, const struct picture *p, int fd, struct err *err);

static char *drawn(draw_fn *draw, const struct picture *p)
{
	CLEANUP(close_fd) int fd = memfd_create("drawn", MFD_CLOEXEC);
	struct err err;

	return draw(p->details->stacks, p, fd, &err) == 0 ? drawn_text(fd) : xstrdup("failed");
}

static const struct {
	const char *name;
	draw_fn *draw;
} formats[] = {{"json", draw_json}, {"speedscope", draw_speedscope}, {"firefox", draw_firefox}};

static void test_formats(const struct picture *picture)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		CLEANUP(free) char *name = xasprintf("%s.json", formats[i].name);
		CLEANUP(free) char *text = drawn(formats[i].draw, picture);

		check(name, text);
	}
}

/* Without a frequency there are no times of processors, without samples no threads. */
static void test_less(const struct profile *p)
{
	struct profile without = *p;
	struct picture picture = {.title = "t", .subtitle = "", .details = &without};

	without.samples = NULL;
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		CLEANUP(free) char *name = xasprintf("less-%s.json", formats[i].name);
		CLEANUP(free) char *text = drawn(formats[i].draw, &picture);

		check(name, text);
	}
}

/* Of bytes and times the programs have units of their own. */
static void test_units(const struct profile *p)
{
	static const struct {
		draw_fn *draw;
		const char *unit, *want, *name;
	} t[] = {
		{draw_firefox, NULL, "\"weightType\":\"samples\"", "firefox: samples"},
		{draw_firefox, "bytes", "\"weightType\":\"bytes\"", "firefox: bytes"},
		{draw_firefox, "ns", "\"weightType\":\"tracing-ms\"", "firefox: ms"},
		{draw_firefox, "ns", "0.000002", "firefox: 2 ns are 0.000002 ms"},
		{draw_speedscope, NULL, "\"unit\":\"none\"", "speedscope: samples"},
		{draw_speedscope, "bytes", "\"unit\":\"bytes\"", "speedscope: bytes"},
		{draw_speedscope, "ns", "\"unit\":\"nanoseconds\"", "speedscope: ns"},
	};
	struct profile without = *p;

	without.samples = NULL;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		const struct picture picture = {
			.title = "t", .subtitle = "", .unit = t[i].unit, .details = &without};
		CLEANUP(free) char *text = drawn(t[i].draw, &picture);

		ok(strstr(text, t[i].want), "%s", t[i].name);
	}
}

static void test_page(const struct profile *p)
{
	CLEANUP(free) uint32_t *nodes = NULL;
	struct stacks *plain = stacks_plain(p->stacks, &nodes);
	CLEANUP(str_fini) struct str text = {0};

	stacks_sort(plain);
	page_data(&text, &(struct page){.stacks = plain,
					.title = "t",
					.subtitle = "s",
					.quality = "q",
					.details = p,
					.nodes = nodes});
	str_adds(&text, "\n");
	check("page.json", text.buf);
	stacks_free(plain);
}

static void test_full_disk(const struct picture *picture)
{
	static draw_fn *const draws[] = {draw_json,  draw_speedscope, draw_firefox,
					 draw_pprof, draw_svg,	      draw_html};
	CLEANUP(close_fd) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(draws); i++)
		ok(draws[i](picture->details->stacks, picture, full, &err) == -1 &&
			   strstr(err.msg, "No space left"),
		   "format %zu reports a full disk", i);
}

int main(void)
{
	struct profile p;
	struct picture picture = {.title = "web: \"all\"",
				  .subtitle = "sub",
				  .frequency = 99,
				  .duration = 1.25,
				  .details = &p};

	setenv("TZ", "Asia/Tokyo", 1);
	tzset();
	profile_make(&p);
	stacks_sort(p.stacks);
	picture.quality = p.quality;
	test_formats(&picture);
	test_less(&p);
	test_units(&p);
	test_page(&p);
	test_full_disk(&picture);
	profile_fini(&p);
	return tap_done();
}
