// SPDX-License-Identifier: Apache-2.0
#include "calltree/frames.h"

#include "lib/tap.h"

static struct frames *frames;

static const struct frame *of(const char *name, enum frame_kind kind)
{
	return frames_get(frames, frames_intern(frames, name, strlen(name), kind));
}

static void test_start(void)
{
	static const char *const yes[] = {"start_thread",
					  "clone",
					  "clone3",
					  "__clone",
					  "__clone3",
					  "__GI___clone3",
					  "_start",
					  "thread_start",
					  "start",
					  "_start_c",
					  "__libc_start_call_main",
					  "__libc_start_main",
					  "__libc_start_main_impl",
					  "[libc-2.31.so]",
					  "[libpthread-2.31.so]",
					  "[ld-musl-x86_64.so.1]"};
	static const char *const no[] = {"start_thread2", "thread_native_entry", "clone2", ""};

	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		ok(of(yes[i], FRAME_NATIVE)->start, "%s starts a thread", yes[i]);
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		ok(!of(no[i], FRAME_NATIVE)->start, "%s starts no thread", no[i]);
	ok(of("[libc.so.6]", FRAME_UNKNOWN)->start, "a stripped libc may start a thread");
	ok(!of("[libc.so.6]", FRAME_UNKNOWN)->nameless, "an unknown frame is not nameless");
	ok(of("[libc.so.6+0x10]", FRAME_NATIVE)->start, "a function of a stripped libc, too");
	ok(of("[libc.so.6+0x10]", FRAME_NATIVE)->nameless, "it is nameless");
	ok(!of("[libcrypto.so]", FRAME_UNKNOWN)->start, "another library starts no thread");
}

static void test_java(void)
{
	ok(of("a.B.c", FRAME_JAVA)->java, "a compiled method is Java");
	ok(of("a.B.c", FRAME_INLINED)->java, "an inlined method is Java");
	ok(of("a.B.c", FRAME_INTERPRETED)->java, "an interpreted method is Java");
	ok(!of("StubRoutines (1)", FRAME_STUB)->java, "a stub is not Java");
	ok(!of("a.B.c", FRAME_UNKNOWN)->java, "an unknown frame is not Java");
}

static void test_places(void)
{
	uint32_t plain = frames_intern(frames, "a.B.c", 5, FRAME_JAVA), placed;

	is_int(frames_place(frames, plain, 7, 0), plain, "places do not count unless kept");
	frames_free(frames);
	frames = frames_new();
	frames_keep_places(frames);
	plain = frames_intern(frames, "a.B.c", 5, FRAME_JAVA);
	placed = frames_level(frames, frames_place(frames, plain, 7, 0), 4);
	ok(placed != plain, "kept places distinguish frames");
	is_int(frames_get(frames, placed)->plain, plain, "a placed frame knows the plain one");
	ok(frames_get(frames, placed)->java, "a placed Java method is Java");
}

/* A frame for each combination of two names, kinds, lines, modules and levels. */
static void test_distinct(void)
{
	static const char *const names[] = {"a.B.c", "a.B.d"};
	static const enum frame_kind kinds[] = {FRAME_JAVA, FRAME_INLINED};
	uint32_t numbers[32], again = 0, count = 0;
	uint32_t lib;

	frames_free(frames);
	frames = frames_new();
	frames_keep_places(frames);
	ok(frames_keeps_places(frames), "places are kept once asked for");
	lib = frames_intern_module(frames, "/lib/x.so");
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 32; i++) {
			uint32_t f = frames_intern(frames, names[i & 1], 5, kinds[i >> 1 & 1]);

			f = frames_place(frames, f, i & 4 ? 7 : 0, i & 8 ? lib : 0);
			f = frames_level(frames, f, i & 16 ? 4 : 0);
			if (round)
				again += numbers[i] == f;
			numbers[i] = f;
		}
	for (uint32_t i = 0; i < 32; i++) {
		const struct frame *f = frames_get(frames, numbers[i]);
		const struct frame *plain = frames_get(frames, f->plain);

		count += f->kind == kinds[i >> 1 & 1] && f->line == (i & 4 ? 7 : 0) &&
			 f->module == (i & 8 ? lib : 0) && f->level == (i & 16 ? 4 : 0) &&
			 strcmp(f->name, names[i & 1]) == 0 && f->len == 5 && f->java &&
			 plain->kind == f->kind && plain->name == f->name && !plain->line &&
			 !plain->module && !plain->level;
	}
	is_int(again, 32, "a frame at a place is found again");
	is_int(count, 32, "each frame has its own name, kind, line, module and level");
	is_int(frames_count(frames), 32, "no frame is there twice");
}

