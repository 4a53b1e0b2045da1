// SPDX-License-Identifier: Apache-2.0
/* The hook's mounts in a container that is a child process with a mount namespace of its own. */
#include "hook/container.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/confine.h"
#include "common/fs.h"
#include "dfg/paths.h"
#include "lib/hookbox.h"

static int dir; /* /tmp */

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

static bool make_full(void)
{
	return mount("", "dev", "", MS_REMOUNT, "nr_inodes=1") == 0;
}

static bool make_nearly_full(void)
{
	return mount("", "dev", "", MS_REMOUNT, "nr_inodes=2") == 0;
}

static bool make_host(void)
{
	return mount("/tmp/host", "dev", "", MS_BIND, NULL) == 0;
}

static bool make_proc(void)
{
	return mount("proc", "dev", "proc", 0, NULL) == 0;
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
	struct stat st;

	return box_stat(pid, name, &st);
}

/* Mounts for the container with this root; its payload is a copy of its share, or missing. */
static enum hook_status mount_at(const struct hook_container *c, const char *path, bool payload,
				 struct err *err)
{
	const struct hook_tmpfs out = {.bytes = 1u << 20, .inodes = 16};
	struct hook_mounts m = {-1, -1, -1};
	CLEANUP(close_fd) int share = openat(dir, "share", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_fd) int host = -1;
	enum hook_status status;

