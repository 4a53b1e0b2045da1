// SPDX-License-Identifier: Apache-2.0
/* Changes of configuration files on a scratch root, with an edit whose part is the line "ours". */
#include "setup/change.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fs.h"
#include "lib/scratch.h"
#include "lib/tap.h"

static int rootfd;
static struct err err;

static void put(const char *path, const char *text)
{
	CLEANUP(close_fd)
	int fd = openat(rootfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fs_write_all(fd, text, strlen(text), &err) < 0)
		abort();
}

static void check_file(const char *path, const char *want, const char *name)
{
	CLEANUP(free) char *got = get_text(path);

	is_str(got, want, "%s", name);
}

/* ---- the list ---- */

static void plan(struct changes *c, const char *path)
{
	if (change_plan_whole(c, rootfd, path, "text", 0, &err) < 0)
		abort();
}

static void check_order(const struct changes *c, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str got = {0};

	str_adds(&got, "");
	for (size_t i = 0; i < c->count; i++)
		str_adds(&got, c->list[i].path);
	is_str(got.buf, want, "%s", name);
}

static void test_list(void)
{
	struct changes c = {0};

	changes_put_first(&c, "a");
	check_order(&c, "", "nothing of an empty list is moved");
	plan(&c, "a");
	plan(&c, "b");
	plan(&c, "c");
	plan(&c, "d");
	check_order(&c, "abcd", "plans are in the order in which they are made");
	changes_put_first(&c, "x");
	check_order(&c, "abcd", "a file without a plan moves nothing");
	changes_put_first(&c, "a");
	check_order(&c, "abcd", "the first stays the first");
	changes_put_first(&c, "b");
	check_order(&c, "bacd", "the second is moved to the front");
	changes_put_first(&c, "d");
	check_order(&c, "dbac", "the last is moved to the front, the others keep their order");
	changes_drop_last(&c);
	check_order(&c, "dba", "the last plan alone is deleted");
	changes_fini(&c);
	is_int((int64_t)c.count, 0, "a deleted list has no plans");
	ok(!c.list && !c.cap, "a deleted list can be used again");
	plan(&c, "e");
	check_order(&c, "e", "it takes another plan");
	changes_fini(&c);
}

/* ---- reading ---- */

static void test_read(void)
{
	CLEANUP(str_fini) struct str s = {0};

	put("file", "one");
	is_int(change_read(rootfd, "file", &s, &err), 1, "a file is read");
	is_str(s.buf, "one", "its text is whole");
	is_int(change_read(rootfd, "none", &s, &err), 0, "a missing file is no error");
	is_int(change_read(rootfd, "none/file", &s, &err), 0, "nor is a missing directory");
	is_int(change_read(rootfd, "file/x", &s, &err), 0, "nor is a file in its place");
	is_str(s.buf, "one", "nothing is appended");
	if (symlinkat("file", rootfd, "link") < 0)
		abort();
	err_set(&err, 7, "x");
	is_int(change_read(rootfd, "link", &s, &err), -1, "a symbolic link is refused");
	is_str(err.msg, "/link is a symbolic link: name the file itself, with --file",
	       "the message says what to do");
	is_int(err.code, 0, "it needs no text of the system");
	mkdirat(rootfd, "dir", 0755);
	is_int(change_read(rootfd, "dir", &s, &err), -1, "a directory is refused");
	is_int(err.code, 0, "the message has the system's text already");
	unlinkat(rootfd, "link", 0);
	unlinkat(rootfd, "file", 0);
}

/* ---- whole files ---- */

static void check_whole(const char *text, size_t count, const char *name)
{
	struct changes c = {0};

	is_int(change_plan_whole(&c, rootfd, "whole", text, 0, &err), 0, "%s", name);
	is_int((int64_t)c.count, (int64_t)count, "number of changes");
	is_int(changes_apply(&c, rootfd, &err), 0, "it is applied");
	changes_fini(&c);
	check_file("whole", text, "the file is as planned");
}

