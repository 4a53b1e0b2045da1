// SPDX-License-Identifier: Apache-2.0
#include "common/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "lib/tap.h"

static char base[] = "/tmp/dfg-test-fs-XXXXXX";
static int dir; /* of base */
static struct err err;

static void put(int at, const char *name, const char *text)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || fs_write_all(fd, text, strlen(text), &err) < 0)
		abort();
	close(fd);
}

static void make_link(const char *to, int at, const char *name)
{
	if (symlinkat(to, at, name) < 0)
		abort();
}

static const char *get(int at, const char *name)
{
	static struct str s;

	str_clear(&s);
	if (fs_read_file(at, name, 1 << 20, &s, &err) < 0)
		return NULL;
	return s.buf ? s.buf : "";
}

/* The text of a file opened in a root, or NULL. */
static const char *get_in_root(int root, const char *path)
{
	static struct str s;
	CLEANUP(close_fd) int fd = fs_open_in_root(root, path, O_RDONLY, &err);

	str_clear(&s);
	if (fd < 0 || fs_read_all(fd, 1 << 20, &s, &err) < 0)
		return NULL;
	return s.buf ? s.buf : "";
}

static void test_in_root(void)
{
	CLEANUP(close_fd) int root = fs_make_dir(dir, "root", 0700, &err);
	CLEANUP(close_fd) int etc = fs_make_dir(root, "etc", 0700, &err);
	CLEANUP(free) char *outside = xasprintf("%s/secret", base);

	put(dir, "secret", "outside");
	put(etc, "name", "inside");
	make_link("/etc", root, "absolute");
	make_link("../../../../../../etc", root, "climbing");
	make_link(outside, root, "out");
	make_link("../secret", root, "beside");
	make_link("/proc/self/root", root, "proclink");
	make_link("loop", root, "loop");
	is_str(get_in_root(root, "/etc/name"), "inside", "absolute path: below the root");
	is_str(get_in_root(root, "etc/name"), "inside", "relative path: the same");
	is_str(get_in_root(root, "absolute/name"), "inside", "absolute link: stays inside");
	is_str(get_in_root(root, "climbing/name"), "inside", "climbing link: stays inside");
	is_str(get_in_root(root, "../../../etc/name"), "inside", "climbing path: stays inside");
	ok(!get_in_root(root, "out"), "a link to a file outside finds nothing");
	ok(!get_in_root(root, "beside"), "nor does one beside the root");
	ok(!get_in_root(root, "../secret"), "nor a path");
	ok(!get_in_root(root, "loop") && err.code == ELOOP, "a loop ends");
	ok(!get_in_root(root, "nothing") && err.code == ENOENT, "nothing there");
	ok(strstr(err.msg, "nothing") != NULL, "its name is in the message: %s", err.msg);
}

static void test_magic_links(void)
{
	CLEANUP(close_fd) int proc = open("/proc/self", O_PATH | O_DIRECTORY);

	ok(fs_open_in_root(proc, "root", O_PATH, &err) < 0 && err.code == ELOOP,
	   "a magic link as the path");
	ok(fs_open_in_root(proc, "cwd/x", O_PATH, &err) < 0 && err.code == ELOOP, "or on the way");
	ok(fs_open_in_root(proc, "exe", O_RDONLY, &err) < 0 && err.code == ELOOP, "or to a file");
}

/* A process in which a directory and a link to the outside change places all the time. */
static pid_t start_swapping(int root)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		syscall(SYS_renameat2, root, "a", root, "b", RENAME_EXCHANGE);
}

