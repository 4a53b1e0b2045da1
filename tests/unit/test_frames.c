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
	static const char *const yes[] = {"start_thread", "clone3", "_start",
					  "__libc_start_main_impl"};
	static const char *const no[] = {"start_thread2", "thread_native_entry"};

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

int main(void)
{
	frames = frames_new();
	test_java();
	test_start();
	test_places();
	frames_free(frames);
	return tap_done();
}