static mode_t mode_of(const char *path)
{
	struct stat st = {0};

	return fstatat(rootfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & 07777 : 0;
}

static void test_whole(void)
{
	check_whole(NULL, 0, "a missing file that should be missing needs no change");
	check_whole("", 1, "an empty file is made");
	check_whole("", 0, "an empty file that is there needs no change");
	check_whole("a", 1, "a text is written");
	is_int(mode_of("whole"), 0644, "a new file can be read by all");
	check_whole("a", 0, "the same text needs no change");
	check_whole("b", 1, "a text of the same length is a change");
	check_whole("bc", 1, "a longer text is a change");
	if (fchmodat(rootfd, "whole", 0640, 0) < 0)
		abort();
	check_whole("b", 1, "a shorter text is a change");
	is_int(mode_of("whole"), 0640, "a changed file keeps its mode");
	check_whole("", 1, "a file can become empty");
	check_whole(NULL, 1, "a file is deleted");
}

/* Makes a/b/c/file, and deletes it with so many of its directories. */
static void check_dirs(unsigned own, const char *left, const char *gone, const char *name)
{
	struct changes c = {0};

	ok(change_plan_whole(&c, rootfd, "a/b/c/file", "x", 0, &err) == 0 &&
		   changes_apply(&c, rootfd, &err) == 0,
	   "missing directories are made");
	check_file("a/b/c/file", "x", "the file is in the last of them");
	is_int(mode_of("a/b"), 0755, "a directory can be entered by all");
	changes_fini(&c);
	ok(change_plan_whole(&c, rootfd, "a/b/c/file", NULL, own, &err) == 0 &&
		   changes_apply(&c, rootfd, &err) == 0,
	   "the file is deleted");
	ok(!exists("a/b/c/file") && (!left || exists(left)) && (!gone || !exists(gone)), "%s",
	   name);
	changes_fini(&c);
	unlinkat(rootfd, "a/b/c", AT_REMOVEDIR);
	unlinkat(rootfd, "a/b", AT_REMOVEDIR);
	unlinkat(rootfd, "a", AT_REMOVEDIR);
}

static void test_dirs(void)
{
	struct changes c = {0};

	check_dirs(0, "a/b/c", NULL, "all directories of others stay");
	check_dirs(1, "a/b", "a/b/c", "one directory goes with it");
	check_dirs(2, "a", "a/b", "two directories go with it");
	check_dirs(9, NULL, "a", "no more go than there are");
	mkdirat(rootfd, "a", 0755);
	mkdirat(rootfd, "a/b", 0755);
	put("a/b/x", "x");
	put("a/b/y", "y");
	ok(change_plan_whole(&c, rootfd, "a/b/x", NULL, 2, &err) == 0 &&
		   changes_apply(&c, rootfd, &err) == 0,
	   "a directory that is not empty is no error");
	check_file("a/b/y", "y", "it stays with the other file");
	changes_fini(&c);
	unlinkat(rootfd, "a/b/y", 0);
	unlinkat(rootfd, "a/b", AT_REMOVEDIR);
	unlinkat(rootfd, "a", AT_REMOVEDIR);
}

static int count_files(void)
{
	DIR *dir = opendir(top);
	struct dirent *d;
	int count = 0;

	while ((d = readdir(dir)))
		count += d->d_type == DT_REG;
	closedir(dir);
	return count;
}

static void test_failures(void)
{
	struct changes c = {0};

	put("gone", "x");
	if (change_plan_whole(&c, rootfd, "gone", NULL, 0, &err) < 0)
		abort();
	unlinkat(rootfd, "gone", 0);
	is_int(changes_apply(&c, rootfd, &err), 0, "a file that went meanwhile is no error");
	changes_fini(&c);
	put("gone", "x");
	plan(&c, "first");
	if (change_plan_whole(&c, rootfd, "gone", NULL, 0, &err) < 0)
		abort();
	plan(&c, "last");
	unlinkat(rootfd, "gone", 0);
	mkdirat(rootfd, "gone", 0755);
	is_int(changes_apply(&c, rootfd, &err), -1, "a directory in its place is refused");
	is_str(err.msg, "/gone: remove: Is a directory", "the message names it");
	check_file("first", "text", "the changes before it are made");
	check_file("last", NULL, "those after it are not");
	changes_fini(&c);
	unlinkat(rootfd, "gone", AT_REMOVEDIR);
	plan(&c, "first/x");
	is_int(changes_apply(&c, rootfd, &err), -1, "a file in place of a directory is refused");
	is_str(err.msg, "/first/x: open directory first: Not a directory", "and named");
	changes_fini(&c);
	mkdirat(rootfd, "dir", 0755);
	is_int(change_plan_whole(&c, rootfd, "dir", "x", 0, &err), -1,
	       "a directory cannot get a text");
	ok(has_prefix(err.msg, "/dir: "), "the message begins with its name: %s", err.msg);
	changes_fini(&c);
	unlinkat(rootfd, "first", 0);
}

/* A write that fails half-way: files may not be larger than this. Case 73. */
static void test_interrupted(void)
{
	CLEANUP(free) char *large = xasprintf("%08192d", 0);
	struct changes c = {0};
	struct rlimit usual;

	put("large", "before");
	plan(&c, "first");
	if (change_plan_whole(&c, rootfd, "large", large, 0, &err) < 0)
		abort();
	plan(&c, "last");
	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &usual) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, usual.rlim_max}) < 0)
		abort();
	is_int(changes_apply(&c, rootfd, &err), -1, "a write that fails is an error");
	setrlimit(RLIMIT_FSIZE, &usual);
	signal(SIGXFSZ, SIG_DFL);
	is_str(err.msg, "/large: large: write: File too large", "the message names the file");
	check_file("large", "before", "the file is as it was");
	check_file("first", "text", "the change before it is made");
	check_file("last", NULL, "the one after it is not");
	is_int(changes_apply(&c, rootfd, &err), 0, "later it can be applied as a whole");
	check_file("large", large, "the file is as planned");
	changes_fini(&c);
	unlinkat(rootfd, "large", 0);
	unlinkat(rootfd, "first", 0);
	unlinkat(rootfd, "last", 0);
	is_int(count_files(), 0, "nothing else is left");
}

