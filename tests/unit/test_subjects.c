// SPDX-License-Identifier: Apache-2.0
/* The subjects of events: what was allocated, or waited for, by whom, and who held it. */
#include "calltree/subjects.h"

#include "common/str.h"
#include "format/verdict.h"
#include "lib/tap.h"

/* Adds a stack, outermost frame first, divided by ';': a thread, then methods with a suffix as in
 * folded text, "_[s]" for a class or stub. */
static void add(struct stacks *s, const char *text, uint64_t amount)
{
	static const struct {
		const char *suffix;
		enum frame_kind kind;
	} kinds[] = {{"_[j]", FRAME_JAVA},
		     {"_[i]", FRAME_INLINED},
		     {"_[0]", FRAME_INTERPRETED},
		     {"_[s]", FRAME_STUB},
		     {"", FRAME_NATIVE}};
	CLEANUP(free) char *copy = xstrdup(text);
	uint32_t frames[16];
	size_t n = 0;

	for (char *rest = copy, *name; (name = strsep(&rest, ";")) && n < ARRAY_LEN(frames); n++) {
		size_t len = strlen(name), i = 0;

		while (len < strlen(kinds[i].suffix) ||
		       strcmp(name + len - strlen(kinds[i].suffix), kinds[i].suffix) != 0)
			i++;
		frames[n] = stacks_intern(s, name, len - strlen(kinds[i].suffix),
					  n ? kinds[i].kind : FRAME_ROOT);
	}
	stacks_add(s, frames, n, amount);
}

struct stack {
	const char *text;
	uint64_t amount;
};

/* Each subject as a line: its amount and its text. */
static void check_made(enum event_kind event, const struct stack *list, const char *want,
		       const char *name)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	CLEANUP(str_fini) struct str got = {0};
	struct subjects found;
	uint64_t amount = 0;

	for (; list->text; list++) {
		add(s, list->text, list->amount);
		amount += list->amount;
	}
	memset(&found, 0xff, sizeof(found));
	subjects_make(s, event, &found);
	str_adds(&got, "");
	for (size_t i = 0; i < found.count; i++) {
		str_addf(&got, "%llu ", (unsigned long long)found.list[i].amount);
		verdict_subject(&got, &found, i);
		str_addc(&got, '\n');
	}
	is_str(got.buf, want, "%s", name);
	ok(found.amount == amount && found.event == event, "  the whole is that of all stacks");
}

#define CHECK(event, want, name, ...)                                                              \
	check_made(event, (const struct stack[]){__VA_ARGS__, {NULL, 0}}, want, name)

static void test_classes(void)
{
	CHECK(EVENT_ALLOC, "60 byte[], allocated by shop.Cart.add\n40 int[], allocated by a.B.c\n",
	      "a class, and who allocated it", {"t;shop.Cart.add_[j];byte[]_[s]", 60},
	      {"t;a.B.c_[0];int[]_[s]", 40});
	CHECK(EVENT_ALLOC, "9 byte[], allocated by shop.Cart.add\n",
	      "the innermost method of the application is named, not those that it calls",
	      {"t;shop.Main.main_[j];shop.Cart.add_[j];com.google.gson.Gson.toJson_[j];"
	       "java.util.Arrays.copyOf_[i];byte[]_[s]",
	       9});
	CHECK(EVENT_ALLOC, "9 byte[], allocated by org.h2.Run.x\n",
	      "without one that of a library, although the JDK's is nearer",
	      {"t;java.lang.Thread.run_[j];org.h2.Run.y_[j];org.h2.Run.x_[j];"
	       "java.util.Arrays.copyOf_[i];byte[]_[s]",
	       9});
	CHECK(EVENT_ALLOC, "9 byte[], allocated by java.util.Arrays.copyOf\n",
	      "without either the innermost of the JDK",
	      {"t;java.lang.Thread.run_[j];java.util.Arrays.copyOf_[i];native;byte[]_[s]", 9});
	CHECK(EVENT_ALLOC, "9 byte[]\n", "without a method there is the class alone",
	      {"t;start_thread;byte[]_[s]", 9});
	CHECK(EVENT_ALLOC, "100 byte[], allocated by a.B.c\n50 byte[], allocated by d.E.f\n",
	      "a class of two methods is two subjects", {"t;a.B.c_[j];byte[]_[s]", 100},
	      {"t;d.E.f_[j];byte[]_[s]", 50});
	CHECK(EVENT_ALLOC, "100 byte[], allocated by a.B.c\n50 int[], allocated by a.B.c\n",
	      "two classes of a method are two subjects", {"t;a.B.c_[j];byte[]_[s]", 100},
	      {"t;a.B.c_[j];int[]_[s]", 50});
}

