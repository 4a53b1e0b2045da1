// SPDX-License-Identifier: Apache-2.0
/* Directories of results: which paths root refuses (case 85), who owns what is made, and that
 * nothing is written elsewhere while another user swaps directories and links. */
#include "common/outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/scratch.h"
#include "lib/tap.h"

#define OTHER  4711 /* a user */
#define CALLER "4712"
#define ROUNDS 10000

static struct err err;

static void own(const char *name, uid_t uid, mode_t mode)
{
	CLEANUP(free) char *path = path_of(name);

	if (lchown(path, uid, uid) < 0 || (mode && chmod(path, mode) < 0))
		abort();
}

/* A directory with owner and mode. */
static void make(const char *name, uid_t uid, mode_t mode)
{
	CLEANUP(free) char *path = path_of(name);

	if (mkdir(path, 0700) < 0)
		abort();
	own(name, uid, mode);
}

static void link_to(const char *to, const char *name, uid_t uid)
{
	CLEANUP(free) char *path = path_of(name);

	if (symlink(to, path) < 0)
		abort();
	own(name, uid, 0);
}

/* Opens a path below the scratch directory. */
static int open_at(const char *name)
{
	CLEANUP(free) char *path = path_of(name);
	CLEANUP(outdir_close) struct outdir out = {0};

	return outdir_open(path, 0755, &out, &err);
}

static bool is_owned(const char *name, uid_t uid)
{
	CLEANUP(free) char *path = path_of(name);
	struct stat st;

	return lstat(path, &st) == 0 && st.st_uid == uid && st.st_gid == uid;
}

/* ---- any user ---- */

static void test_open(void)
{
	CLEANUP(free) char *path = path_of("a/b//./c/"), *want = path_of("a/b/c");
	CLEANUP(outdir_close) struct outdir out = {0}, made = {0}, again = {.fd = 77};
	struct stat st;

	umask(0);
	is_int(outdir_open(path, 0750, &out, &err), 0, "missing parts are made");
	is_str(out.path, want, "the path is a plain one");
	ok(stat(want, &st) == 0 && (st.st_mode & 07777) == 0750, "they have the mode");
	ok(fcntl(out.fd, F_GETFD) & FD_CLOEXEC, "the descriptor is not inherited");
	is_int(outdir_make(&out, "new", &made, &err), 0, "a directory is made in it");
	ok(fstat(made.fd, &st) == 0 && (st.st_mode & 07777) == 0700, "nobody else can enter it");
	is_int(outdir_make(&out, "new", &again, &err), -1, "it is made once");
	is_int(err.code, EEXIST, "the error is that it exists");
	is_int(again.fd, 77, "the output of a failure is untouched");
	put_text("file", 0600, "");
	is_int(open_at("file"), -1, "a file is no directory");
	is_int(err.code, ENOTDIR, "which is the error");
	is_int(open_at("file/below"), -1, "nor has it one");
	outdir_close(&made);
	ok(!made.path, "a closed one has no path");
	outdir_close(&made);
}

static void test_links(void)
{
	CLEANUP(free) char *absolute = path_of("a/b"), *want = path_of("a/b/c");
	CLEANUP(free) char *path = path_of("to/up/b/c");
	CLEANUP(outdir_close) struct outdir out = {0};

	link_to(absolute, "to", geteuid());
	link_to("..", "a/b/up", geteuid());
	link_to("loop", "loop", geteuid());
	is_int(outdir_open(path, 0755, &out, &err), 0, "links of one's own are followed: %s",
	       err.msg);
	is_str(out.path, want, "the path is that of the directory");
	is_int(open_at("loop"), -1, "a loop ends");
	is_int(err.code, ELOOP, "with the system's code");
}

static void test_relative(void)
{
	CLEANUP(close_fd) int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(outdir_close) struct outdir out = {0}, here = {0};
	CLEANUP(free) char *want = path_of("rel/x");

	if (chdir(top) < 0)
		abort();
	is_int(outdir_open("rel/./y/../x", 0755, &out, &err), 0, "a path may be relative");
	is_str(out.path, want, "it is one below the working directory");
	is_int(outdir_open(".", 0755, &here, &err), 0, "which is a directory itself");
	is_str(here.path, top, "by its path");
	if (fchdir(before) < 0)
		abort();
}

/* ---- root: who can rename ---- */