/* ---- edits ---- */

#define OURS "ours\n"

/* Sorts of removal of the part. */
enum style {
	EXACT,	/* as it was added */
	LOSSY,	/* with a newline that was not there before */
	FAILING /* not at all */
};

static int add_ours(struct str *text, const void *context, struct err *e)
{
	const enum style *style = context;

	if (text->len && strstr(text->buf, "bad"))
		return err_set(e, 0, "has something bad");
	if (*style == LOSSY && text->len && text->buf[text->len - 1] != '\n')
		str_addc(text, '\n');
	str_adds(text, OURS);
	return 0;
}

static int remove_ours(struct str *text, const struct str *before, const void *context,
		       struct err *e)
{
	const enum style *style = context;
	char *at = text->len ? strstr(text->buf, OURS) : NULL;

	(void)before;
	if (*style == FAILING)
		return err_set(e, 0, "cannot be removed");
	if (at) {
		memmove(at, at + strlen(OURS), strlen(at + strlen(OURS)) + 1);
		text->len -= strlen(OURS);
	}
	return 0;
}

/* Plans and applies it; returns the number of changes, or -1. */
static int edit(enum style style, bool install)
{
	const struct edit e = {&style, add_ours, remove_ours};
	struct changes c = {0};
	int rc = change_plan(&c, rootfd, "conf", &e, install, &err);

	if (rc == 0)
		rc = changes_apply(&c, rootfd, &err);
	rc = rc < 0 ? -1 : (int)c.count;
	changes_fini(&c);
	return rc;
}

/* The file with our part, the copy that is kept then, and what is left after removal. */
static void check_edit(enum style style, const char *before, const char *with, const char *kept,
		       const char *name)
{
	if (before)
		put("conf", before);
	is_int(edit(style, false), 0, "%s: there is nothing to remove yet", name);
	is_int(edit(style, true), kept ? 2 : 1, "it is added");
	check_file("conf", with, "the file has our part");
	check_file("conf.before-dfg", kept, "a copy is kept where it is needed");
	is_int(edit(style, true), 0, "a second time there is nothing to add");
	is_int(edit(style, false), kept ? 2 : 1, "it is removed");
	check_file("conf", before, "every byte is as it was");
	check_file("conf.before-dfg", NULL, "no copy is left");
	unlinkat(rootfd, "conf", 0);
}