static void test_same(void)
{
	CHECK(EVENT_ALLOC, "60 byte[], allocated by a.B.c\n50 byte[], allocated by d.E.f\n",
	      "a method is one, compiled, inlined or interpreted, and comes first by all of them",
	      {"t;a.B.c_[j];byte[]_[s]", 20}, {"t;a.B.c_[i];byte[]_[s]", 15},
	      {"t;a.B.c_[0];byte[]_[s]", 25}, {"t;d.E.f_[j];byte[]_[s]", 50});
	CHECK(EVENT_ALLOC, "60 byte[], allocated by a.B.c\n",
	      "so it is below different callers and in different threads",
	      {"t;x.Y.z_[j];a.B.c_[j];byte[]_[s]", 20}, {"t;v.W.x_[j];a.B.c_[j];byte[]_[s]", 30},
	      {"u;a.B.c_[j];byte[]_[s]", 10});
	CHECK(EVENT_ALLOC, "30 byte[], allocated by a.A$$Lambda.run\n",
	      "and with another number of a lambda",
	      {"t;a.A$$Lambda$14.0x7f12.run_[j];byte[]_[s]", 20},
	      {"t;a.A$$Lambda$15.0x7f13.run_[j];byte[]_[s]", 10});
	CHECK(EVENT_LOCK, "30 a.Box, wanted by a.B.c, held by a.B.d\n",
	      "a holder's is one in the same way",
	      {"t;a.B.c_[j];a.Box_[s];held by_[s];a.B.d_[j]", 20},
	      {"t;a.B.c_[j];a.Box_[s];held by_[s];a.B.d_[0]", 10});
}

/* Operations that stopped a JVM: other words, the same rules. */
static void test_other_words(void)
{
	CHECK(EVENT_SAFEPOINT, "9 HandshakeAll, asked for by a.B.c, waiting for a.B.d\n",
	      "words of another event",
	      {"t;a.B.c_[j];HandshakeAll_[s];waiting for_[s];a.B.d_[j]", 9});
	CHECK(EVENT_ALLOC, "9 held by\n", "which are no words of others",
	      {"t;byte[]_[s];held by_[s]", 9});
}

/* A single stack. */
static void test_one(void)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	struct subject one;

	add(s, "t;org.h2.X.y_[j];a.Box_[s];held by_[s];java.lang.Thread.sleep_[j];a.B.d_[0]", 9);
	subject_of(s, EVENT_LOCK, (uint32_t)stacks_node_count(s) - 1, &one);
	is_str(one.class, "a.Box", "a stack has a class");
	is_str(one.method, "org.h2.X.y", "a method");
	is_str(one.holder, "a.B.d", "and a holder");
	subject_of(s, EVENT_LOCK, 0, &one);
	ok(!*one.class && !*one.method && !*one.holder, "the root has none");
}

static void test_lines(void)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	struct frames *fs = stacks_frames(s);
	struct subjects found;
	uint32_t frames[3], method;

	frames_keep_places(fs);
	frames[0] = stacks_intern(s, "t", 1, FRAME_ROOT);
	method = stacks_intern(s, "a.B.c", 5, FRAME_JAVA);
	frames[2] = stacks_intern(s, "byte[]", 6, FRAME_STUB);
	for (uint32_t line = 1; line <= 200; line++) {
		frames[1] = frames_level(fs, frames_place(fs, method, line, 0), 1 + line % 4);
		stacks_add(s, frames, 3, 1);
	}
	subjects_make(s, EVENT_ALLOC, &found);
	ok(found.count == 1 && found.list[0].amount == 200,
	   "a method is one at all of its lines, although each has less than 1 %%");
}

static void test_holders(void)
{
	CHECK(EVENT_LOCK,
	      "60 Locks$Box, wanted by Locks.wantA, held by Locks.holdA\n"
	      "40 Locks$Box, wanted by Locks.wantA\n",
	      "who held the lock; and time that had no holder",
	      {"t;Locks.wantA_[j];Locks$Box_[s];held by_[s];Locks.holdA_[j];Locks.main_[j]", 60},
	      {"t;Locks.wantA_[j];Locks$Box_[s]", 40});
	CHECK(EVENT_LOCK, "9 a.Box, wanted by a.B.c, held by a.B.d\n",
	      "the holder's innermost frame comes first: the first of the application is named",
	      {"t;a.B.c_[j];a.Box_[s];held by_[s];java.lang.Thread.sleep_[j];org.h2.X.y_[j];"
	       "a.B.d_[j];a.B.main_[j]",
	       9});
	CHECK(EVENT_LOCK, "9 a.Box, wanted by a.B.c, held by org.h2.X.y\n",
	      "else the first of a library",
	      {"t;a.B.c_[j];a.Box_[s];held by_[s];java.lang.Thread.sleep_[j];org.h2.X.y_[j];"
	       "org.h2.X.main_[j];java.lang.Thread.run_[j]",
	       9});
	CHECK(EVENT_LOCK, "9 a.Box, wanted by java.util.Map.put, held by java.lang.Thread.sleep\n",
	      "else of the JDK: the holder's methods do not count for who waited",
	      {"t;java.util.Map.put_[j];a.Box_[s];held by_[s];java.lang.Thread.sleep_[j];"
	       "java.lang.Thread.run_[j]",
	       9});
	CHECK(EVENT_LOCK, "9 a.Box, wanted by a.B.c\n",
	      "code of the JVM in the holder's stack is neither class nor holder",
	      {"t;a.B.c_[j];a.Box_[s];held by_[s];call_stub_[s];native", 9});
}

