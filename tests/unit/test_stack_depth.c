// SPDX-License-Identifier: Apache-2.0
/* Depths of stacks of processes that sleep at known places. */
#include "doctor/stack_depth.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/proc.h"
#include "lib/actor.h"
#include "lib/scratch.h"
#include "lib/tap.h"

static struct err err;

static void test_stack_pointers(void)
{
	static const struct {
		const char *text;
		bool good;
		uint64_t want;
		const char *name;
	} t[] = {
		{"0 0x1 0x2 0x3\n", true, 2, "the last number but one"},
		{"-1 0xab 0xcd\n", true, 0xab, "of three fields the second"},
		{"1 0x10 ", true, 0x10, "the last may be empty"},
		{"0x1 0x2\n", false, 0, "two fields are too few"},
		{"1 10 0x2\n", false, 0, "a number has its prefix"},
		{"1 0x 0x2\n", false, 0, "and digits"},
		{"1 0xg 0x2\n", false, 0, "hexadecimal ones"},
		{"running\n", false, 0, "a running thread has none"},
		{"", false, 0, "nor has an empty line"},
		{" ", false, 0, "nor has a blank"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		uint64_t got = 0;

		is_int(stack_pointer_parse(t[i].text, &got), t[i].good, "%s", t[i].name);
		is_int((int64_t)got, (int64_t)t[i].want, "and its value");
	}
}

/* ---- processes ---- */

/* The stack pointer of a process that sleeps; 0: it does not sleep yet, or it is not told. */
static uint64_t pointer_of(int procfd)
{
	CLEANUP(str_fini) struct str s = {0};
	uint64_t sp = 0;

	if (fs_read_file(procfd, "syscall", 4096, &s, &err) < 0 || !s.buf)
		return 0;
	return stack_pointer_parse(s.buf, &sp) ? sp : 0;
}

static int find_stack(const struct proc_map *m, void *arg)
{
	uint64_t *end = arg;

	if (!strcmp(m->path, "[stack]"))
		*end = m->end;
	return 0;
}

static uint64_t stack_end(int procfd)
{
	uint64_t end = 0;

	(void)proc_each_map(procfd, find_stack, &end, &err);
	return end;
}

static struct stack_depths wait_asleep(int procfd)
{
	struct stack_depths d = {0};

	for (int i = 0; i < 1000 && !d.asleep; i++) {
		sleep_ms(2);
		if (stack_depths_read(procfd, 65536, &d, &err) < 0)
			break;
	}
	return d;
}

/* Sleeps with more of the stack in use than the kernel's list of pages is read at once. */
static void play_deep(const struct actor *a)
{
	char deep[3 << 20];
	int hold[2];

	memset(deep, 1, sizeof(deep));
	if (pipe(hold) < 0)
		_exit(1);
	actor_tell(a);
	for (;;)
		(void)!read(hold[0], deep, sizeof(deep));
}

static void test_deep(void)
{
	CLEANUP(close_fd) int procfd = -1;
	struct stack_depths d;
	struct actor a;
	uint64_t depth;

	if (actor_fork(&a))
		play_deep(&a);
	if (!actor_wait(&a))
		abort();
	procfd = proc_open(a.pid, &err);
	d = wait_asleep(procfd);
	is_int((int64_t)d.threads, 1, "a process has a thread");
	if (geteuid() == 0) {
		depth = stack_end(procfd) - pointer_of(procfd);
		is_int((int64_t)d.asleep, 1, "which sleeps");
		is_int((int64_t)d.deeper, 1, "deeper than what is copied");
		/* The kernel leaves a random gap below what it puts at the end. */
		ok(d.deepest > 3 << 20 && d.deepest <= depth && d.deepest + 16384 > depth,
		   "its stack is used up to its end");
		depth = d.deepest;
		ok(stack_depths_read(procfd, depth, &d, &err) == 0 && d.deeper == 0,
		   "a stack that fits exactly is not deeper");
		ok(stack_depths_read(procfd, depth - 1, &d, &err) == 0 && d.deeper == 1,
		   "with a byte less it is");
	}
	actor_end(a.pid);
	d.threads = 77;
	is_int(stack_depths_read(procfd, 0, &d, &err), -1, "a process that has ended has none");
	is_int((int64_t)d.threads, 77, "then nothing is returned");
}

static int pause_always(void *arg)
{
	for (;;)
		pause();
	return arg != NULL;
}

/* Two stacks in one mapping: what lies above was never touched. */
static void test_merged(void)
{
	char *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t high = (uint64_t)(uintptr_t)map + (1 << 19);
	CLEANUP(close_fd) int procfd = -1;
	struct stack_depths d;
	pid_t pid = clone(pause_always, map + (1 << 19), SIGCHLD, NULL);

	procfd = proc_open(pid, &err);
	d = wait_asleep(procfd);
	if (geteuid() == 0) {
		is_int((int64_t)d.asleep, 1, "a stack in the middle of a mapping is found");
		is_int((int64_t)d.deepest, (int64_t)(high - pointer_of(procfd)), "it ends there");
		is_int((int64_t)d.deeper, 0, "it is not deep");
	}
	actor_end(pid);
	munmap(map, 1 << 20);
}

/* ---- made processes ---- */

/* Entries of /proc/PID/pagemap of pages 0x10 to 0x1f: those from the first on up to the second were
 * touched. */
static void put_pages(unsigned first, unsigned end)
{
	uint64_t pages[0x20] = {0};

	for (unsigned i = first; i < end; i++)
		pages[i] = 1ull << 63;
	put_bytes("pagemap", 0600, pages, sizeof(pages));
}

static struct stack_depths made_depths(const char *maps)
{
	CLEANUP(close_fd) int procfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stack_depths d = {0};

	put_text("maps", 0600, maps);
	is_int(stack_depths_read(procfd, 0x800, &d, &err), 0, "made texts are read");
	return d;
}

static void test_made(void)
{
	CLEANUP(str_fini) struct str many = {0};
	struct stack_depths d;

	put_text("task/1/syscall", 0600, "0 0x1 0x10ff0 0x3\n");
	put_text("task/2/syscall", 0600, "-1 0x10f00 0x3\n");
	put_text("task/3/syscall", 0600, "running\n");
	put_text("task/4/other", 0600, "");
	put_text("task/5/syscall", 0600, "0 0xffffffffffffffff 0x3\n");
	put_text("task/6/syscall", 0600, "0 0xfffffffffffffffffffff 0x3\n");
	put_pages(0x10, 0x12);
	d = made_depths("10000-20000 rw-p 0 0:0 0 [stack]\n");
	is_int((int64_t)d.threads, 6, "each thread is counted");
	is_int((int64_t)d.asleep, 2, "those with a stack pointer in a mapping sleep");
	is_int((int64_t)d.deepest, 0x1100, "the deepest is up to the last page that was touched");
	is_int((int64_t)d.deeper, 2, "both are deeper than that");
	d = made_depths("x\n20000-10000 r 0\n10ff8-ffffffffffffffff rw-p 0 0:0 0 \377\033[2J\n");
	is_int((int64_t)d.asleep, 0, "hostile texts are no mappings of a stack");
	for (unsigned i = 1; i < 60000; i++)
		str_addf(&many, "%x-%x rw-p 0 0:0 0 /%0100d\n", i * 16, i * 16 + 16, i);
	d = made_depths(many.buf);
	is_int((int64_t)d.deepest, 0x10, "many short mappings are no deep stack");
}

int main(void)
{
	test_stack_pointers();
	scratch_make();
	jail_prepare(); /* or each child does, in its time */
	test_made();
	scratch_remove();
	test_deep();
	test_merged();
	return tap_done();
}
