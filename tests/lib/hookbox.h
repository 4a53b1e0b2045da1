/* SPDX-License-Identifier: Apache-2.0 */
/* A box for tests of what the hook mounts and removes, and containers in it.
 *
 *	static void test_...(void) { ... pid = box_container(0, setup); ... actor_end(pid); }
 *	int main(void) { return box_run(tests); }
 *
 * The box is a child process in a mount and a pid namespace of its own, where every mount is
 *private and read-only but /proc and a tmpfs on /tmp: what a fault of the hook mounts, removes or
 *kills is the box's and ends with it. A container is a process in it with its own mount namespace;
 *its root file system is BOX_FS, a tmpfs, with a tmpfs on dev. */
#ifndef DFG_LIB_HOOKBOX_H
#define DFG_LIB_HOOKBOX_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fs.h"
#include "lib/actor.h"
#include "lib/tap.h"

#define BOX_FS "/tmp/fs"

static int box_build = -1; /* the folder of the build, opened outside */

static inline void box_must(bool cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "# %s: %s\n", what, strerror(errno));
	abort();
}

/* The directory above that of this program: build/tests/test_x.t. */
static inline void box_open_build(void)
{
	char path[4096] = "";
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	for (int i = 0; i < 2 && n > 0 && strrchr(path, '/'); i++)
		*strrchr(path, '/') = '\0';
	box_build = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* False where mounting is not permitted. */
static inline bool box_make(void)
{
	struct mount_attr seal = {.attr_set = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};

	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &seal, sizeof(seal)) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0 ||
	    mount("tmp", "/tmp", "tmpfs", 0, "mode=755") < 0 || mkdir(BOX_FS, 0755) < 0 ||
	    mount("fs", BOX_FS, "tmpfs", 0, "mode=755") < 0 || mkdir(BOX_FS "/dev", 0755) < 0 ||
	    chdir("/") < 0)
		return false;
	box_must(access("/", W_OK) < 0 && errno == EROFS, "/ is not read-only");
	umask(022);
	return true;
}

/* Runs the tests in a box, or skips them. Returns the program's exit status. */
static inline int box_run(void (*tests)(void))
{
	struct actor box;
	int status = 1;

	box_open_build();
	if (geteuid() != 0 || unshare(CLONE_NEWNS | CLONE_NEWPID) < 0) {
		ok(true, "the hook works # SKIP mounting is not permitted here");
		return tap_done();
	}
	if (actor_fork(&box)) {
		if (box_make())
			tests();
		else
			ok(true, "the hook works # SKIP a box cannot be made: %s", strerror(errno));
		exit(tap_done());
	}
	close(box.ready);
	waitpid(box.pid, &status, 0);
	/* The pid namespace has ended, so what sanitizers do at an exit cannot start a thread. */
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* Writes a file of the box. */
static inline void box_write(const char *path, mode_t mode, const char *text)
{
	CLEANUP(close_fd) int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode);

	box_must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
			 fchmod(fd, mode) == 0,
		 path);
}

/* Copies a file of the build; false if it is not built. */
static inline bool box_copy(const char *from, const char *to)
{
	CLEANUP(close_fd) int in = openat(box_build, from, O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int out = -1;

	if (in < 0)
		return false;
	out = open(to, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0755);
	box_must(out >= 0 && fs_copy(in, out, 1u << 30, NULL) > 0, to);
	return true;
}

/* Appends the text of a file; "" if there is none. The caller frees it. */
static inline char *box_read(const char *path)
{
	struct str s = {0};

	if (fs_read_file(AT_FDCWD, path, 64u << 20, &s, NULL) < 0)
		str_fini(&s);
	return s.buf ? s.buf : xstrdup("");
}

/* The number of mounts at a path in the mount namespace of a process, 0: this one. ret: the last
 * one's line of mountinfo, if not NULL. */
static inline unsigned box_mounts(pid_t pid, const char *point, char ret[static 1024])
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/mountinfo", pid ? (int)pid : (int)getpid());
	CLEANUP(free) char *want = xasprintf(" %s ", point);
	CLEANUP(fclose) FILE *f = fopen(path, "re");
	unsigned count = 0;
	char line[1024];

	ret[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		char *options = strchr(line, '/');
		char *at = options ? strchr(options, ' ') : NULL; /* after the root in its fs */

		if (at && !strncmp(at, want, strlen(want))) {
			snprintf(ret, 1024, "%s", at + strlen(want));
			count++;
		}
	}
	return count;
}

/* In a child of the process that is to be mapped: id 0 becomes `id`, 65536 in all. */
static inline void box_map(pid_t of, uint32_t inside, uint32_t id)
{
	static const char *const names[] = {"uid_map", "gid_map"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP(free) char *path = xasprintf("/proc/%d/%s", (int)of, names[i]);
		CLEANUP(free) char *map = xasprintf("%u %u 65536\n", inside, id + (unsigned)i);
		CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, map, strlen(map)) != (ssize_t)strlen(map))
			_exit(1);
	}
}

/* Enters a user namespace in which `inside` is the host's uid `id` and gid `id` + 1. */
static inline bool box_enter_user(uint32_t inside, uint32_t id)
{
	pid_t self = getpid(), child;
	int fds[2], status;
	char byte;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	child = fork();
	if (child == 0) {
		close(fds[1]);
		if (read(fds[0], &byte, 1) == 1)
			box_map(self, inside, id);
		_exit(0);
	}
	if (unshare(CLONE_NEWUSER) < 0 || write(fds[1], "", 1) != 1)
		return false;
	close(fds[0]);
	close(fds[1]);
	return waitpid(child, &status, 0) == child && status == 0 &&
	       (inside != 0 || (setgid(0) == 0 && setuid(0) == 0));
}

/* Starts a container. `id`: of its root on the host (the gid is one more), 0: no user namespace.
 * `setup` runs in it, in its root file system. */
static inline pid_t box_container(uint32_t id, bool (*setup)(void))
{
	struct actor a;

	if (actor_fork(&a)) {
		if ((id && !box_enter_user(0, id)) || unshare(CLONE_NEWNS) < 0 ||
		    chdir(BOX_FS) < 0 || mount("dev", "dev", "tmpfs", 0, "mode=755") < 0 ||
		    (setup && !setup()))
			_exit(1);
		actor_play(&a);
	}
	box_must(actor_wait(&a), "a container does not start");
	return a.pid;
}

/* What is at dev/NAME in a container, without following a link; false if nothing is. */
static inline bool box_stat(pid_t pid, const char *name, struct stat *ret)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/root" BOX_FS "/dev/%s", (int)pid, name);

	return lstat(path, ret) == 0;
}

#endif
