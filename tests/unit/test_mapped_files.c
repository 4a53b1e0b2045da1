// SPDX-License-Identifier: Apache-2.0
/* The files that processes have mapped: real ones, made maps, and what a child says that was taken
 * over. */
#include "discover/mapped_files.h"

#include <fcntl.h>
#include <limits.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/proc.h"
#include "lib/scratch.h"
#include "lib/tap.h"

static struct err err;

/* "start-end path|" of each file. */
static char *files_in(const struct look_answer *a)
{
	struct str out = {0};
	struct file_mapping f;

	str_adds(&out, "");
	for (size_t at = 0; mapped_file_next(a, &at, &f);)
		str_addf(&out, "%llx-%llx %s|", (unsigned long long)f.start,
			 (unsigned long long)f.end, f.path);
	return out.buf;
}

static struct look_answer read_of(int procfd)
{
	struct look_answer a;

	is_int(mapped_files_read(&procfd, 1, INT_MAX, deadline_after(60000), &a, &err), 0,
	       "maps are read in a jail");
	return a;
}

/* ---- made maps ---- */

static struct look_answer read_made(const char *maps)
{
	CLEANUP(close_fd) int made = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	put_text("maps", 0600, maps);
	return read_of(made);
}

static void finds(const char *maps, const char *want, const char *check)
{
	struct look_answer a = read_made(maps);
	CLEANUP(free) char *got = files_in(&a);

	is_str(got, want, "%s", check);
	is_int(mapped_files_cut(&a), 0, "none is left out");
	look_fini(&a, 1);
}

static void test_made(void)
{
	finds("1000-2000 r-xp 0 fd:0 42 /a b\n3000-4000 r--p 0 fd:0 43 /data\n", "1000-2000 /a b|",
	      "a file that is mapped executable is found, another is not");
	finds("1000-2000 r-xp 0 0:0 0\n2000-3000 r-xp 0 0:0 0 [vdso]\n3000-4000 r-xp 0 0:0 0 [x]\n",
	      "2000-3000 [vdso]|", "of what is no file the vdso only");
	finds("1-2 r-xp 0 0:0 1 /a\n2-3 rwxp 0 0:0 1 /a\n3-4 r-xp 0 0:0 1 /b\n5-6 r-xp 0 0:0 1 "
	      "/a\n",
	      "1-2 /a|3-4 /b|5-6 /a|", "mappings of a file that follow each other count once");
	finds("1-2 r-xp 0 0:0 1 /a (deleted)\n", "1-2 /a (deleted)|", "a path is as it is told");
	finds("", "", "a process without memory has none");
	finds("x\n\n1-2\n1-2 r-xp\n\001-\377 r-xp 0 0:0 1 /x\n1-2 r-xp 0 0:0 1 /y\n", "1-2 /y|",
	      "lines of another form are passed over");
	finds("2-1 r-xp 0 0:0 1 /x\n1-1 r-xp 0 0:0 1 /y\n", "", "a range has to have an end");
	finds("1-2 r-xp 0 0:0 1 /memfd:x/../../etc/y (deleted)\n", "",
	      "a name that would lead upwards is not taken");
	finds("1-2 r-xp 0 0:0 1 x/y\n3-4 r-xp 0 0:0 1 //z\n", "3-4 //z|",
	      "a path has to be absolute");
}

/* Case 84. */
static void test_many(void)
{
	CLEANUP(str_fini) struct str maps = {0};
	struct look_answer a;
	struct file_mapping f;
	size_t n = 0;

	for (unsigned i = 1; i <= 40000; i++)
		str_addf(&maps, "%x000-%x800 r-xp 0 0:0 1 /%u\n", i, i, i);
	str_addf(&maps, "1-2 r-xp 0 0:0 1 /%0*d\n", PATH_MAX, 1);
	a = read_made(maps.buf);
	for (size_t at = 0; mapped_file_next(&a, &at, &f);)
		n++;
	ok(n > 10000 && n < 20000, "of very many files an answer has a part");
	is_int((int64_t)(n + mapped_files_cut(&a)), 40001, "it says how many are left out");
	look_fini(&a, 1);
}

/* ---- lies ---- */

/* What is found in an answer of these bytes. */
static void says(const void *bytes, size_t len, const char *want, const char *check)
{
	struct look_answer a = {.state = LOOK_DONE};
	CLEANUP(free) char *got = NULL;

	str_add(&a.text, bytes, len);
	got = files_in(&a);
	is_str(got, want, "%s", check);
	look_fini(&a, 1);
}

static void test_lies(void)
{
	struct __attribute__((packed)) {
		uint32_t cut;
		uint64_t start, end;
		char path[8];
	} lie = {7, 0x1000, 0x2000, "/a"}, other;
	CLEANUP(free) char *large = xcalloc(1, sizeof(lie) + PATH_MAX);

	says(&lie, sizeof(lie), "1000-2000 /a|", "an answer is a list of files");
	for (size_t len = 0; len <= 20; len++)
		says(&lie, len, "", "one that ends too early has none");
	says(&lie, 22, "1000-2000 /a|", "a path ends with the answer");
	other = lie;
	memcpy(other.path, "/b/../c", 8);
	says(&other, sizeof(other), "", "a path that leads upwards is not taken");
	memcpy(other.path, "[heap]", 7);
	says(&other, sizeof(other), "", "nor is a name of no file");
	memcpy(other.path, "", 1);
	says(&other, sizeof(other), "", "nor is no name");
	other = lie;
	other.end = other.start;
	says(&other, sizeof(other), "", "nor is an empty range");
	memcpy(large, &lie, sizeof(lie));
	memset(large + 20, '/', PATH_MAX);
	says(large, sizeof(lie) + PATH_MAX, "", "nor is a path that is too long");
}

/* ---- real processes ---- */

static void test_own(void)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), &err);
	struct look_answer a = read_of(self);
	CLEANUP(close_fd) int fd = -1;
	struct file_mapping f, none = {.start = 4096, .end = 8192};
	struct stat st, own;
	size_t at = 0;

	is_int(mapped_file_open(self, &none, &st), -1, "what is not mapped is not opened");
	ok(mapped_file_next(&a, &at, &f), "this process has a program mapped");
	fd = mapped_file_open(self, &f, &st);
	ok(fd >= 0 && S_ISREG(st.st_mode), "it is opened");
	ok(stat("/proc/self/exe", &own) == 0 && own.st_ino == st.st_ino, "it is the mapped one");
	is_int(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY, "to be read only");
	ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "it is not inherited");
	look_fini(&a, 1);
}

int main(void)
{
	scratch_make();
	jail_prepare(); /* or each child does, in its time */
	test_made();
	test_many();
	test_lies();
	if (geteuid() == 0)
		test_own();
	else
		ok(true, "files of processes # SKIP that needs root");
	scratch_remove();
	return tap_done();
}
