// SPDX-License-Identifier: Apache-2.0
/* The agent without a libc: the functions that a compiler may call, system calls, a thread. The
 * source is included under other names for what libc has, too. */
#include "agent-jni/sys.h"

#define memcpy	agent_memcpy
#define memmove agent_memmove
#define memset	agent_memset
#define memcmp	agent_memcmp
#include "agent-jni/sys.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "lib/tap.h"

#define BYTES 300

/* ---- memory ---- */

static uint8_t got[BYTES], like[BYTES];

static void fill(void)
{
	for (unsigned i = 0; i < BYTES; i++)
		got[i] = like[i] = (uint8_t)(i * 7 + 1);
}

static void test_copies(void)
{
	unsigned bad_copy = 0, bad_move = 0, bad_result = 0;

	for (unsigned from = 0; from < 40; from++)
		for (unsigned to = 0; to < 40; to++)
			for (unsigned n = 0; n < 70; n += n < 20 ? 1 : 9) {
				fill();
				bad_result += agent_memmove(got + to, got + from, n) != got + to;
				memmove(like + to, like + from, n);
				bad_move += memcmp(got, like, BYTES) != 0;
				fill();
				bad_result += agent_memcpy(got + 150 + to, got + from, n) !=
					      got + 150 + to;
				memcpy(like + 150 + to, like + from, n);
				bad_copy += memcmp(got, like, BYTES) != 0;
			}
	is_int(bad_copy, 0, "memcpy copies these bytes and no others");
	is_int(bad_move, 0, "memmove does, whichever way the ranges overlap");
	is_int(bad_result, 0, "both return the target");
}

static void test_set(void)
{
	unsigned bad = 0;

	for (unsigned at = 0; at < 20; at++)
		for (unsigned n = 0; n < 70; n++) {
			fill();
			bad += agent_memset(got + at, 0x1a5, n) != got + at;
			memset(like + at, 0xa5, n);
			bad += memcmp(got, like, BYTES) != 0;
		}
	is_int(bad, 0, "memset sets these bytes and no others, and returns the target");
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

static void test_compare(void)
{
	static const struct {
		const char *a, *b;
		size_t n;
		int want;
		const char *what;
	} rows[] = {
		{"abc", "abc", 3, 0, "equal bytes are equal"},
		{"abc", "abd", 2, 0, "those after the length do not count"},
		{"abc", "xyz", 0, 0, "no bytes are equal"},
		{"abc", "abd", 3, -1, "the last may differ"},
		{"bbc", "abc", 3, 1, "the first may differ"},
		{"az", "ba", 2, -1, "the first that differs decides"},
		{"\x80", "\x7f", 1, 1, "bytes are unsigned"},
		{"a\0c", "a\0b", 3, 1, "a NUL ends nothing"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is_int(sign(agent_memcmp(rows[i].a, rows[i].b, rows[i].n)), rows[i].want,
		       "memcmp: %s", rows[i].what);
}

static void test_pages(void)
{
	size_t len = 400u << 10, page = 64u << 10;
	uint8_t *p = sys_map(len), *whole, *beyond;

	ok(p != NULL, "memory is mapped");
	is_int(p[0] | p[len - 1], 0, "it is zeroed");
	ok(sys_map((size_t)1 << 62) == NULL, "more than there is is not");
	memset(p, 1, len);
	whole = (uint8_t *)(((uintptr_t)p + page) & ~(page - 1));
	beyond = whole + 2 * page;
	sys_discard(whole - 10, 2 * page + 20);
	is_int(whole[0] | beyond[-1], 0, "the whole pages of a range are freed");
	is_int(whole[-1] & beyond[0], 1, "what is around them stays");
	memset(p, 1, len);
	sys_discard(whole + 1, page);
	is_int(whole[1] & whole[page - 1] & whole[page], 1, "a range without a whole page stays");
	sys_discard(whole, page);
	is_int(whole[0] | whole[page - 1], 0, "a page of its own is freed");
	is_int(whole[page], 1, "the next is not");
	sys_unmap(p, len);
}

/* ---- files and time ---- */

static void test_files(void)
{
	int fds[2], file = (int)sys_call2(__NR_memfd_create, "x", 0);
	int dir = sys_open("/", O_RDONLY | O_DIRECTORY);
	char buf[8] = "";

	if (pipe(fds) < 0)
		abort();
	ok(sys_is_file(file), "a file is a regular one");
	ok(!sys_is_file(dir), "a directory is not");
	ok(!sys_is_file(fds[0]), "nor is a pipe");
	ok(!sys_is_file(-1), "nor is nothing");
	is_int(sys_call2(__NR_fcntl, dir, F_GETFD), FD_CLOEXEC, "what is opened is not inherited");
	is_int(sys_open("/nowhere/x", O_RDONLY), -ENOENT, "a failure is a negative errno");
	is_int(sys_pwrite(file, "abcdef", 6, 3), 6, "a file is written at an offset");
	is_int(sys_pread(file, buf, 8, 5), 4, "it is read at an offset, up to its end");
	is_str(buf, "cdef", "these are the bytes");
	sys_close(file);
	is_int(sys_write(file, "x", 1), -EBADF, "a closed file is closed");
	sys_close(dir);
	sys_close(fds[0]);
	sys_close(fds[1]);
}

static void test_time(void)
{
	uint64_t cpu = sys_cpu_us(), now = sys_now_us(), until = now + 20000;
	struct timespec libc;

	clock_gettime(CLOCK_MONOTONIC, &libc);
	ok(now <= (uint64_t)libc.tv_sec * 1000000 + (uint64_t)libc.tv_nsec / 1000 &&
		   now + 5000000 > (uint64_t)libc.tv_sec * 1000000,
	   "the time is that of CLOCK_MONOTONIC, in microseconds");
	while (sys_now_us() < until)
		;
	ok(sys_cpu_us() > cpu && sys_cpu_us() - cpu < sys_now_us() - now + 20000,
	   "the time of the CPU is this thread's");
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &libc);
	ok(sys_cpu_us() < (uint64_t)libc.tv_sec * 1000000 + (uint64_t)libc.tv_nsec / 1000 + 1000000,
	   "in microseconds");
}

static void test_exchange(void)
{
	uint32_t value = 7;

	is_int(sys_exchange(&value, 9), 7, "an exchange returns what was there");
	is_int(value, 9, "and leaves what is new");
}

/* ---- the thread ---- */

static struct {
	volatile int tid;
	volatile uint64_t blocked;
	volatile uintptr_t stack;
	volatile bool may_end;
	void *volatile arg;
} thread;

static void thread_main(void *arg)
{
	uint64_t blocked = 0;

	sys_call4(__NR_rt_sigprocmask, SYS_SIG_BLOCK, NULL, &blocked, sizeof(blocked));
	thread.blocked = blocked;
	thread.stack = (uintptr_t)__builtin_frame_address(0);
	thread.arg = arg;
	thread.tid = (int)sys_call0(__NR_gettid);
	while (!thread.may_end)
		sys_call0(__NR_sched_yield);
	for (;;)
		sys_call1(__NR_exit, 0);
}

/* True if there is a mapping [start, end) that has these rights and contains, or ends at, addr. */
static bool is_mapped(uintptr_t addr, size_t below, const char *rights)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512], perms[5];
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		found |= sscanf(line, "%lx-%lx %4s", &start, &end, perms) == 3 && start <= addr &&
			 addr < end && addr - start >= below && !strcmp(perms, rights);
	if (f)
		fclose(f);
	return found;
}

