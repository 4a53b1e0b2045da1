// SPDX-License-Identifier: Apache-2.0
#include "perf/address_space.h"

#include "common/str.h"
#include "lib/tap.h"

/* "start-end+pgoff path, …" of the addresses from, from + 0x1000 … */
static void is_layout(struct space *sp, pid_t pid, const char *want, const char *what)
{
	CLEANUP(str_fini) struct str s = {0};
	const struct mapping *last = NULL;

	for (uint64_t a = 0; a < 0x20000; a += 0x800) {
		const struct mapping *m = space_find(space_process(sp, pid), a);

		if (m && m != last)
			str_addf(&s, "%llx-%llx+%llx %s, ", (unsigned long long)m->start,
				 (unsigned long long)m->end, (unsigned long long)m->pgoff,
				 space_path(sp, m->path));
		last = m;
	}
	is_str(s.buf ? s.buf : "", want, "%s", what);
}

static void test_overlap(void)
{
	CLEANUP(space_free) struct space *sp = space_new();

	space_map(sp, 1, 0x1000, 0x4000, 0, true, "a");
	space_map(sp, 1, 0x8000, 0x2000, 0x500, true, "b");
	is_layout(sp, 1, "1000-5000+0 a, 8000-a000+500 b, ", "two mappings");
	space_map(sp, 1, 0x2000, 0x1000, 0, true, "c");
	is_layout(sp, 1, "1000-2000+0 a, 2000-3000+0 c, 3000-5000+2000 a, 8000-a000+500 b, ",
		  "one in the middle splits, the rest keeps its place in the file");
	space_map(sp, 1, 0x4000, 0x5000, 0, true, "d");
	is_layout(
		sp, 1,
		"1000-2000+0 a, 2000-3000+0 c, 3000-4000+2000 a, 4000-9000+0 d, 9000-a000+1500 b, ",
		"over an end and a start");
	space_map(sp, 1, 0, 0x10000, 0, true, "e");
	is_layout(sp, 1, "0-10000+0 e, ", "over all");
	space_map(sp, 1, UINT64_MAX - 10, 100, 0, true, "f");
	is_layout(sp, 1, "0-10000+0 e, ", "over the end of memory: ignored");
	ok(space_find(space_process(sp, 1), 0x10000) == NULL, "the end is not inside");
	ok(space_find(space_process(sp, 2), 0x1000) == NULL, "another process has none");
}

/* Edges that touch, and what is inside of what. */
static void test_edges(void)
{
	static const struct {
		uint64_t start, len;
		const char *want, *check;
	} rows[] = {
		{0x1000, 0x1000, "1000-2000+0 b, 2000-4000+10 a, ", "one that ends at its start"},
		{0x4000, 0x1000, "2000-4000+10 a, 4000-5000+0 b, ", "one that starts at its end"},
		{0x2000, 0x2000, "2000-4000+0 b, ", "one in its place"},
		{0x2000, 0x800, "2000-2800+0 b, 2800-4000+810 a, ", "one over its start"},
		{0x3800, 0x800, "2000-3800+10 a, 3800-4000+0 b, ", "one over its end"},
		{0x1800, 0x1000, "1800-2800+0 b, 2800-4000+810 a, ", "one from before its start"},
		{0x3800, 0x1000, "2000-3800+10 a, 3800-4800+0 b, ",
		 "one that goes on after its end"},
		{0x1800, 0x3000, "1800-4800+0 b, ", "one around it"},
		{0x3000, 0, "2000-4000+10 a, ", "an empty one"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(space_free) struct space *sp = space_new();

		space_map(sp, 1, 0x2000, 0x2000, 0x10, true, "a");
		space_map(sp, 1, rows[i].start, rows[i].len, 0, true, "b");
		is_layout(sp, 1, rows[i].want, rows[i].check);
	}
}

static void test_kinds(void)
{
	static const struct {
		const char *path;
		bool anonymous;
	} rows[] = {
		{"//anon", true},
		{"[anon:heap]", true},
		{"/memfd:x (deleted)", true},
		{"/anon_hugepage", true},
		{"/dev/zero", true},
		{"/SYSV00000000", true},
		{"", true},
		{"/lib/libc.so.6", false},
		{"[vdso]", false},
		{"/home/x/anon_huge", false},
		{"[heap]", false},
	};
	CLEANUP(space_free) struct space *sp = space_new();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct mapping *m;

		space_map(sp, 1, 0x1000, 0x1000, 0, i % 2, rows[i].path);
		m = space_find(space_process(sp, 1), 0x1fff);
		is_int(m->anonymous, rows[i].anonymous, "\"%s\" is %s", rows[i].path,
		       rows[i].anonymous ? "memory without a file" : "a file or the kernel's");
		is_int(m->exec, i % 2, "what it may be used for is kept");
		is_str(space_path(sp, m->path), rows[i].path, "so is its path");
	}
	ok(!space_find(space_process(sp, 1), 0xfff), "an address below is in no mapping");
	ok(!space_find(space_process(sp, 1), 0x2000), "nor is the one after its last");
}

static void test_generations(void)
{
	CLEANUP(space_free) struct space *sp = space_new();
	uint32_t first = space_process(sp, 1)->generation, second;

	ok(space_process(sp, 1)->new, "a process that was not seen before is new");
	ok(space_process(sp, 2)->generation != first, "no two have the same addresses");
	is_int(space_process(sp, 1)->generation, first, "looking at it changes nothing");
	space_map(sp, 1, 0x1000, 0, 0, true, "a");
	is_int(space_process(sp, 1)->generation, first, "nor does an empty mapping");
	space_map(sp, 1, 0x1000, 1, 0, true, "a");
	second = space_process(sp, 1)->generation;
	ok(second != first, "a mapping does");
	space_exec(sp, 1);
	ok(space_process(sp, 1)->generation != second, "so does an exec");
	second = space_process(sp, 1)->generation;
	space_fork(sp, 3, 1, 3, 1, false);
	ok(space_process(sp, 3)->generation != second && space_process(sp, 3)->new,
	   "a child without its parent's mappings has its own");
}