	if (hook_share_mount(share, &out, &m, err) < 0)
		return HOOK_ERR_HOST;
	host = openat(share, DFG_OUT_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m.payload = payload ? hook_mnt_clone(host, err) : -1;
	status = hook_container_mount(c, path, &m, err);
	cleanup_close_fd(&m.out);
	cleanup_close_fd(&m.ctl);
	cleanup_close_fd(&m.payload);
	hook_share_remove(share);
	ok(faccessat(share, DFG_OUT_DIR, F_OK, 0) < 0 && faccessat(share, DFG_CTL_DIR, F_OK, 0) < 0,
	   "the mount points of the share are removed");
	return status;
}

static enum hook_status mount_into(const struct hook_container *c, struct err *err)
{
	return mount_at(c, BOX_FS, true, err);
}

/* Case 4: names that are taken. */
static void test_points(void)
{
	static const struct {
		const char *what;
		bool (*setup)(void);
		enum hook_status status;
		const char *msg;
		bool out; /* what is there afterwards */
	} rows[] = {
		{"an empty /dev", NULL, HOOK_MOUNTED, NULL, true},
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
		{"a full /dev", make_full, HOOK_SKIP_NODEV,
		 "make /dev/dfg-out: No space left on device", false},
		{"a /dev with room for one", make_nearly_full, HOOK_SKIP_NODEV,
		 "make /dev/dfg-ctl: No space left on device", false},
		{"the host's /dev", make_host, HOOK_SKIP_HOSTDEV, "/dev is the host's", false},
		{"a /dev that is no tmpfs", make_proc, HOOK_SKIP_NODEV,
		 "/dev is not the container's own writable tmpfs", false},
		{"a /dev that is no mount", without_dev, HOOK_SKIP_NODEV,
		 "/dev is not the container's own writable tmpfs", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct hook_container c = HOOK_CONTAINER_EMPTY;
		struct err err = {0};
		pid_t pid = box_container(0, rows[i].setup);
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
		actor_end(pid);
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
	pid_t pid = box_container(0, NULL);
	siginfo_t info;

	is_int(hook_container_open(getpid(), false, &c, &err), HOOK_SKIP_NOMNTNS,
	       "a process of the caller's mount namespace is no container");
	is_str(err.msg, "the container has no mount namespace of its own", "the reason is told");
	is_int(c.proc, -1, "nothing is set by a failure");
	is_int(hook_container_open(pid, true, &c, &err), HOOK_NONE, "a container is joined");
	ok(c.root >= 0, "its root is opened when it is joined");
	is_int(hook_container_check(&c, &err), HOOK_NONE, "it runs");
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	is_int(hook_container_check(&c, &err), HOOK_SKIP_GONE,
	       "a process that waits for its parent has ended");
	hook_container_close(&c);
	actor_end(pid);
	is_int(hook_container_open(pid, false, &c, &err), HOOK_SKIP_GONE,
	       "a process that has ended is gone");
}

/* ---- paths, ids, peers ---- */

static void test_paths(void)
{
	static const struct {
		const char *what, *path;
		bool payload;
		enum hook_status status;
		const char *msg;
	} rows[] = {
		{"a root that is missing", "/tmp/none", true, HOOK_SKIP_BUNDLE,
		 "open /tmp/none: No such file or directory"},
		{"a root by a link of /proc", "/proc/self/root" BOX_FS, true, HOOK_SKIP_BUNDLE,
		 "open /proc/self/root" BOX_FS ": Too many levels of symbolic links"},
		{"a root that is a file", "/tmp/file", true, HOOK_SKIP_BUNDLE,
		 "open /tmp/file: Not a directory"},
		{"a root without /dev", "/tmp", true, HOOK_SKIP_NODEV,
		 "open dev: No such file or directory"},
		{"a root whose /dev is a link", "/tmp/linked", true, HOOK_SKIP_NODEV,
		 "open dev: Not a directory"},
		{"a payload that is no mount", BOX_FS, false, HOOK_ERR_MOUNT,
		 "attach a mount: Bad file descriptor"},
		{"nothing wrong", BOX_FS, true, HOOK_MOUNTED, ""},
	};
	struct hook_container c = HOOK_CONTAINER_EMPTY;
	pid_t pid = box_container(0, NULL);

	box_write("/tmp/file", 0600, "");
	box_must(mkdir("/tmp/linked", 0755) == 0 && symlink(BOX_FS "/dev", "/tmp/linked/dev") == 0,
		 "/tmp/linked");
	box_must(hook_container_open(pid, false, &c, NULL) == HOOK_NONE, "open");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool mounted = rows[i].status == HOOK_MOUNTED;
		struct err err = {0};

		is_str(hook_status_name(mount_at(&c, rows[i].path, rows[i].payload, &err)),
		       hook_status_name(rows[i].status), "the status is right with %s",
		       rows[i].what);
		is_str(err.msg, rows[i].msg, "the reason is told with %s", rows[i].what);
		ok(has_in(pid, DFG_OUT_MNT) == mounted && has_in(pid, DFG_CTL_MNT) == mounted &&
			   has_in(pid, DFG_PAYLOAD_MNT) == mounted,
		   "all mounts are there or none");
	}
	actor_end(pid);
	hook_container_close(&c);
}

static bool change_root(void)
{
	return chroot(".") == 0 && chdir("/") == 0;
}

static void test_join(void)
{
	struct hook_container c = HOOK_CONTAINER_EMPTY;
	pid_t pid = box_container(0, change_root);
	struct err err = {0};
	char line[1024];

	box_must(hook_container_open(pid, true, &c, &err) == HOOK_NONE, err.msg);
	is_str(hook_status_name(mount_at(&c, NULL, true, &err)), "mounted",
	       "a container that is joined needs no path");
	ok(box_mounts(pid, "/dev/dfg", line) == 1, "its own /dev has the mounts");
	actor_end(pid);
	hook_container_close(&c);
}

static void test_user_namespace(void)
{
	struct hook_container c = HOOK_CONTAINER_EMPTY;
	pid_t pid = box_container(100000, NULL);
	struct err err = {0};
	char line[1024];

	is_int(hook_container_open(pid, false, &c, &err), HOOK_NONE, "one of other ids is opened");
	ok(c.root_uid == 100000 && c.root_gid == 100001, "the ids of its root are known");
	is_str(hook_status_name(mount_into(&c, &err)), "mounted", "its mounts are attached");
	ok(box_mounts(pid, BOX_FS "/dev/dfg", line) == 1, "they are in it");
	actor_end(pid);
	hook_container_close(&c);
}

/* Its ids begin with 1. Case 33. */
static void test_unmapped(void)
{
	struct hook_container c = HOOK_CONTAINER_EMPTY;
	struct err err = {0};
	struct actor a;

	if (actor_fork(&a)) {
		if (!box_enter_user(1, 100000) || unshare(CLONE_NEWNS) < 0)
			_exit(1);
		actor_play(&a);
	}
	box_must(actor_wait(&a), "a user namespace");
	is_int(hook_container_open(a.pid, false, &c, &err), HOOK_SKIP_UNMAPPED,
	       "a container without a root is left alone");
	is_str(err.msg, "uid_map has no root", "the reason is told");
	ok(c.proc == -1 && c.mnt_ns == -1, "nothing stays open");
	actor_end(a.pid);
}

static bool make_shared(void)
{
	return mount("", "dev", "", MS_SHARED, NULL) == 0;
}

/* A process whose mount namespace is a copy of a container's: its /dev is the same, and a peer. */
static pid_t peer_of(pid_t pid)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/ns/mnt", (int)pid);
	struct actor a;

	if (actor_fork(&a)) {
		CLEANUP(close_fd) int ns = open(path, O_RDONLY | O_CLOEXEC);

		if (setns(ns, CLONE_NEWNS) < 0 || unshare(CLONE_NEWNS) < 0)
			_exit(1);
		actor_play(&a);
	}
	box_must(actor_wait(&a), "a peer");
	return a.pid;
}

static void test_peers(void)
{
	struct hook_container c = HOOK_CONTAINER_EMPTY;
	pid_t pid = box_container(0, make_shared), peer = peer_of(pid);
	struct err err = {0};
	char line[1024];

	box_must(hook_container_open(pid, false, &c, &err) == HOOK_NONE, err.msg);
	is_str(hook_status_name(mount_into(&c, &err)), "mounted", "a shared /dev gets the mounts");
	is_int(box_mounts(pid, BOX_FS "/dev/dfg", line), 1, "they are in the container");
	is_int(box_mounts(peer, BOX_FS "/dev/dfg", line), 0, "they are not in its peers");
	actor_end(peer);
	actor_end(pid);
	hook_container_close(&c);
}

static int open_without_caps(void *arg, void *reply, struct err *err)
{
	struct hook_container c = HOOK_CONTAINER_EMPTY;

	if (confine_caps(NULL, 0, err) < 0)
		return -1;
	*(enum hook_status *)reply = hook_container_open(*(pid_t *)arg, false, &c, err);
	return 0;
}

static void test_privileges(void)
{
	pid_t pid = box_container(0, NULL);
	enum hook_status status = HOOK_NONE;
	struct err err = {0};

	is_int(child_call(open_without_caps, &pid, &status, sizeof(status), 20000, &err), 0,
	       "a caller without capabilities tries");
	is_str(hook_status_name(status), "err-privileges", "it may not open a container");
	actor_end(pid);
}

static void tests(void)
{
	dir = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	box_must(dir >= 0 && mkdir("/tmp/share", 0700) == 0 && mkdir("/tmp/host", 0755) == 0,
		 "folders");
	test_open();
	test_points();
	test_paths();
	test_join();
	test_user_namespace();
	test_unmapped();
	test_peers();
	test_privileges();
}

int main(void)
{
	return box_run(tests);
}
