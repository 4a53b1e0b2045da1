// SPDX-License-Identifier: Apache-2.0
/* Cases 41 and 42: what control groups leave a process. The groups are files of the test's own: a
 * path in /proc/PID/cgroup may lead out of the mount, as it does in a cgroup namespace. */
#include "common/room.h"

#include <fcntl.h>

#include "common/fs.h"
#include "lib/scratch.h"
#include "lib/tap.h"

#define OUT "/../../.."
#define STATUS(uid)                                                                                \
	"Name:\tx\nState:\tS (sleeping)\nPPid:\t1\nUid:\t" uid "\t" uid "\t" uid "\t" uid          \
	"\nGid:\t1\t1\t1\t1\nNStgid:\t9\nThreads:\t3\nSigIgn:\t0\nSigCgt:\t0\n"

static void in_group(const char *line)
{
	CLEANUP(free) char *text = xasprintf("12:cpu:/x\n%s" OUT "%s/a/b\n1:name=x:/y", line, top);

	put_text("cgroup", 0600, text);
}

static void check(unsigned threads, uint64_t bytes, const char *want, const char *name)
{
	CLEANUP(close_fd) int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err = {0};

	is_int(room_check(fd, threads, bytes, &err), *want ? -1 : 0, "%s", name);
	is_str(err.msg, want, "the message says what is left");
}

static void test_threads(void)
{
	check(1, 1, "", "groups without files have no limit");
	put_text("a/b/pids.current", 0600, "17\n");
	put_text("a/b/pids.max", 0600, "max\n");
	check(1000, 0, "", "nor has one that says max");
	put_text("a/b/pids.max", 0600, "20\n");
	check(3, 0, "", "what is wanted is left");
	check(4, 0, "its limit leaves 3 threads", "one less than is wanted is left");
	put_text("a/b/pids.max", 0600, "10\n");
	check(1, 0, "its limit leaves 0 threads", "more than the limit are there");
	put_text("a/b/pids.max", 0600, "nonsense\n");
	put_text("a/pids.current", 0600, "99\n");
	put_text("a/pids.max", 0600, "100\n");
	check(2, 0, "its limit leaves 1 threads", "the limit of the group above counts");
	put_text("a/pids.max", 0600, "max\n");
}

static void test_memory(const char *used, const char *max, const char *total)
{
	CLEANUP(free)
	char *stat = xasprintf("cache 9\n%sinactive_file 1048576\nx 1\n%sactive_file 2097152\n",
			       total, total);
	CLEANUP(free) char *used_name = xasprintf("a/b/memory.%s", used);
	CLEANUP(free) char *max_name = xasprintf("a/b/memory.%s", max);

	put_text(used_name, 0600, "9437184\n");
	put_text(max_name, 0600, "max\n");
	check(0, 1ull << 50, "", "memory without a limit");
	put_text(max_name, 0600, "10485760\n");
	check(0, 1 << 20, "", "as much memory as is wanted is left");
	check(0, (1 << 20) + 1, "its limit leaves 1024 KiB of memory", "a byte is missing");
	put_text("a/b/memory.stat", 0600, stat);
	check(0, 4 << 20, "", "file cache counts as free");
	check(0, (4 << 20) + 1, "its limit leaves 4096 KiB of memory", "and no more than that");
}

/* A user without processes on this machine. */
static void test_user(void)
{
	put_text("limits", 0600,
		 "Limit  Soft Limit  Hard Limit  Units\n"
		 "Max processes             7                    9                    processes\n");
	put_text("status", 0600, STATUS("54321"));
	check(7, 0, "", "the user's limit leaves what is wanted");
	check(8, 0, "the limit of user 54321 leaves 7 threads", "one less than is wanted is left");
	check(0, 1, "", "who starts no thread is not held to it");
	put_text("status", 0600, STATUS("0"));
	check(8, 0, "", "it does not bind root");
	put_text("status", 0600, STATUS("54321"));
	put_text("limits", 0600, "Max processes             unlimited            9\n");
	check(8, 0, "", "unlimited is no limit");
	put_text("limits", 0600, "nonsense\n");
	check(8, 0, "", "nor is nonsense");
}

/* What is no list of groups. */
static void test_odd(void)
{
	static const char *const texts[] = {"", "\n", ":", "::", "0::", "0:pids", "4:pids:\n:::\n"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		put_text("cgroup", 0600, texts[i]);
		check(0, 0, "", "an odd list of groups has no limit");
	}
}

int main(void)
{
	scratch_make();
	check(9, 9, "", "a process whose groups cannot be read has no limit");
	test_user();
	test_odd();
	if (access("/sys/fs/cgroup", F_OK) == 0) {
		in_group("0::");
		test_threads();
		test_memory("current", "max", "");
	}
	if (access("/sys/fs/cgroup/pids", F_OK) == 0 &&
	    access("/sys/fs/cgroup/memory", F_OK) == 0) {
		in_group("7:pids:/..");
		test_threads();
		in_group("8:memory:/..");
		test_memory("usage_in_bytes", "limit_in_bytes", "total_");
	}
	scratch_remove();
	return tap_done();
}
