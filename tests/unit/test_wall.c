// SPDX-License-Identifier: Apache-2.0
/* The time of threads by cause, and the longest waits: sums, order, of a process that lies. */
#include "calltree/wall.h"

#include <stdio.h>
#include <string.h>

#include "calltree/calltree.h"
#include "common/str.h"
#include "lib/tap.h"

static struct wall_list list;

/* A thread's stack: its name, the cause, "idle", a method, a class, and who woke it. */
static uint32_t stack_of(struct stacks *s, const char *thread, const char *cause, const char *waker)
{
	const uint32_t frames[] = {
		stacks_intern(s, thread, strlen(thread), FRAME_ROOT),
		stacks_intern(s, cause, strlen(cause), FRAME_STUB),
		stacks_intern(s, "a.B.get", 7, FRAME_JAVA),
		stacks_intern(s, "java.util.Q.poll", 16, FRAME_JAVA),
		stacks_intern(s, "a.Pool", 6, FRAME_STUB),
		stacks_intern(s, "woken by", 8, FRAME_STUB),
		stacks_intern(s, "a.B.get", 7, FRAME_JAVA),
		stacks_intern(s, "start", 5, FRAME_NATIVE),
		stacks_intern(s, waker ? waker : "", waker ? strlen(waker) : 0, FRAME_ROOT),
	};

	return stacks_add(s, frames, waker ? ARRAY_LEN(frames) : 5, 1);
}

static void test_sums(void)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	struct wall a = {0}, b = {0};
	const uint32_t nodes[1] = {0};

	wall_add(&a, "idle", 1, 1, WALL_PARK, 90, true);
	wall_add(&a, "idle", 1, 1, WALL_PARK, 10, false);
	wall_add(&a, "busy", 1, 2, WALL_RUNNING, 30, false);
	wall_add(&a, "busy", 1, 2, WALL_MONITOR, 20, false);
	wall_add(&b, "busy", 1, 2, WALL_RUNNING, 5, false);
	wall_add(&b, "other", 2, 2, WALL_SLEEP, 7, true);
	wall_add(&b, "other", 2, 2, WALL_FILE, COUNT_MAX, false);
	wall_add(&b, "other", 2, 2, WALL_FILE, COUNT_MAX, false);
	wall_merge(&a, &b, nodes, true);
	wall_list_make(&a, s, &list);
	ok(list.threads == 3 && list.listed == 3, "threads are known by process and id");
	ok(!strcmp(list.list[0].name, "other") && !strcmp(list.list[1].name, "busy") &&
		   !strcmp(list.list[2].name, "idle"),
	   "those that wanted to do most are first");
	is_int((int64_t)list.list[1].ns[WALL_RUNNING], 35, "their time is added up");
	is_int((int64_t)wall_sum(list.list[1].ns), 55, "all of it");
	is_int((int64_t)list.ns[WALL_PARK], 100, "of all threads, by cause");
	is_int((int64_t)list.list[0].ns[WALL_FILE], COUNT_MAX, "sums end at COUNT_MAX");
	wall_fini(&a);
	wall_fini(&b);
}

#define MS 1000000ull

/* The next one begins where this one ends. */
static void add_part(struct wall *w, struct wall_part p, const char *thread, pid_t tid)
{
	p.thread = wall_add(w, thread, 1, tid, p.cause, p.ns, p.idle);
	wall_add_part(w, &p);
}

static void test_waits(void)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	struct wall a = {0}, b = {0};
	uint32_t nodes[64];
	bool ordered = true;

	for (uint32_t i = 0; i < ARRAY_LEN(nodes); i++)
		nodes[i] = i;
	for (unsigned i = 0; i < 20 * WALL_WAITS; i++)
		add_part(i % 2 ? &a : &b,
			 (struct wall_part){.cause = WALL_PARK,
					    .ns = (1 + i * 7919 % 1000) * MS,
					    .idle = i % 20 == 0},
			 "t", (pid_t)(1 + i % 20));
	wall_merge(&a, &b, nodes, true);
	wall_list_make(&a, s, &list);
	for (size_t i = 1; i < list.waits.count; i++)
		ordered = ordered && list.waits.list[i - 1].ns >= list.waits.list[i].ns;
	ok(list.waits.count == WALL_WAITS && ordered, "the longest waits are listed, in order");
	ok(list.waits.list[WALL_WAITS - 1].ns < 960 * MS, "of one thread no more than some");
	for (unsigned i = 0; i < WALL_WAITS; i++)
		ordered = ordered && list.waits.list[i].tid != 1;
	ok(ordered, "none that is idle");
	wall_fini(&a);
	wall_fini(&b);
}

static void test_most(void)
{
	struct wall w = {0};
	bool longest = true;

	for (unsigned i = 0; i < 3 * WALL_PARTS; i++)
		add_part(&w, (struct wall_part){.cause = WALL_PARK, .ns = (1 + i % 64) * MS}, "t",
			 1);
	for (size_t i = 0; i < w.part_count; i++)
		longest = longest && w.parts[i].ns >= w.least;
	ok(w.part_count <= WALL_PARTS && w.part_count >= WALL_PARTS / 4 && longest && w.least > MS,
	   "of many waits the longest are kept, and how long they are is known");
	wall_fini(&w);
}