static void test_modules(void)
{
	struct frames *fs = frames_new();
	uint32_t a, b;

	is_int(frames_module_count(fs), 1, "there is a module of no name from the start");
	is_str(frames_module(fs, 0), "", "module 0 has no name");
	is_int(frames_intern_module(fs, ""), 0, "a module of no name is module 0");
	a = frames_intern_module(fs, "/a");
	b = frames_intern_module(fs, "/b");
	is_int(a, 1, "the first module is 1");
	is_int(b, 2, "the second module is 2");
	is_int(frames_intern_module(fs, "/a"), a, "a module is added once");
	is_int(frames_module_count(fs), 3, "modules are counted with that of no name");
	is_str(frames_module(fs, b), "/b", "a module has its path");
	is_int(frames_level(fs, frames_intern(fs, "f", 1, FRAME_JAVA), 3), 0,
	       "levels do not count where places are not kept");
	frames_free(fs);
}

/* A profile of unknown origin has as many as it likes: time must not grow with their square. */
static void test_many_modules(void)
{
	enum { MODULES = 200000 };
	struct frames *fs = frames_new();
	unsigned same = 0;
	char path[32];

	for (unsigned again = 0; again < 2; again++)
		for (unsigned i = 1; i <= MODULES; i++) {
			snprintf(path, sizeof(path), "/%u", i);
			same += frames_intern_module(fs, path) == i;
		}
	is_int(same, 2 * MODULES, "200 000 modules keep their numbers");
	is_int(frames_module_count(fs), MODULES + 1, "each is there once");
	is_str(frames_module(fs, MODULES), "/200000", "the last has its path");
	frames_free(fs);
}

static void test_names(void)
{
	CLEANUP(free) char *large = xmalloc(200000);
	struct frames *fs = frames_new();
	const char *first = frames_get(fs, frames_intern(fs, "first", 5, FRAME_JAVA))->name;
	bool good = true;

	memset(large, 'x', 200000);
	/* Around the size of a chunk, 64 KiB, and around what is left of one. */
	for (size_t len = 65520; len < 65550; len++) {
		const struct frame *f = frames_get(fs, frames_intern(fs, large, len, FRAME_JAVA));

		good = good && f->len == len && strlen(f->name) == len;
	}
	for (size_t len = 1; len < 2000; len++) {
		const struct frame *f = frames_get(fs, frames_intern(fs, large, len, FRAME_NATIVE));

		good = good && f->len == len && strlen(f->name) == len;
	}
	ok(strlen(frames_get(fs, frames_intern(fs, large, 200000, FRAME_JAVA))->name) == 200000,
	   "a name may be longer than a chunk");
	ok(good, "names of all lengths are copied whole and end with a zero");
	is_str(first, "first", "a borrowed name stays valid");
	frames_free(fs);
}

static void test_text_kinds(void)
{
	static const struct {
		const char *name;
		enum frame_kind kind;
	} t[] = {{"[unknown]", FRAME_UNKNOWN},
		 {"[unknown", FRAME_NATIVE},
		 {"[unknown]x", FRAME_NATIVE},
		 {"9 letters", FRAME_NATIVE},
		 {"Thread::run", FRAME_JVM},
		 {"a:b", FRAME_NATIVE},
		 {"::", FRAME_JVM},
		 {"", FRAME_NATIVE},
		 {"[unknown]::", FRAME_JVM}};

	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		is_int(frame_kind_of_text(t[i].name, strlen(t[i].name)), t[i].kind,
		       "the kind of \"%s\" in folded text is known", t[i].name);
	is_int(frame_kind_of_text("a::b", 2), FRAME_NATIVE, "what follows the name does not count");
}

int main(void)
{
	frames = frames_new();
	test_java();
	test_start();
	test_places();
	test_distinct();
	test_modules();
	test_many_modules();
	test_names();
	test_text_kinds();
	frames_free(frames);
	return tap_done();
}
