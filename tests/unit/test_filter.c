// SPDX-License-Identifier: Apache-2.0
/* Filters: --include, --exclude, --java-only, --from and --to. */
#include "report/filter.h"

#include <stdlib.h>

#include "common/str.h"
#include "format/format.h"
#include "lib/tap.h"

#define SECOND UINT64_C(1000000000)

static struct err err;

static uint32_t frame(struct stacks *s, const char *name, enum frame_kind kind)
{
	return stacks_intern(s, name, strlen(name), kind);
}

/* Four samples, one a second, of two threads: Java, Java that waits in the kernel, native. */
static void fill(struct profile *p)
{
	struct stacks *s;
	uint32_t worker[4], gc[2], node[3], thread;

	profile_init(p, true);
	s = p->stacks;
	worker[0] = frame(s, "worker", FRAME_ROOT);
	worker[1] = frame(s, "start_thread", FRAME_NATIVE);
	worker[2] = frame(s, "java.util.HashMap.get", FRAME_JAVA);
	worker[3] = frame(s, "futex_wait", FRAME_KERNEL);
	gc[0] = frame(s, "GC", FRAME_ROOT);
	gc[1] = frame(s, "mark", FRAME_JVM);
	node[0] = stacks_add(s, worker, 3, 2);
	node[1] = stacks_add(s, worker, 4, 1);
	node[2] = stacks_add(s, gc, 2, 1);
	thread = samples_add_thread(
		p->samples,
		samples_add_origin(p->samples, &(struct origin){"web", "1", "", "", "", ""}), 1, 2);
	samples_add(p->samples, 0, node[0], thread);
	samples_add(p->samples, SECOND, node[1], thread);
	samples_add(p->samples, 2 * SECOND, node[2], thread);
	samples_add(p->samples, 3 * SECOND, node[0], thread);
	p->quality =
		(struct quality){.samples = 4, .java_samples = 4, .java_complete = 2, .lost = 7};
}

/* Checks what passes: folded text of it, and that its samples are as many. */
static void passes(struct filter *f, const char *started, const char *want, const char *name)
{
	char path[] = "/tmp/dfg-filter.XXXXXX", text[512] = "";
	struct profile all, some;
	uint64_t count = 0;
	int fd = mkstemp(path);

	fill(&all);
	profile_init(&some, true);
	is_int(filter_check(f, &err), 0, "%s: the options go together", name);
	is_int(filter_apply(f, &all, started, &some, &err), 0, "%s: it is applied", name);
	stacks_sort(some.stacks);
	if (draw_folded(some.stacks, fd, &err) < 0 || pread(fd, text, sizeof(text) - 1, 0) < 0)
		abort();
	is_str(text, want, "%s", name);
	for (uint32_t n = 0; n < stacks_node_count(some.stacks); n++)
		count += stacks_node(some.stacks, n)->self;
	is_int((int64_t)some.samples->count, (int64_t)count, "%s: single samples, too", name);
	is_int((int64_t)some.quality.samples, (int64_t)count, "%s: they are counted", name);
	is_int((int64_t)some.quality.lost, 7, "%s: lost samples stay", name);
	profile_fini(&all);
	profile_fini(&some);
	filter_free(f);
	close(fd);
	unlink(path);
}

static struct filter *with(int opt, const char *value)
{
	struct filter *f = filter_new();

	if (filter_option(f, opt, value, &err) < 0)
		abort();
	return f;
}

#define GET  "worker;start_thread;java.util.HashMap.get_[j]"
#define WAIT GET ";futex_wait_[k]"

static void test_frames(void)
{
	struct filter *f;

	ok(filter_is_empty(NULL), "no filter lets all pass");
	f = filter_new();
	ok(filter_is_empty(f), "so does one without an option");
	passes(f, NULL, "GC;mark 1\n" GET " 2\n" WAIT " 1\n", "without an option");
	passes(with(FILTER_INCLUDE, "futex"), NULL, WAIT " 1\n", "a frame");
	passes(with(FILTER_INCLUDE, "^gc$"), NULL, "GC;mark 1\n", "a thread, in any case");
	passes(with(FILTER_INCLUDE, "Gc"), NULL, "", "case counts with a capital letter");
	passes(with(FILTER_INCLUDE, "java/util/HashMap"), NULL, GET " 2\n" WAIT " 1\n",
	       "a class as the JVM writes it");
	passes(with(FILTER_EXCLUDE, "futex|mark"), NULL, GET " 2\n", "without others");
	f = with(FILTER_INCLUDE, "worker");
	is_int(filter_exclude(f, "futex", &err), 0, "both");
	passes(f, NULL, GET " 2\n", "what is included and not excluded");
	passes(with(FILTER_JAVA_ONLY, NULL), NULL, "worker;java.util.HashMap.get_[j] 3\n",
	       "Java only");
}

static void test_times(void)
{
	static const char began[] = "2026-11-21T23:59:59Z";
	struct filter *f = with(FILTER_FROM, "1");

	is_int(filter_to(f, "3s", &err), 0, "a span");
	passes(f, began, "GC;mark 1\n" WAIT " 1\n", "from the one up to the other");
	passes(with(FILTER_FROM, "1.000000001"), began, "GC;mark 1\n" GET " 1\n",
	       "a part of a second");
	passes(with(FILTER_TO, "0.05m"), began, "GC;mark 1\n" GET " 1\n" WAIT " 1\n",
	       "of a minute");
	passes(with(FILTER_FROM, "2026-11-22T00:00:01Z"), began, "GC;mark 1\n" GET " 1\n",
	       "a whole time");
	passes(with(FILTER_FROM, "00:00:02"), began, GET " 1\n", "a time of the next day");
	passes(with(FILTER_TO, "23:59:59Z"), began, "", "a time of day at its beginning");
	passes(with(FILTER_FROM, "23:50"), began, "GC;mark 1\n" GET " 2\n" WAIT " 1\n",
	       "a time before it");
}

static void test_refused(void)
{
	static const char *const times[] = {
		"",	 "x",	      "-1",	      "1d",	     "1.",
		"25:00", "14:05:30x", "2026-11-21",   "99999999999", "12:00:00+01:00",
		"9999h", ".5",	      "1.0123456789", "1.-5"};
	struct filter *f = filter_new();
	struct profile all, some;

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		ok(filter_from(f, times[i], &err) < 0, "--from \"%s\" is refused", times[i]);
	is_int(filter_include(f, "(", &err), -1, "a bad expression is refused");
	ok(!strncmp(err.msg, "--include (: ", 13), "the message says why: %s", err.msg);
	is_int(filter_exclude(f, "", &err), -1, "so is an empty one");
	ok(filter_is_empty(f), "nothing of them is left");
	if (filter_from(f, "10", &err) < 0 || filter_to(f, "10s", &err) < 0)
		abort();
	is_int(filter_check(f, &err), -1, "an empty span is refused");
	is_str(err.msg, "--to 10s is not after --from 10", "in one line");
	fill(&all);
	profile_init(&some, true);
	is_int(filter_apply(f, &all, NULL, &some, &err), -1, "text has no times");
	is_str(err.msg, "--from and --to: only recordings have times", "which is said");
	profile_fini(&all);
	profile_fini(&some);
	filter_free(f);
}

int main(void)
{
	test_frames();
	test_times();
	test_refused();
	return tap_done();
}