static void test_race(void)
{
	CLEANUP(close_fd) int root = fs_make_dir(dir, "race", 0700, &err);
	CLEANUP(close_fd) int a = fs_make_dir(root, "a", 0700, &err);
	CLEANUP(close_fd) int sub = fs_make_dir(a, "sub", 0700, &err);
	CLEANUP(close_fd) int target = fs_make_dir(dir, "sub", 0700, &err);
	uint64_t until = clock_ms() + 1000;
	int inside = 0, nothing = 0, escapes = 0, plain = 0;
	pid_t swapper;

	put(sub, "file", "inside");
	put(target, "file", "outside");
	make_link(base, root, "b");
	swapper = start_swapping(root);
	while (clock_ms() < until) {
		const char *text = get_in_root(root, "a/sub/../sub/file");
		CLEANUP(close_fd) int fd = openat(root, "a/sub/../sub/file", O_RDONLY);
		char c = 0;

		inside += text && !strcmp(text, "inside");
		escapes += text && strcmp(text, "inside") != 0;
		nothing += !text;
		plain += fd >= 0 && read(fd, &c, 1) == 1 && c == 'o';
	}
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	is_int(escapes, 0, "race: never outside");
	ok(inside > 0, "race: %d times inside, %d times nothing", inside, nothing);
	ok(plain > 0, "race: a plain open was led outside %d times", plain);
}

static void test_regular(void)
{
	CLEANUP(close_fd) int fd = -1;

	put(dir, "file", "text");
	make_link("file", dir, "link");
	mkfifoat(dir, "fifo", 0600);
	fd = fs_open_regular(dir, "file", O_RDONLY, &err);
	ok(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC), "regular file, closed on exec");
	ok(fs_open_regular(dir, "link", O_RDONLY, &err) < 0, "no link");
	ok(fs_open_regular(dir, "fifo", O_RDONLY, &err) < 0, "no FIFO, and no waiting for one");
	ok(fs_open_regular(dir, "root", O_RDONLY, &err) < 0, "no directory");
	ok(fs_open_regular(dir, "../etc/passwd", O_RDONLY, &err) < 0, "no climbing");
	ok(fs_open_regular(dir, "/etc/passwd", O_RDONLY, &err) < 0, "no absolute path");
}

static int count_entries(const char *prefix)
{
	DIR *d = opendir(base);
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d)))
		n += has_prefix(e->d_name, prefix);
	closedir(d);
	return n;
}

static void test_create_and_replace(void)
{
	CLEANUP(close_fd) int fd = fs_create(dir, "new", 0640, &err);
	struct stat st;

	ok(fd >= 0, "new file");
	ok(fs_create(dir, "new", 0640, &err) < 0 && err.code == EEXIST, "only once");
	make_link("nowhere", dir, "dangling");
	ok(fs_create(dir, "dangling", 0640, &err) < 0, "not through a link");
	put(dir, "victim", "untouched");
	make_link("victim", dir, "replaced");
	ok(fs_replace_file(dir, "replaced", 0604, "new text", 8, &err) == 0, "replace");
	is_str(get(dir, "replaced"), "new text", "its text");
	ok(fstatat(dir, "replaced", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		   (st.st_mode & 0777) == 0604,
	   "a file of its own, with its mode");
	is_str(get(dir, "victim"), "untouched", "what the link led to");
	mkdirat(dir, "taken", 0700);
	ok(fs_replace_file(dir, "taken", 0600, "x", 1, &err) < 0, "not over a directory");
	is_int(count_entries(".taken"), 0, "no temporary file is left");
}

static void check_like(mode_t mode, const char *name)
{
	const struct stat like = {.st_mode = S_IFREG | mode,
				  .st_uid = geteuid() == 0 ? 12 : geteuid(),
				  .st_gid = geteuid() == 0 ? 34 : getegid()};
	struct stat st = {0};

	is_int(fs_replace_like(dir, "like", &like, true, "text", 4, &err), 0, "%s", name);
	is_str(get(dir, "like"), "text", "its text");
	ok(fstatat(dir, "like", &st, 0) == 0 && st.st_uid == like.st_uid &&
		   st.st_gid == like.st_gid,
	   "its owner");
	is_int(st.st_mode & 07777, mode, "its mode, whatever the umask is");
}

/* A file of a write that was interrupted, and one whose write fails. */
static void test_interrupted(void)
{
	CLEANUP(free) char *left = xasprintf(".kept.%d", (int)getpid());
	CLEANUP(free) char *large = xasprintf("%08192d", 0);
	struct rlimit usual;

	umask(077);
	check_like(0644, "a file with owner and mode of another");
	check_like(06755, "also with bits that change ids");
	umask(022);
	put(dir, "kept", "old");
	put(dir, left, "half");
	ok(fs_replace_file(dir, "kept", 0600, "new", 3, &err) == 0,
	   "a temporary file that was left over is no obstacle");
	is_str(get(dir, "kept"), "new", "the file is replaced");
	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &usual) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, usual.rlim_max}) < 0)
		abort();
	is_int(fs_replace_file(dir, "kept", 0600, large, 8192, &err), -1,
	       "a write that fails is an error");
	is_str(err.msg, "kept: write: File too large", "with the file's name");
	is_int(err.code, EFBIG, "and the system's code");
	setrlimit(RLIMIT_FSIZE, &usual);
	signal(SIGXFSZ, SIG_DFL);
	is_str(get(dir, "kept"), "new", "the file is as it was");
	is_int(count_entries(".kept"), 0, "no temporary file is left");
}

