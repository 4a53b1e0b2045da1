// SPDX-License-Identifier: Apache-2.0
/* A jailed child reads files of made processes; at some it crashes, hangs or lies. */
#include "discover/look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "lib/scratch.h"
#include "lib/tap.h"

#define COUNT 5
#define MS    3000 /* what does not hang takes a thousandth of it */

static struct err err;
static int procfds[COUNT];

/* ---- in the jail ---- */

/* A file that says so takes the reader over. */
static size_t read_file(int fd, char *answer)
{
	ssize_t n = pread(fd, answer, LOOK_ANSWER, 0);

	if (n > 0 && !memcmp(answer, "crash", 5))
		abort();
	while (n > 0 && !memcmp(answer, "hang", 4))
		syscall(SYS_futex, &(int){0}, FUTEX_WAIT, 0, NULL);
	if (n > 0 && !memcmp(answer, "lie", 3))
		return SIZE_MAX;
	return n < 0 ? 0 : (size_t)n;
}

static size_t try_to_open(int fd, char *answer)
{
	(void)fd;
	answer[0] = openat(AT_FDCWD, "/proc/self/status", O_RDONLY) < 0 ? 'n' : 'y';
	return 1;
}

/* ---- the made processes ---- */

/* Makes process number i; NULL: without the file. */
static void put(size_t i, const char *text)
{
	CLEANUP(free) char *name = xasprintf("%zu/file", i);
	CLEANUP(free) char *dir = xasprintf("%s/%zu", top, i);

	put_text(name, 0600, text ? text : "");
	cleanup_close_fd(&procfds[i]);
	procfds[i] = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!text)
		unlinkat(procfds[i], "file", 0);
}

static void look(const struct look *l, struct look_answer *ret)
{
	is_int(look_at(l, procfds, COUNT, deadline_after(60000), ret, &err), 0,
	       "a child looks at the processes");
}

static const struct look whole = {"file", read_file, INT_MAX};

static void test_answers(void)
{
	struct look_answer all[COUNT];
	CLEANUP(free) char *large = xasprintf("%0*d", (int)LOOK_ANSWER, 7);
	const int none[] = {-1, -1};

	put(0, "one");
	put(1, NULL);
	put(2, "");
	put(3, large);
	put(4, "two");
	look(&whole, all);
	is_str(all[0].text.buf, "one", "an answer is what the file says");
	is_int(all[0].state, LOOK_DONE, "the process is done");
	is_int(all[1].text.len, 0, "a file that is missing says nothing");
	is_int(all[1].state, LOOK_DONE, "it does not keep the process from being done");
	is_int(all[2].text.len, 0, "nor does an empty one");
	ok(all[3].text.len == LOOK_ANSWER && !strcmp(all[3].text.buf, large),
	   "an answer may have all of its place");
	is_str(all[4].text.buf, "two", "each process has its own");
	look_fini(all, COUNT);
	is_int(look_at(&whole, none, 2, deadline_after(60000), all, &err), 0,
	       "without a process there is nothing to be read");
	ok(all[0].state == LOOK_DONE && !all[0].text.len, "there is no answer about it");
	look_fini(all, 2);
}

/* Case 91. */
static void test_jail(void)
{
	const struct look tries = {"file", try_to_open, INT_MAX};
	struct look_answer all[COUNT];

	look(&tries, all);
	is_str(all[0].text.buf, "n", "what reads a file can open no other one");
	look_fini(all, COUNT);
}

static void test_crashes(void)
{
	struct look_answer all[COUNT];

	put(0, "one");
	put(1, "crash");
	put(2, "two");
	put(3, "crash");
	put(4, "three");
	look(&whole, all);
	is_str(all[0].text.buf, "one", "a process before a crash has its answer");
	is_str(all[2].text.buf, "two", "so has the one after it");
	is_str(all[4].text.buf, "three", "also after another crash");
	for (size_t i = 1; i < COUNT; i += 2) {
		is_int(all[i].state, LOOK_FAILED, "the process at which it crashed is passed over");
		is_int(all[i].text.len, 0, "there is no answer about it");
		is_str(all[i].why.msg, "ended by signal 6 (Aborted)", "but why");
	}
	look_fini(all, COUNT);
}

static void test_hangs(void)
{
	const struct look timed = {"file", read_file, MS};
	struct look_answer all[COUNT];

	put(1, "hang");
	put(3, "four");
	look(&timed, all);
	is_int(all[1].state, LOOK_FAILED, "the process at which it hung is passed over");
	is_int(all[1].why.code, ETIMEDOUT, "it says so");
	is_str(all[0].text.buf, "one", "the one before it has its answer");
	is_str(all[4].text.buf, "three", "so have those after it");
	look_fini(all, COUNT);
	is_int(look_at(&whole, procfds, COUNT, deadline_after(500), all, &err), 0,
	       "a deadline is no failure");
	ok(all[1].state == LOOK_LEFT && all[4].state == LOOK_LEFT,
	   "what it comes before is left, also the process that hangs");
	look_fini(all, COUNT);
}

static void test_lies(void)
{
	struct look_answer all[COUNT];

	put(1, "lie");
	look(&whole, all);
	is_int(all[1].text.len, LOOK_ANSWER, "an answer has no more than its place");
	is_str(all[1].text.buf, "lie", "nothing else is in it");
	is_str(all[2].text.buf, "two", "those after it have theirs");
	look_fini(all, COUNT);
}

int main(void)
{
	memset(procfds, -1, sizeof(procfds));
	scratch_make();
	jail_prepare(); /* or each child does, in its time */
	test_answers();
	test_jail();
	test_crashes();
	test_hangs();
	test_lies();
	scratch_remove();
	return tap_done();
}