static void test_edits(void)
{
	check_edit(EXACT, NULL, OURS, NULL, "no file");
	check_edit(EXACT, "x\n", "x\n" OURS, NULL, "a file whose part can be removed exactly");
	check_edit(LOSSY, "x", "x\n" OURS, "x", "a file whose part cannot be removed exactly");
	check_edit(LOSSY, "x\n", "x\n" OURS, NULL, "a file that ends with a newline");
	check_edit(EXACT, "", OURS, "", "an empty file, which is not the same as none");
}

/* Others changed the file after our part was added. */
static void test_edited_meanwhile(void)
{
	put("conf", "x");
	is_int(edit(LOSSY, true), 2, "the part is added, and a copy kept");
	put("conf", "y\n" OURS);
	is_int(edit(LOSSY, true), 1, "a changed file that can be restored needs no copy any more");
	check_file("conf.before-dfg", NULL, "the old copy is deleted");
	is_int(edit(LOSSY, false), 1, "the part is removed");
	check_file("conf", "y\n", "what others wrote stays");

	put("conf", "x");
	is_int(edit(LOSSY, true), 2, "the part is added again");
	put("conf", "z\n" OURS "z");
	is_int(edit(LOSSY, false), 2, "the part and the copy are removed");
	check_file("conf", "z\nz", "only our part is gone");
	check_file("conf.before-dfg", NULL, "the copy is gone, too");

	put("conf", "x");
	put("conf.before-dfg", "older");
	is_int(edit(LOSSY, false), 1, "a copy that was left over is deleted");
	check_file("conf", "x", "the file without our part stays as it is");
	unlinkat(rootfd, "conf", 0);
}

static void test_edit_failures(void)
{
	put("conf", "bad");
	is_int(edit(EXACT, true), -1, "a file that the edit refuses stays");
	is_str(err.msg, "/conf: has something bad", "the message names the file");
	is_int(edit(EXACT, false), 0, "it has nothing to remove");
	put("conf", "x\n" OURS);
	is_int(edit(FAILING, false), -1, "a part that cannot be removed stays");
	is_str(err.msg, "/conf: cannot be removed", "the message names the file");
	unlinkat(rootfd, "conf", 0);
	if (symlinkat("x", rootfd, "conf.before-dfg") < 0)
		abort();
	is_int(edit(EXACT, true), -1, "a copy that is a symbolic link is refused");
	is_str(err.msg,
	       "/conf: /conf.before-dfg is a symbolic link: name the file itself, with --file",
	       "the message names file and copy");
	unlinkat(rootfd, "conf.before-dfg", 0);
	if (symlinkat("x", rootfd, "conf") < 0)
		abort();
	is_int(edit(EXACT, true), -1, "a file that is a symbolic link is refused");
	unlinkat(rootfd, "conf", 0);
}

/* ---- printing ---- */

static void print(const struct changes *c, struct str *ret)
{
	CLEANUP(close_fd) int file = memfd_create("output", MFD_CLOEXEC);
	CLEANUP(close_fd) int saved = dup(STDOUT_FILENO);

	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	changes_print(c);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	lseek(file, 0, SEEK_SET);
	str_adds(ret, "");
	if (fs_read_all(file, 1 << 20, ret, &err) < 0)
		abort();
}

static void test_print(void)
{
	CLEANUP(str_fini) struct str out = {0};
	struct changes c = {0};

	print(&c, &out);
	is_str(out.buf, "", "nothing is printed of no changes");
	plan(&c, "p/q");
	print(&c, &out);
	is_str(out.buf,
	       "--- /dev/null\n+++ /p/q\n@@ -0,0 +1 @@\n+text\n\\ No newline at end of file\n",
	       "a new file is printed as diff -u does");
	changes_fini(&c);
}

int main(void)
{
	scratch_make();
	rootfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	umask(022);
	test_list();
	test_read();
	test_whole();
	test_dirs();
	test_failures();
	test_interrupted();
	test_edits();
	test_edited_meanwhile();
	test_edit_failures();
	test_print();
	scratch_remove();
	return tap_done();
}