static void test_make_dirs(void)
{
	CLEANUP(free) char *path = xasprintf("%s/x/y//z", base);
	CLEANUP(free) char *bad = xasprintf("%s/dirlink/y", base);
	CLEANUP(free) char *file = xasprintf("%s/file/y", base);
	CLEANUP(close_fd) int fd = fs_make_dirs(path, 0700, &err);
	CLEANUP(close_fd) int again = fs_make_dirs(path, 0700, &err);

	ok(fd >= 0 && again >= 0, "made, and there already");
	put(fd, "f", "here");
	is_str(get(again, "f"), "here", "the same");
	make_link("x", dir, "dirlink");
	ok(fs_make_dirs(bad, 0700, &err) < 0, "not through a link");
	ok(fs_make_dirs(file, 0700, &err) < 0, "not through a file");
	ok(fs_make_dirs("relative/x", 0700, &err) < 0, "not relative");
}

static void test_read_limit(void)
{
	CLEANUP(str_fini) struct str s = {0};

	put(dir, "ten", "0123456789");
	ok(fs_read_file(dir, "ten", 10, &s, &err) == 0, "as long as the limit");
	is_str(s.buf, "0123456789", "all of it");
	ok(fs_read_file(dir, "ten", 9, &s, &err) < 0 && err.code == EFBIG, "longer");
	ok(fs_read_file(dir, "fifo", 9, &s, &err) < 0, "no FIFO");
	ok(fs_read_file(dir, "link", 9, &s, &err) < 0, "no link");
}

static void test_copy(void)
{
	CLEANUP(close_fd) int from = openat(dir, "ten", O_RDONLY);
	CLEANUP(close_fd) int to = fs_create(dir, "copy", 0600, &err);
	CLEANUP(close_fd) int proc = open("/proc/self/status", O_RDONLY);
	CLEANUP(close_fd) int status = fs_create(dir, "status", 0600, &err);

	is_int(fs_copy(from, to, 4, &err), 4, "four bytes");
	is_int(fs_copy(from, to, 100, &err), 6, "the rest");
	is_str(get(dir, "copy"), "0123456789", "both");
	is_int(fs_copy(from, to, 100, &err), 0, "nothing after the end");
	ok(fs_copy(proc, status, 1 << 20, &err) > 100, "a file without a size");
	ok(strstr(get(dir, "status"), "SigCgt:") != NULL, "is copied too");
}