static void test_refused(void)
{
	static const struct {
		uid_t uid;
		mode_t mode;
		bool good;
		const char *check;
	} rows[] = {
		{0, 0755, true, "a directory of root's"},
		{0, 0700, true, "one that only root can enter"},
		{0, 01777, true, "one like /tmp"},
		{0, 01775, true, "a sticky one of a group"},
		{0, 0775, false, "one that a group can change"},
		{0, 0757, false, "one that others can change"},
		{0, 0777, false, "one that all can change"},
		{OTHER, 0755, false, "one of another user"},
		{OTHER, 0500, false, "one of another user, who can change its mode"},
		{OTHER, 01777, false, "a sticky one of another user, who may rename all in it"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		make("row", rows[i].uid, rows[i].mode);
		is_int(open_at("row") == 0, rows[i].good, "case 85: %s is %s", rows[i].check,
		       rows[i].good ? "accepted" : "refused");
		is_int(open_at("row/x/y") == 0, rows[i].good, "also as a parent");
		ok(rows[i].good == exists("row/x"), "nothing is made in one that is refused");
		fs_remove_tree(AT_FDCWD, top);
		if (mkdir(top, 0700) < 0)
			abort();
	}
}

static void test_message(void)
{
	CLEANUP(free)
	char *want = xasprintf("%s/vol/out: %s/vol belongs to uid %d and has mode 0755: ", top, top,
			       OTHER);
	const char *end = "give a directory that only root can change, or a new one in /tmp";

	make("vol", OTHER, 0755);
	is_int(open_at("vol/out"), -1, "a parent of another user is refused");
	ok(has_prefix(err.msg, want), "the message says which, and why: %s", err.msg);
	ok(has_suffix(err.msg, end), "and what to do");
}

static void test_sticky(void)
{
	make("tmp", 0, 01777);
	make("tmp/theirs", OTHER, 0755);
	make("tmp/ours", 0, 0755);
	make("victim", 0, 0755);
	link_to("../victim", "tmp/link", OTHER);
	link_to("../victim", "tmp/own", 0);
	link_to("../made", "tmp/dangling", OTHER);
	is_int(open_at("tmp/ours"), 0, "in a sticky directory one's own is accepted");
	is_int(open_at("tmp/new"), 0, "a new one is made");
	is_int(open_at("tmp/theirs"), -1, "case 85: another user's directory is refused");
	is_int(open_at("tmp/link"), -1, "case 85: so is another user's link");
	is_int(open_at("tmp/link/x"), -1, "also on the way");
	is_int(open_at("tmp/dangling"), -1, "and where it leads to nothing");
	ok(!exists("made") && !exists("victim/x"), "nothing is made where they lead to");
	is_int(open_at("tmp/own/x"), 0, "root's own link is followed");
	is_int(open_at("tmp/theirs/../ours"), -1, "no way leads through another user's");
}

/* ---- sudo ---- */

static void test_sudo(void)
{
	static const char *const bad[] = {"", "0", "-1", "4294967295", "4712x", "99999999999"};
	CLEANUP(outdir_close) struct outdir out = {0}, in = {0};
	CLEANUP(free) char *path = path_of("home/out");
	const uid_t caller = (uid_t)atoi(CALLER);

	make("home", caller, 0755);
	make("root", 0, 0755);
	make("sticky", 0, 01777);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		setenv("SUDO_UID", bad[i], 1);
		is_int(open_at("home/x"), -1, "SUDO_UID \"%s\" is nobody", bad[i]);
	}
	setenv("SUDO_UID", CALLER, 1);
	setenv("SUDO_GID", CALLER, 1);
	is_int(outdir_open(path, 0755, &out, &err), 0, "a directory of sudo's caller is accepted");
	ok(is_owned("home/out", caller), "what is made in it is the caller's");
	is_int(open_at("sticky/x"), 0, "a sticky one is as well");
	ok(is_owned("sticky/x", caller), "and what is made in it the caller's");
	is_int(open_at("root/x"), 0, "so is one of root's");
	ok(is_owned("root/x", 0), "where all stays root's");
	make("other", OTHER, 0755);
	is_int(open_at("other/x"), -1, "another user's is refused as ever");

	if (outdir_make(&out, "session", &in, &err) < 0)
		abort();
	put_text("home/out/session/maps/a", 0600, "");
	link_to("/etc/passwd", "home/out/session/link", 0);
	put_text("home/out/flame.svg", 0600, "");
	outdir_give_tree(&out, in.fd);
	ok(is_owned("home/out/session", caller) && is_owned("home/out/session/maps", caller) &&
		   is_owned("home/out/session/maps/a", caller),
	   "a directory is given with all that it holds");
	ok(is_owned("home/out/session/link", caller) && access("/etc/passwd", R_OK) == 0,
	   "a link is given itself");
	ok(is_owned("home/out/flame.svg", 0), "what is beside it is not");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

/* Works in a directory; true if it is taken for what sudo's caller gets. */
static bool is_here(const char *name)
{
	CLEANUP(free) char *path = path_of(name);
	CLEANUP(outdir_close) struct outdir here = {.fd = -1};

	if (chdir(path) < 0)
		abort();
	return outdir_open_here(&here) && here.path && !strcmp(here.path, path);
}

static void test_here(void)
{
	CLEANUP(close_fd) int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	make("mine", (uid_t)atoi(CALLER), 0700);
	make("shared", 0, 01777);
	make("roots", 0, 0755);
	make("theirs", OTHER, 0755);
	make("anybodys", (uid_t)atoi(CALLER), 0777);
	ok(!outdir_has_caller() && !is_here("mine"), "without sudo nothing is written here");
	setenv("SUDO_UID", CALLER, 1);
	ok(!outdir_has_caller() && !is_here("mine"), "nor where the group is not known");
	setenv("SUDO_GID", CALLER, 1);
	ok(outdir_has_caller(), "under sudo there is a caller");
	ok(is_here("mine"), "whose own directory is taken");
	ok(is_here("shared"), "and a sticky one");
	ok(!is_here("roots"), "but not root's");
	ok(!is_here("theirs"), "nor another user's");
	ok(!is_here("anybodys"), "nor one in which anybody can rename");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	if (fchdir(before) < 0)
		abort();
}

/* ---- races ---- */

/* As another user: makes and removes a directory, a link and a dangling link of the name, and
 * exchanges them, all the time. */
static void swap_names(void)
{
	static const char *const names[] = {"out", "a", "b"};

	for (unsigned i = 0;; i++) {
		const char *name = names[i % 3], *other = names[i / 3 % 3];

		mkdir(name, 0777);
		syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, other, RENAME_EXCHANGE);
		rmdir(other);
		(void)!symlink("../victim", other);
		syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, other, RENAME_EXCHANGE);
		unlink(name);
		(void)!symlink("../victim/made", name);
		rename(name, other);
		unlink(other);
	}
}