/* A thread id that is used again is one thread, which keeps what the caller counted. */
static void test_thread_again(void)
{
	CLEANUP(space_free) struct space *sp = space_new();
	struct thread *t;

	space_comm(sp, 1, 1, "main");
	t = space_thread(sp, 1, 2);
	t->number = 3;
	t->samples = 4;
	t->complete = 2;
	t->code = true;
	t->mark = 9;
	is_int(space_thread_count(sp), 3, "the idle task and two threads are known");
	space_fork(sp, 1, 1, 2, 1, true);
	is_int(space_thread_count(sp), 3, "a thread that begins again is the same");
	t = space_thread(sp, 1, 2);
	ok(t->number == 3 && t->samples == 4 && t->complete == 2 && t->code,
	   "what was counted of it is kept");
	is_int(t->mark, 0, "its mark is not, since its name has changed");
	is_int(space_thread_at(sp, 2)->tid, 2, "threads are listed in the order they were seen");
	space_comm(sp, 5, 2, "moved");
	is_int(space_thread(sp, 1, 2)->pid, 5, "a name tells whose thread it is now");
}

static void test_fork_exec(void)
{
	CLEANUP(space_free) struct space *sp = space_new();
	uint32_t before;

	space_map(sp, 1, 0x1000, 0x1000, 0, true, "a");
	space_process(sp, 1)->root = 42;
	space_process(sp, 1)->wanted = true;
	space_process(sp, 1)->code = 3;
	space_fork(sp, 2, 1, 2, 1, true);
	is_layout(sp, 2, "1000-2000+0 a, ", "a child has its parent's mappings");
	ok(space_process(sp, 2)->root == 42 && space_process(sp, 2)->wanted &&
		   space_process(sp, 2)->code == 3,
	   "and what is known of it");
	is_int(space_process(sp, 2)->generation, space_process(sp, 1)->generation,
	       "addresses mean the same in both");
	space_map(sp, 2, 0x5000, 0x1000, 0, true, "b");
	is_layout(sp, 2, "1000-2000+0 a, 5000-6000+0 b, ", "what it maps");
	is_layout(sp, 1, "1000-2000+0 a, ", "is its own");
	ok(space_process(sp, 2)->generation != space_process(sp, 1)->generation,
	   "no longer the same");
	space_exec(sp, 2);
	is_layout(sp, 2, "", "exec clears");
	ok(space_process(sp, 2)->code == 0 && space_process(sp, 2)->root == 42 &&
		   space_process(sp, 2)->new,
	   "and ends compiled code, but stays where it is");
	space_fork(sp, 2, 1, 2, 1, true);
	is_layout(sp, 2, "1000-2000+0 a, ", "the number is used again");
	space_fork(sp, 3, 1, 3, 1, false);
	is_layout(sp, 3, "", "perf's own record of an old process copies nothing");
	before = space_process(sp, 1)->generation;
	space_fork(sp, 1, 1, 9, 1, true);
	is_int(space_process(sp, 1)->generation, before, "a thread changes no mapping");
	space_touch(sp, 1);
	ok(space_process(sp, 1)->generation != before, "touched");
}

static void test_threads(void)
{
	CLEANUP(space_free) struct space *sp = space_new();

	is_str(space_thread(sp, 0, 0)->comm, "swapper", "the idle task");
	space_comm(sp, 1, 1, "main");
	space_thread(sp, 1, 1)->mark = 5;
	space_fork(sp, 1, 1, 2, 1, true);
	is_str(space_thread(sp, 1, 2)->comm, "main", "a thread begins with its parent's name");
	space_comm(sp, 1, 2, "a name that is longer than any other one, of which there are many");
	is_str(space_thread(sp, 1, 2)->comm,
	       "a name that is longer than any other one, of which there are ma", "63 bytes");
	is_int(space_thread(sp, 1, 1)->mark, 5, "a mark stays");
	space_comm(sp, 1, 1, "other");
	is_int(space_thread(sp, 1, 1)->mark, 0, "until the name changes");
	is_str(space_thread(sp, 4, 4)->comm, "", "no name known");
}

static void test_many(void)
{
	CLEANUP(space_free) struct space *sp = space_new();
	bool good = true;
	char path[32];

	for (uint32_t i = 0; i < 3000; i++) {
		snprintf(path, sizeof(path), "file%u", i);
		space_map(sp, (pid_t)i, 0x1000, 0x1000, i, true, path);
		space_comm(sp, (pid_t)i, (pid_t)i, path);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		const struct mapping *m = space_find(space_process(sp, (pid_t)i), 0x1800);

		snprintf(path, sizeof(path), "file%u", i);
		good = good && m && m->pgoff == i && strcmp(space_path(sp, m->path), path) == 0 &&
		       strcmp(space_thread(sp, (pid_t)i, (pid_t)i)->comm, path) == 0;
	}
	ok(good, "3000 processes keep a mapping, a file and a name of their own");
}

int main(void)
{
	test_overlap();
	test_edges();
	test_kinds();
	test_generations();
	test_thread_again();
	test_fork_exec();
	test_threads();
	test_many();
	return tap_done();
}