/* From and to a pipe, which the kernel does not copy by itself. */
static void test_copy_pipe(void)
{
	CLEANUP(close_fd) int to = fs_create(dir, "piped", 0600, &err);
	CLEANUP(close_fd) int closed = openat(dir, "ten", O_RDONLY);
	int fds[2];

	if (pipe(fds) < 0 || write(fds[1], "0123456789", 10) != 10)
		abort();
	is_int(fs_copy(fds[0], to, 4, &err), 4, "as many bytes as told from a pipe");
	is_int(fs_copy(fds[0], to, 0, &err), 0, "none if none are wanted");
	close(fds[1]);
	is_int(fs_copy(fds[0], to, 100, &err), 6, "and the rest");
	is_str(get(dir, "piped"), "0123456789", "all of them");
	close(fds[0]);
	is_int(fs_copy(closed, closed, 10, &err), -1, "a file that cannot be written");
	is_str(err.msg, "write: Bad file descriptor", "says so");
	is_int(fs_copy(-1, to, 10, &err), -1, "one that cannot be read");
	is_str(err.msg, "read: Bad file descriptor", "says so");
	is_int(fs_read_all(-1, 10, &(struct str){0}, &err), -1, "also when it is read as a whole");
}

static bool mount_at(const char *path)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", path, "tmpfs", 0, "size=1m") == 0;
}

/* Another file system in the tree stays, and so does what is above it. */
static void test_remove_mounted(void)
{
	CLEANUP(free) char *path = xasprintf("%s/mounted/below", base);
	int tree = fs_make_dirs(path, 0700, &err);
	CLEANUP(close_fd) int beside = fs_make_dir(dir, "mounted/beside", 0700, &err);

	close(tree);
	put(beside, "f", "x");
	if (geteuid() == 0 && mount_at(path)) {
		CLEANUP(free) char *kept = xasprintf("%s/kept", path);
		int fd = open(kept, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		close(fd);
		is_int(fs_remove_tree(dir, "mounted"), -1, "a tree with a mount is not removed");
		is_int(access(kept, F_OK), 0, "what is mounted stays");
		ok(faccessat(dir, "mounted/beside", F_OK, 0) < 0, "all else is gone");
		is_int(fs_remove_tree(dir, "mounted/below"), -1, "nor is the mount itself");
		is_int(access(kept, F_OK), 0, "it stays as well");
		umount(path);
	} else {
		ok(true, "a tree with a mount # SKIP not permitted here");
	}
	is_int(fs_remove_tree(dir, "mounted"), 0, "without the mount it is removed");
}

static void test_remove_tree(void)
{
	CLEANUP(close_fd) int tree = fs_make_dir(dir, "tree", 0700, &err);
	CLEANUP(close_fd) int deep = fs_make_dir(tree, "deep", 0700, &err);
	CLEANUP(close_fd) int keep = fs_make_dir(dir, "keep", 0700, &err);

	put(keep, "precious", "text");
	put(deep, "f", "x");
	make_link("../../keep", deep, "link");
	make_link("../keep", tree, "link");
	mkfifoat(deep, "fifo", 0600);
	is_int(fs_remove_tree(dir, "tree"), 0, "a tree");
	ok(faccessat(dir, "tree", F_OK, AT_SYMLINK_NOFOLLOW) < 0, "is gone");
	is_str(get(keep, "precious"), "text", "what its links led to is not");
	is_int(fs_remove_tree(dir, "never"), 0, "nothing there is fine");
	is_int(fs_remove_tree(dir, "link"), 0, "a link");
	is_str(get(dir, "file"), "text", "not what it led to");
}

int main(void)
{
	dir = mkdtemp(base) ? open(base, O_RDONLY | O_DIRECTORY) : -1;
	test_in_root();
	test_magic_links();
	test_race();
	test_regular();
	test_create_and_replace();
	test_interrupted();
	test_make_dirs();
	test_read_limit();
	test_copy();
	test_copy_pipe();
	test_remove_tree();
	test_remove_mounted();
	is_int(fs_remove_tree(AT_FDCWD, base), 0, "all is removed");
	return tap_done();
}