static pid_t start_swapping(const char *where, uid_t uid)
{
	CLEANUP(free) char *path = path_of(where);
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chdir(path) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		_exit(1);
	swap_names();
	_exit(0);
}

struct race {
	int opened, refused, escapes;
};

/* Opens <where>/out again and again, and makes a session in it as dfg does. */
static struct race run_race(const char *where)
{
	CLEANUP(free) char *path = xasprintf("%s/%s/out", top, where);
	CLEANUP(free) char *victim = path_of("victim");
	struct race r = {0};
	struct stat v, st;

	if (stat(victim, &v) < 0)
		abort();
	for (int i = 0; i < ROUNDS; i++) {
		CLEANUP(outdir_close) struct outdir out = {0}, in = {0};

		if (outdir_open(path, 0755, &out, &err) < 0) {
			r.refused++;
			continue;
		}
		r.opened++;
		if (fstat(out.fd, &st) < 0 || st.st_uid != 0 || st.st_ino == v.st_ino)
			r.escapes++;
		if (outdir_make(&out, "session", &in, &err) == 0)
			(void)unlinkat(out.fd, "session", AT_REMOVEDIR);
		rmdir(path);
	}
	r.escapes += exists("victim/made") || exists("victim/session");
	return r;
}

/* A directory like /tmp, in which another user swaps what has the name. */
static void test_race(void)
{
	struct race r;
	pid_t swapper;

	make("race", 0, 01777);
	make("theirs", OTHER, 0755);
	make("victim", 0, 0755);
	swapper = start_swapping("race", OTHER);
	r = run_race("race");
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	is_int(r.escapes, 0, "case 85: in %d rounds of a race nothing is led elsewhere", ROUNDS);
	ok(r.refused > 0, "it was opened %d times, and refused %d times", r.opened, r.refused);

	swapper = start_swapping("theirs", OTHER);
	r = run_race("theirs");
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	is_int(r.opened, 0, "case 85: in another user's directory none of %d rounds opens one",
	       ROUNDS);
	is_int(r.escapes, 0, "and nothing is made elsewhere");
}

static void clean(void)
{
	fs_remove_tree(AT_FDCWD, top);
	if (mkdir(top, 0755) < 0)
		abort();
}

int main(void)
{
	static void (*const as_root[])(void) = {test_refused, test_message, test_sticky, test_sudo,
						test_here, test_race};

	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	scratch_make();
	test_open();
	test_links();
	test_relative();
	umask(022);
	for (size_t i = 0; i < ARRAY_LEN(as_root); i++) {
		clean();
		if (geteuid() == 0)
			as_root[i]();
		else
			ok(true, "directories of other users # SKIP needs root");
	}
	scratch_remove();
	return tap_done();
}
