// SPDX-License-Identifier: Apache-2.0
/* The hook's mounts in a container that is a child process with a mount namespace of its own. */
#include "hook/container.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fs.h"
#include "dfg/paths.h"
#include "lib/tap.h"

static char dir_name[] = "/tmp/dfg-hook-container.XXXXXX";
static int dir;

/* A tmpfs is on dir/dev: the root file system of the container is dir. */
static int prepare(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("share", dir_name, "tmpfs", 0, "mode=755") < 0 || chdir(dir_name) < 0)
		return -1;
	dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 || mkdir("dev", 0755) < 0 || mkdir("share", 0700) < 0 ? -1 : 0;
}

/* Starts a process in its own mount namespace, with a tmpfs on dev; `setup` runs in it. */
static pid_t start(bool (*setup)(void))
{
	int ready[2];
	char c = 0;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		bool done = unshare(CLONE_NEWNS) == 0 && chdir(dir_name) == 0 &&
			    mount("dev", "dev", "tmpfs", 0, "mode=755") == 0 && setup();

		if (!done || write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1 || c != 'r')
		abort();
	close(ready[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool nothing(void)
{
	return true;
}

static bool make_link(void)
{
	return symlink("/tmp", "dev/dfg-out") == 0;
}

static bool make_regular(void)
{
	int fd = open("dev/dfg-out", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	return fd >= 0 && close(fd) == 0;
}

static bool make_mount(void)
{
	return mkdir("dev/dfg-out", 0755) == 0 &&
	       mount("other", "dev/dfg-out", "tmpfs", 0, "") == 0;
}

static bool make_filled(void)
{
	return mkdir("dev/dfg-out", 0755) == 0 && mkdir("dev/dfg-out/a", 0755) == 0;
}

static bool make_foreign(void)
{
	return mkdir("dev/dfg-out", 0755) == 0 && chown("dev/dfg-out", 1, 0) == 0;
}

static bool make_empty(void)
{
	return mkdir("dev/dfg-out", 0755) == 0 && mkdir("dev/dfg", 0755) == 0;
}

static bool make_last_link(void)
{
	return symlink("/tmp", "dev/dfg") == 0;
}

static bool make_readonly(void)
{
	return mount("", "dev", "", MS_REMOUNT | MS_RDONLY, NULL) == 0;
}

static bool without_dev(void)
{
	return umount2("dev", MNT_DETACH) == 0;
}

static bool has_in(pid_t pid, const char *name)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/root%s/dev/%s", (int)pid, dir_name, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Mounts for the container; its payload is a copy of its share. */
static enum hook_status mount_into(const struct hook_container *c, struct err *err)
{
	const struct hook_tmpfs out = {.bytes = 1u << 20, .inodes = 16};
	struct hook_mounts m = {-1, -1, -1};
	CLEANUP(close_fd) int share = openat(dir, "share", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_fd) int host = -1;
	enum hook_status status;

	if (hook_share_mount(share, &out, &m, err) < 0)
		return HOOK_ERR_HOST;
	host = openat(share, DFG_OUT_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m.payload = hook_mnt_clone(host, err);
	status = hook_container_mount(c, dir_name, &m, err);
	cleanup_close_fd(&m.out);
	cleanup_close_fd(&m.ctl);
	cleanup_close_fd(&m.payload);
	hook_share_remove(share);
	ok(faccessat(share, DFG_OUT_DIR, F_OK, 0) < 0 && faccessat(share, DFG_CTL_DIR, F_OK, 0) < 0,
	   "the mount points of the share are removed");
	return status;
}

static void test_points(void)
{
	static const struct {
		const char *what;
		bool (*setup)(void);
		enum hook_status status;
		const char *msg;
		bool out; /* what is there afterwards */
	} rows[] = {
		{"an empty /dev", nothing, HOOK_MOUNTED, NULL, true},
		{"the empty mount points of an earlier call", make_empty, HOOK_MOUNTED, NULL, true},
		{"a symbolic link", make_link, HOOK_SKIP_OCCUPIED, "/dev/dfg-out is in use", true},
		{"a regular file", make_regular, HOOK_SKIP_OCCUPIED, "/dev/dfg-out is in use",
		 true},
		{"a mount", make_mount, HOOK_SKIP_OCCUPIED, "/dev/dfg-out is in use", true},
		{"a directory that is not empty", make_filled, HOOK_SKIP_OCCUPIED,
		 "/dev/dfg-out is in use", true},
		{"a directory of another user", make_foreign, HOOK_SKIP_OCCUPIED,
		 "/dev/dfg-out is in use", true},
		{"a link in place of the last mount point", make_last_link, HOOK_SKIP_OCCUPIED,
		 "/dev/dfg is in use", false},
		{"a read-only /dev", make_readonly, HOOK_SKIP_NODEV,
		 "/dev is not the container's own writable tmpfs", false},
		{"a /dev that is no mount", without_dev, HOOK_SKIP_NODEV,
		 "/dev is not the container's own writable tmpfs", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct hook_container c = HOOK_CONTAINER_EMPTY;
		struct err err = {0};
		pid_t pid = start(rows[i].setup);
		bool mounted = rows[i].status == HOOK_MOUNTED;

		is_int(hook_container_open(pid, false, &c, &err), HOOK_NONE,
		       "the process with %s is opened", rows[i].what);
		ok(c.root == -1 && c.proc >= 0 && c.mnt_ns >= 0 && c.root_uid == 0 &&
			   c.root_gid == 0 && c.start_time > 0 && c.mnt_ns_inode > 0,
		   "what the process is of is known");
		is_str(hook_status_name(mount_into(&c, &err)), hook_status_name(rows[i].status),
		       "the status is right with %s", rows[i].what);
		if (rows[i].msg)
			is_str(err.msg, rows[i].msg, "the reason is told with %s", rows[i].what);
		is_int(has_in(pid, DFG_OUT_MNT), rows[i].out, "/dev/dfg-out %s there",
		       rows[i].out ? "is" : "is not");
		is_int(has_in(pid, DFG_CTL_MNT), mounted, "/dev/dfg-ctl %s there",
		       mounted ? "is" : "is not");
		stop(pid);
		is_int(hook_container_check(&c, &err), HOOK_SKIP_GONE, "its end is noticed");
		is_str(err.msg, "the container has ended", "its end is told");
		hook_container_close(&c);
		ok(c.proc == -1 && c.mnt_ns == -1 && c.root == -1, "nothing stays open");
	}
}

static void test_open(void)
{
	struct hook_container c = HOOK_CONTAINER_EMPTY;
	struct err err = {0};
	pid_t pid = start(nothing);

	is_int(hook_container_open(getpid(), false, &c, &err), HOOK_SKIP_NOMNTNS,
	       "a process of the caller's mount namespace is no container");
	is_str(err.msg, "the container has no mount namespace of its own", "the reason is told");
	is_int(c.proc, -1, "nothing is set by a failure");
	is_int(hook_container_open(pid, true, &c, &err), HOOK_NONE, "a container is joined");
	ok(c.root >= 0, "its root is opened when it is joined");
	is_int(hook_container_check(&c, &err), HOOK_NONE, "it runs");
	hook_container_close(&c);
	stop(pid);
	is_int(hook_container_open(pid, false, &c, &err), HOOK_SKIP_GONE,
	       "a process that has ended is gone");
}

int main(void)
{
	if (!mkdtemp(dir_name))
		return 1;
	if (geteuid() == 0 && prepare() == 0) {
		test_open();
		test_points();
		if (chdir("/") == 0)
			umount2(dir_name, MNT_DETACH);
	} else {
		ok(true, "a container gets its mounts # SKIP mounting is not permitted here");
	}
	rmdir(dir_name);
	return tap_done();
}