/* Stacks whose class is not known. */
static void test_no_class(void)
{
	CHECK(EVENT_LOCK, "", "without a class there is no subject", {"t;a.B.c_[j]", 9});
	CHECK(EVENT_LOCK, "", "nor with a holder", {"t;a.B.c_[j];held by_[s];a.B.d_[j]", 9});
	CHECK(EVENT_LOCK, "", "code that the JVM made is no class where a method follows",
	      {"t;call_stub_[s];a.B.c_[j]", 9}, {"t;call_stub_[s];start", 9});
	CHECK(EVENT_LOCK, "50 a.Box, wanted by a.B.c\n",
	      "nor does it come before the class that ends the stack",
	      {"t;call_stub_[s];a.B.c_[j];a.Box_[s]", 50}, {"t;call_stub_[s];a.B.c_[j]", 50});
	CHECK(EVENT_LOCK, "", "nothing has none", {"t", 0});
}

static void test_least(void)
{
	CHECK(EVENT_ALLOC, "990 a, allocated by a.A.a\n10 b, allocated by b.B.b\n",
	      "one percent is worth a line", {"t;a.A.a_[j];a_[s]", 990}, {"t;b.B.b_[j];b_[s]", 10});
	CHECK(EVENT_ALLOC, "991 a, allocated by a.A.a\n", "less is not", {"t;a.A.a_[j];a_[s]", 991},
	      {"t;b.B.b_[j];b_[s]", 9});
	CHECK(EVENT_ALLOC, "100 a, allocated by a.A.a\n",
	      "what has no class counts for the whole: one percent is of all",
	      {"t;a.A.a_[j];a_[s]", 100}, {"t;b.B.b_[j];b_[s]", 9}, {"t;c.C.c_[j]", 900});
	CHECK(EVENT_ALLOC, "6 f\n5 e\n4 d\n3 c\n2 b\n", "there are five, the largest first",
	      {"t;a_[s]", 1}, {"t;b_[s]", 2}, {"t;c_[s]", 3}, {"t;d_[s]", 4}, {"t;e_[s]", 5},
	      {"t;f_[s]", 6});
	CHECK(EVENT_ALLOC, "17179869184000 a\n4294967296000 b\n", "amounts have 64 bits",
	      {"t;a_[s]", UINT64_C(17179869184000)}, {"t;b_[s]", UINT64_C(4294967296000)});
}

static void test_long(void)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	CLEANUP(str_fini) struct str text = {0};
	struct subjects found;

	str_adds(&text, "t;");
	for (int i = 0; i < 400; i++)
		str_adds(&text, "é");
	str_adds(&text, "_[j];x");
	for (int i = 0; i < 400; i++)
		str_adds(&text, "é");
	str_adds(&text, "_[s]");
	add(s, text.buf, 1);
	subjects_make(s, EVENT_ALLOC, &found);
	is_int((int64_t)found.count, 1, "names may be long");
	is_int((int64_t)strlen(found.list[0].method), 319, "a method's is cut");
	is_int((int64_t)strlen(found.list[0].class), 159, "and a class's");
	ok(found.list[0].method[318] == '?' && found.list[0].class[158] == '\xa9',
	   "half a character is none");
}

static void test_check(void)
{
	struct subjects s;

	memset(&s, 0xff, sizeof(s));
	subjects_check(&s);
	ok(s.event == EVENT_CPU && s.count == 0, "an event that there is not has none");
	s.count = 1;
	subjects_check(&s);
	is_int((int64_t)s.count, 0, "nor has one without classes");
	memset(&s, 0xff, sizeof(s));
	s.event = EVENT_LOCK;
	snprintf(s.list[0].class, sizeof(s.list[0].class), "a\nb\x1b[2J");
	subjects_check(&s);
	is_int((int64_t)s.count, SUBJECTS, "a forged count is cut");
	is_str(s.list[0].class, "a?b?[2J", "texts are clean");
	for (size_t i = 0; i < SUBJECTS; i++)
		ok(strnlen(s.list[i].class, sizeof(s.list[i].class)) < sizeof(s.list[i].class) &&
			   strnlen(s.list[i].method, sizeof(s.list[i].method)) <
				   sizeof(s.list[i].method) &&
			   strnlen(s.list[i].holder, sizeof(s.list[i].holder)) <
				   sizeof(s.list[i].holder),
		   "they end");
	s = (struct subjects){.event = EVENT_LOCK, .count = 1, .list = {{.class = "a.B"}}};
	subjects_check(&s);
	ok(s.event == EVENT_LOCK && s.count == 1 && !strcmp(s.list[0].class, "a.B"),
	   "what is right stays");
}

int main(void)
{
	test_classes();
	test_same();
	test_other_words();
	test_one();
	test_lines();
	test_holders();
	test_no_class();
	test_least();
	test_long();
	test_check();
	return tap_done();
}