/* A thread waits for a monitor, whose holder waits meanwhile for a socket. */
static void test_chain(void)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	CLEANUP(str_fini) struct str text = {0};
	const uint32_t wants = stack_of(s, "exec-1", "monitor", "db-reaper");
	const uint32_t reads = stack_of(s, "db-reaper", "socket", NULL);
	struct wall w = {0};

	add_part(&w,
		 (struct wall_part){
			 .cause = WALL_SOCKET, .node = reads, .begin = 2 * MS, .ns = 7 * MS},
		 "db-reaper", 9);
	add_part(&w,
		 (struct wall_part){.cause = WALL_SOCKET,
				    .node = reads,
				    .begin = 90 * MS,
				    .ns = 99 * MS,
				    .idle = true},
		 "db-reaper", 9);
	add_part(&w,
		 (struct wall_part){.cause = WALL_MONITOR,
				    .node = wants,
				    .begin = MS,
				    .ns = 10 * MS,
				    .waker = 9},
		 "exec-1", 8);
	wall_add(&w, "exec-2", 1, 7, WALL_RUNNING, 10 * MS, false);
	wall_list_make(&w, s, &list);
	wall_add_finding(&text, &list.finding);
	is_str(text.buf,
	       "50 % of exec-*'s time waits for monitor a.Pool in a.B.get, which calls "
	       "java.util.Q.poll, "
	       "held by db-reaper (which before waited 7.0 ms: socket a.Pool in a.B.get, which "
	       "calls java.util.Q.poll)",
	       "the finding is a sentence");
	is_str(list.waits.list[0].waker_stack, "db-reaper;start;a.B.get",
	       "a waker's stack is written from its root");
	is_str(list.waits.list[0].stack, "exec-1;monitor;a.B.get;java.util.Q.poll;a.Pool",
	       "as the own one is");
	wall_fini(&w);
	str_clear(&text);
	list.finding = (struct wall_finding){0};
	wall_add_finding(&text, &list.finding);
	is_int((int64_t)text.len, 0, "without one there is none");
}

/* A stack that is too long loses its outer frames. */
static void test_deep(void)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	uint32_t frames[WALL_STACK];
	struct wall w = {0};
	char name[16];

	for (unsigned i = 0; i < WALL_STACK; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		frames[i] = stacks_intern(s, name, strlen(name), FRAME_NATIVE);
	}
	add_part(&w,
		 (struct wall_part){.cause = WALL_FILE,
				    .ns = MS,
				    .node = stacks_add(s, frames, WALL_STACK, 1)},
		 "t", 1);
	wall_list_make(&w, s, &list);
	ok(!strncmp(list.waits.list[0].stack, "...;f", 5) &&
		   strlen(list.waits.list[0].stack) > WALL_STACK - 16 &&
		   !strcmp(list.waits.list[0].stack + strlen(list.waits.list[0].stack) - 6,
			   ";f1023"),
	   "a stack that is too long loses its outer frames");
	wall_fini(&w);
}

/* Threads of different recordings may have the same numbers. */
static void test_origins(void)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	struct wall all = {0}, one = {0}, other = {0}, both = {0};
	const uint32_t nodes[1] = {0};

	add_part(&one, (struct wall_part){.cause = WALL_PARK, .ns = 3 * MS, .waker = 2}, "a", 1);
	wall_add(&one, "b", 1, 2, WALL_RUNNING, 1, false);
	add_part(&other, (struct wall_part){.cause = WALL_PARK, .ns = 2 * MS, .waker = 2}, "c", 1);
	wall_add(&other, "d", 1, 2, WALL_RUNNING, 1, false);
	wall_merge(&both, &one, nodes, false);
	wall_merge(&both, &other, nodes, false);
	wall_merge(&all, &both, nodes, false);
	wall_merge(&all, &other, nodes, false);
	wall_list_make(&all, s, &list);
	is_int((int64_t)list.threads, 6, "threads of several recordings are different ones");
	ok(!strcmp(list.waits.list[0].waker, "b") && !strcmp(list.waits.list[1].waker, "d") &&
		   !strcmp(list.waits.list[2].waker, "d"),
	   "who ended a wait is of the same recording");
	wall_fini(&all);
	wall_fini(&both);
	wall_fini(&one);
	wall_fini(&other);
}

static void test_many(void)
{
	CLEANUP(stacks_free) struct stacks *s = stacks_new();
	struct wall a = {0};
	char name[32];

	for (int i = 0; i < 3 * WALL_THREADS; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		wall_add(&a, name, 1, i + 1, WALL_RUNNING, (uint64_t)i + 1, false);
	}
	wall_list_make(&a, s, &list);
	ok(list.threads == 3 * WALL_THREADS && list.listed == WALL_THREADS, "so many are listed");
	ok(list.list[0].ns[WALL_RUNNING] == 3 * WALL_THREADS &&
		   list.list[WALL_THREADS - 1].ns[WALL_RUNNING] == 2 * WALL_THREADS + 1,
	   "those with most");
	wall_fini(&a);
}

static void test_liar(void)
{
	memset(&list, 'x', sizeof(list));
	wall_list_check(&list);
	ok(list.listed == WALL_THREADS && list.waits.count == WALL_WAITS,
	   "a list of another process is not longer than it can be");
	ok(strlen(list.list[0].name) < WALL_NAME && strlen(list.waits.list[3].what.method) < 320 &&
		   strlen(list.waits.list[3].waker) < WALL_NAME &&
		   list.waits.list[3].cause == WALL_OTHER,
	   "nor its texts, and causes are known ones");
	list.list[0].name[0] = '\033';
	wall_list_check(&list);
	ok(list.list[0].name[0] != '\033', "which are clean");
}

int main(void)
{
	test_sums();
	test_waits();
	test_most();
	test_chain();
	test_deep();
	test_origins();
	test_many();
	test_liar();
	return tap_done();
}
