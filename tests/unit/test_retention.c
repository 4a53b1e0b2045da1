// SPDX-License-Identifier: Apache-2.0
/* Old results are removed, and nothing else. */
#include "record/retention.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "lib/scratch.h"
#include "lib/tap.h"
#include "session/session.h"

static struct err err;

static void make(const char *name)
{
	CLEANUP(free) char *file = xasprintf("graphs/%s/session/session.json", name);

	put_text(file, 0600, "{}");
}

static bool has(const char *name)
{
	CLEANUP(free) char *path = xasprintf("graphs/%s", name);

	return exists(path);
}

static size_t clear(const char *newest, unsigned keep)
{
	CLEANUP(free) char *path = path_of("graphs");
	CLEANUP(close_fd) int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return results_remove_old(dirfd, newest, keep);
}

static void test_oldest(void)
{
	make("20261121T095020Z");
	make("20261121T095020Z-2");
	make("20261120T235959Z");
	make("20261122T000000Z");
	is_int((int64_t)clear("20261122T000000Z", 4), 0, "as many as are kept: none is removed");
	is_int((int64_t)clear("20261122T000000Z", 2), 2, "the others are removed");
	ok(has("20261122T000000Z") && has("20261121T095020Z-2"), "the newest stay");
	ok(!has("20261121T095020Z") && !has("20261120T235959Z"), "with all that is in them");
	make("20261120T000000Z");
	is_int((int64_t)clear("20261120T000000Z", 1), 1, "after the clock went back");
	ok(has("20261120T000000Z"), "this run's own stays all the same");
	is_int((int64_t)clear("none", 0), 2, "of no kept one all are removed");
}

/* Directories that dfg has not made. */
static void test_others(void)
{
	static const char *const names[] = {"mine",
					    "20261121",
					    "20261121T095020Z-",
					    "20261121T095020Z-x",
					    "20261121T095020",
					    "x20261121T095020Z",
					    "20261121T095020Z2",
					    "2026112xT095020Z"};
	CLEANUP(free) char *link = path_of("graphs/20261101T000000Z");
	CLEANUP(free) char *foreign = path_of("graphs/20261102T000000Z");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		make(names[i]);
	put_text("graphs/20261103T000000Z", 0600, "a file");
	put_text("elsewhere/file", 0600, "kept");
	make("20261102T000000Z");
	if (symlink("../elsewhere", link) < 0)
		abort();
	if (chown(foreign, 12345, 12345) < 0)
		fs_remove_tree(AT_FDCWD, foreign);
	is_int((int64_t)clear("none", 0), 0, "nothing that dfg has not made is removed");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		ok(has(names[i]), "%s stays", names[i]);
	ok(has("20261103T000000Z") && exists("elsewhere/file"), "so do a file and a link");
	unlink(link);
	is_int((int64_t)results_remove_old(-1, "none", 0), 0,
	       "nothing is done where there is no such directory");
}

static void test_recorded(void)
{
	CLEANUP(free) char *path = path_of("graphs/20261101T000000Z");
	CLEANUP(outdir_close) struct outdir dir = {0};
	struct session s;

	if (outdir_open(path, 0700, &dir, &err) < 0 ||
	    session_create(&dir, "session", &s, &err) < 0)
		abort();
	is_int((int64_t)clear("none", 0), 0, "a session that is being recorded is not removed");
	session_fini(&s);
	is_int((int64_t)clear("none", 0), 1, "afterwards it is");
}

int main(void)
{
	scratch_make();
	test_oldest();
	test_others();
	test_recorded();
	scratch_remove();
	return tap_done();
}