static bool wait_until(bool (*is_so)(int), int arg, bool want)
{
	for (int i = 0; i < 10000 && is_so(arg) != want; i++)
		usleep(1000);
	return is_so(arg) == want;
}

static bool is_running(int tid)
{
	return thread.tid == tid;
}

static void test_thread(void)
{
	uint64_t before, after;
	pid_t child = fork();
	uintptr_t guard;
	int tid;

	if (child == 0)
		for (;;)
			pause();
	sys_call4(__NR_rt_sigprocmask, SYS_SIG_BLOCK, NULL, &before, sizeof(before));
	tid = sys_thread_start(thread_main, &thread);
	ok(tid > 0 && tid != getpid(), "a thread is started");
	ok(wait_until(is_running, tid, true), "it runs under its id");
	sys_call4(__NR_rt_sigprocmask, SYS_SIG_BLOCK, NULL, &after, sizeof(after));
	ok(before == after, "the signals of the one that starts it are as before");
	is_int(thread.blocked | 1u << (SIGKILL - 1) | 1u << (SIGSTOP - 1), -1,
	       "the thread's are all blocked");
	ok(thread.arg == &thread, "it has its argument");
	ok(is_mapped(thread.stack, STACK_BYTES - 8192, "rw-p"), "it has a stack of 128 KiB");
	for (guard = thread.stack & ~4095ull; is_mapped(guard, 0, "rw-p"); guard -= 4096)
		;
	ok(is_mapped(guard, GUARD_BYTES - 4096, "---p"), "pages below it stop what runs over");
	ok(sys_thread_exists(tid), "the thread is known");
	ok(sys_thread_exists(getpid()), "so is the first one, which gets no signal by that");
	ok(!sys_thread_exists(child), "another process is no thread of this one");
	thread.may_end = true;
	ok(wait_until(sys_thread_exists, tid, false), "it ends");
	kill(child, SIGKILL);
}

int main(void)
{
	test_copies();
	test_set();
	test_compare();
	test_pages();
	test_files();
	test_time();
	test_exchange();
	test_thread();
	return tap_done();
}
