// SPDX-License-Identifier: Apache-2.0
/* Old results are removed, and nothing else. */
#include "record/retention.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/scratch.h"
#include "lib/tap.h"
#include "session/session.h"

static struct err err;

#define GRAPHS "containers/web/graphs/"

static void make(const char *name)
{
	CLEANUP(free) char *file = xasprintf(GRAPHS "%s/session/session.json", name);

	put_text(file, 0600, "{}");
}

static bool has(const char *name)
{
	CLEANUP(free) char *path = xasprintf(GRAPHS "%s", name);

	return exists(path);
}

/* keep = 0: none; retention has no limit then. */
static size_t clear(const char *newest, unsigned keep)
{
	const struct retention none = {.bytes = 1}, some = {.count = keep};
	CLEANUP(free) char *root = path_of(".");

	return results_remove_old(root, "web", newest, keep ? &some : &none);
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
	CLEANUP(free) char *link = path_of(GRAPHS "20261101T000000Z");
	CLEANUP(free) char *foreign = path_of(GRAPHS "20261102T000000Z");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		make(names[i]);
	put_text(GRAPHS "20261103T000000Z", 0600, "a file");
	put_text("elsewhere/file", 0600, "kept");
	make("20261102T000000Z");
	if (symlink("../../../elsewhere", link) < 0)
		abort();
	if (chown(foreign, 12345, 12345) < 0)
		fs_remove_tree(AT_FDCWD, foreign);
	is_int((int64_t)clear("none", 0), 0, "nothing that dfg has not made is removed");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		ok(has(names[i]), "%s stays", names[i]);
	ok(has("20261103T000000Z") && exists("elsewhere/file"), "so do a file and a link");
	unlink(link);
	is_int((int64_t)results_remove_old("/nonexistent", "web", "none",
					   &(struct retention){.count = 1}),
	       0, "nothing is done where there is no such directory");
}

static void test_recorded(void)
{
	CLEANUP(free) char *path = path_of(GRAPHS "20261101T000000Z");
	CLEANUP(outdir_close) struct outdir dir = {0};
	struct session s;

	if (outdir_open(path, 0700, &dir, &err) < 0 ||
	    session_create(&dir, "session", &s, &err) < 0)
		abort();
	is_int((int64_t)clear("none", 0), 0, "a session that is being recorded is not removed");
	session_fini(&s);
	is_int((int64_t)clear("none", 0), 1, "afterwards it is");
}

/* The name of a directory that was made so many hours ago. Owned. */
static char *hours_ago(unsigned hours)
{
	time_t at = time(NULL) - (time_t)hours * 3600 - 60;
	char name[32];
	struct tm tm;

	strftime(name, sizeof(name), "%Y%m%dT%H%M%SZ", gmtime_r(&at, &tm));
	return xstrdup(name);
}

static void put_result(const char *id, const char *name, size_t kib)
{
	CLEANUP(free) char *file = xasprintf("containers/%s/graphs/%s/session/tree", id, name);
	CLEANUP(free)
	char *json = xasprintf("containers/%s/graphs/%s/session/session.json", id, name);
	CLEANUP(free) char *text = xcalloc(kib, 1024);

	memset(text, 'x', kib * 1024 - 1);
	put_text(file, 0600, text);
	put_text(json, 0600, "{\"version\": 1}");
}

static bool remains(const char *id, const char *name)
{
	CLEANUP(free) char *path = xasprintf("containers/%s/graphs/%s", id, name);

	return exists(path);
}

/* Limits that count for the results of all containers. */
static void test_all(void)
{
	CLEANUP(free) char *root = path_of("."), *h1 = hours_ago(1), *h5 = hours_ago(5);
	CLEANUP(free) char *h9 = hours_ago(9), *h30 = hours_ago(30);
	CLEANUP(results_fini) struct results r = {0};
	CLEANUP(free) char *path = NULL;
	struct retention age = {.seconds = 24 * 3600}, size = {.bytes = 700 << 10};
	struct session s;

	put_result("one", h1, 300);
	put_result("two", h5, 300);
	put_result("one", h9, 300);
	put_result("two", h30, 10);
	results_list(root, true, &r);
	is_int((int64_t)r.count, 4, "all results are listed");
	ok(!strcmp(r.list[0].name, h1) && !strcmp(r.list[3].name, h30), "the newest first");
	ok(r.list[0].bytes >= 300 << 10 && r.list[0].bytes < 400 << 10, "with their size: %d",
	   (int)r.list[0].bytes);
	path = result_path(root, &r.list[0]);
	is_int(result_open(root, &r.list[0], &s, &err), 0, "their sessions can be opened");
	session_fini(&s);
	is_int((int64_t)results_remove_old(root, "one", h1, &(struct retention){0}), 0,
	       "without a limit all stay");
	is_int((int64_t)results_remove_old(root, "one", h1, &age), 1, "one is too old");
	ok(!remains("two", h30) && remains("two", h5), "also of another container");
	is_int((int64_t)results_remove_old(root, "one", h1, &size), 1, "one is too much");
	ok(!remains("one", h9) && remains("two", h5), "it is the oldest of all");
	size.bytes = 1;
	is_int((int64_t)results_remove_old(root, "one", h1, &size), 1, "where all are");
	ok(remains("one", h1), "the newest one stays");
}

int main(void)
{
	CLEANUP(free) char *containers = NULL;

	scratch_make();
	containers = path_of("containers");
	test_oldest();
	test_others();
	test_recorded();
	fs_remove_tree(AT_FDCWD, containers);
	test_all();
	scratch_remove();
	return tap_done();
}
