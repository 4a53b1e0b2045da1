// SPDX-License-Identifier: Apache-2.0
#include "calltree/traits.h"

#include "common/str.h"
#include "lib/tap.h"

static struct stacks *s;
static struct traits *t;

static unsigned of(const char *name, enum frame_kind kind)
{
	unsigned traits = traits_of(t, stacks_intern(s, name, strlen(name), kind));

	return traits & (TRAIT_JAVA | TRAIT_STALE | TRAIT_UNKNOWN | TRAIT_NAMELESS | TRAIT_FIRST);
}

static void test_first(void)
{
	static const char *const yes[] = {"start_thread", "clone3", "_start",
					  "__libc_start_main_impl"};
	static const char *const no[] = {"start_thread2", "thread_native_entry"};

	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		is_int(of(yes[i], FRAME_NATIVE), TRAIT_FIRST, "%s begins a thread", yes[i]);
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		is_int(of(no[i], FRAME_NATIVE), 0, "%s does not", no[i]);
	is_int(of("[libc.so.6]", FRAME_UNKNOWN), TRAIT_FIRST | TRAIT_UNKNOWN, "a stripped libc");
	is_int(of("[libc.so.6+0x10]", FRAME_NATIVE), TRAIT_FIRST | TRAIT_NAMELESS,
	       "a function of it");
	is_int(of("[libcrypto.so]", FRAME_UNKNOWN), TRAIT_UNKNOWN, "another library");
}

static void test_counts(void)
{
	uint64_t counts = 0;

	for (unsigned i = 0; i < 65535; i++)
		counts += traits_counts(TRAIT_JAVA | TRAIT_FIRST);
	counts += traits_counts(TRAIT_UNKNOWN | TRAIT_STALE);
	counts += traits_counts(TRAIT_UNKNOWN);
	is_int((int64_t)traits_count(counts, TRAIT_JAVA), 65535, "as many as a count holds");
	is_int((int64_t)traits_count(counts, TRAIT_STALE), 1, "each by itself");
	is_int((int64_t)traits_count(counts, TRAIT_UNKNOWN), 2, "of several traits of a frame");
	is_int((int64_t)traits_count(counts, TRAIT_NAMELESS), 0, "one that none has");
}

int main(void)
{
	s = stacks_new();
	t = traits_new(s, stacks_intern(s, "[stale]", strlen("[stale]"), FRAME_UNKNOWN));
	is_int(of("[stale]", FRAME_UNKNOWN), TRAIT_JAVA | TRAIT_STALE | TRAIT_UNKNOWN,
	       "stale code");
	is_int(of("a.B.c", FRAME_JAVA), TRAIT_JAVA, "a compiled method");
	is_int(of("a.B.c", FRAME_INLINED), TRAIT_JAVA, "an inlined one");
	is_int(of("a.B.c", FRAME_INTERPRETED), TRAIT_JAVA, "an interpreted one");
	is_int(of("StubRoutines (1)", FRAME_STUB), 0, "a stub");
	test_first();
	test_counts();
	for (unsigned i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		stacks_intern(s, name, strlen(name), FRAME_NATIVE);
	}
	is_int(of("f999", FRAME_NATIVE), 0, "of frames that came later, too");
	is_int(of("a.B.c", FRAME_JAVA), TRAIT_JAVA, "what was found out stays");
	traits_free(t);
	stacks_free(s);
	return tap_done();
}
