// SPDX-License-Identifier: Apache-2.0
/* Mounts from descriptor to descriptor, and a container's two file systems on the host's side. */
#include "hook/mounts.h"

#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "dfg/paths.h"
#include "lib/hookbox.h"

static const struct hook_tmpfs some = {
	.name = "some", .bytes = 3u << 20, .inodes = 9, .mode = 0750, .uid = 11, .gid = 12};

static int directory(const char *path)
{
	int fd;

	mkdir(path, 0755);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	box_must(fd >= 0, path);
	return fd;
}

/* A tmpfs attached at the path; its descriptor. */
static int attached(const char *path, uint64_t attrs)
{
	CLEANUP(close_fd) int point = directory(path);
	struct err err = {0};
	int mnt = hook_mnt_tmpfs(&some, attrs, &err);

	box_must(mnt >= 0 && hook_mnt_attach(mnt, point, &err) == 0, err.msg);
	return mnt;
}

static bool can_write(const char *dir)
{
	CLEANUP(free) char *path = xasprintf("%s/file", dir);
	CLEANUP(close_fd) int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	return fd >= 0;
}

/* ---- one mount ---- */

static void test_tmpfs(void)
{
	struct statfs fs;
	struct stat st;
	char line[1024];

	close(attached("/tmp/t", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
	is_int(box_mounts(0, "/tmp/t", line), 1, "a tmpfs is attached once");
	ok(strstr(line, " - tmpfs some "), "its name is shown as the source");
	ok(strstr(line, "nosuid,noexec") && !strstr(line, "nodev"), "it has the attributes asked");
	ok(statfs("/tmp/t", &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
		   (uint64_t)fs.f_bsize * fs.f_blocks == some.bytes && fs.f_files == some.inodes,
	   "it has the size and number of files asked");
	ok(stat("/tmp/t", &st) == 0 && st.st_uid == 11 && st.st_gid == 12 &&
		   (st.st_mode & 07777) == 0750,
	   "its root has the mode and owner asked");
	umount2("/tmp/t", MNT_DETACH);
}

static void test_label(void)
{
	struct hook_tmpfs t = some;
	struct err err = {0};

	if (access("/sys/fs/selinux/enforce", F_OK) == 0) {
		ok(true, "a label needs SELinux # SKIP it is there");
		return;
	}
	t.label = "a:b:c:s0";
	is_int(hook_mnt_tmpfs(&t, 0, &err), -1, "a label is refused where there is no SELinux");
	is_str(err.msg, "tmpfs: mount option context=a:b:c:s0: Invalid argument",
	       "the option that was refused is told");
}

static void test_image(void)
{
	CLEANUP(free) char *known = NULL;
	struct err err = {0};

	is_int(hook_mnt_image("nosuchfs", "/dev/null", 0, &err), -1,
	       "a file system the kernel does not know is refused");
	is_str(err.msg, "nosuchfs: No such device", "it is named");
	is_int(err.code, ENODEV, "the error says that it is not known");
	known = box_read("/proc/filesystems");
	if (!strstr(known, "\text4\n")) {
		ok(true, "a missing device is refused # SKIP there is no ext4");
		return;
	}
	is_int(hook_mnt_image("ext4", "/tmp/none", 0, &err), -1, "a missing device is refused");
	ok(has_prefix(err.msg, "ext4 on /tmp/none: create the file system: "),
	   "file system and device are told");
}

static void test_seal(void)
{
	struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};
	CLEANUP(close_fd) int mnt = attached("/tmp/s", 0);
	CLEANUP(close_fd) int clone = -1;
	CLEANUP(close_fd) int at = directory("/tmp/s2");
	struct err err = {0};

	clone = hook_mnt_clone(mnt, &err);
	ok(clone >= 0 && hook_mnt_attach(clone, at, &err) == 0, "a clone is attached elsewhere");
	ok(can_write("/tmp/s") && access("/tmp/s2/file", F_OK) == 0, "both show the same files");
	is_int(hook_mnt_seal(mnt, &err), 0, "a file system is sealed");
	ok(!can_write("/tmp/s") && !can_write("/tmp/s2"), "no mount of it can be written");
	ok(mount_setattr(clone, "", AT_EMPTY_PATH, &writable, sizeof(writable)) == 0 &&
		   !can_write("/tmp/s2"),
	   "a mount that is made writable cannot be written either");
	umount2("/tmp/s2", MNT_DETACH);
	umount2("/tmp/s", MNT_DETACH);
	is_int(hook_mnt_seal(-1, &err), -1, "what is no mount is not sealed");
	is_str(err.msg, "make the file system read-only: Bad file descriptor", "this is told");
}

static void test_clone(void)
{
	CLEANUP(close_fd) int below = directory("/tmp/below");
	CLEANUP(close_fd) int clone = -1;
	CLEANUP(close_fd) int mnt = attached("/tmp/c", 0);
	struct err err = {0};

	clone = hook_mnt_clone(mnt, &err);
	is_int(hook_mnt_set(clone, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, &err), 0,
	       "a clone gets attributes");
	is_int(hook_mnt_attach(clone, below, &err), 0, "it is attached on a directory");
	ok(can_write("/tmp/c") && !can_write("/tmp/below"), "they are its own");
	is_int(hook_mnt_clone(-1, &err), -1, "no mount is not cloned");
	is_str(err.msg, "clone a mount: Bad file descriptor", "this is told");
	is_int(hook_mnt_set(-1, MOUNT_ATTR_RDONLY, &err), -1, "no mount gets no attributes");
	is_str(err.msg, "set mount attributes: Bad file descriptor", "this is told, too");
	is_int(hook_mnt_attach(-1, below, &err), -1, "no mount is not attached");
	is_str(err.msg, "attach a mount: Bad file descriptor", "this is told as well");
	umount2("/tmp/below", MNT_DETACH);
	umount2("/tmp/c", MNT_DETACH);
}

static void test_propagation(void)
{
	CLEANUP(close_fd) int peer = directory("/tmp/peer");
	CLEANUP(close_fd) int mnt = attached("/tmp/p", 0);
	CLEANUP(close_fd) int clone = -1;
	struct err err = {0};
	char line[1024];

	is_int(hook_mnt_propagation(mnt, MS_SHARED, &err), 0, "a mount is made shared");
	clone = hook_mnt_clone(mnt, &err);
	is_int(hook_mnt_attach(clone, peer, &err), 0, "it has a peer");
	is_int(hook_mnt_propagation(mnt, MS_SLAVE, &err), 0, "it is made a slave");
	box_mounts(0, "/tmp/p", line);
	ok(strstr(line, "master:") && !strstr(line, "shared:"), "it is no more than a slave");
	is_int(hook_mnt_propagation(mnt, MS_PRIVATE, &err), 0, "it is made private");
	box_mounts(0, "/tmp/p", line);
	ok(!strstr(line, "master:") && !strstr(line, "shared:"), "it is no slave then");
	is_int(hook_mnt_propagation(-1, MS_PRIVATE, &err), -1, "no mount has no propagation");
	is_str(err.msg, "set mount propagation: Bad file descriptor", "the reason is told");
	umount2("/tmp/peer", MNT_DETACH);
	umount2("/tmp/p", MNT_DETACH);
}

static void test_detach(void)
{
	CLEANUP(close_fd) int at = directory("/tmp");
	CLEANUP(close_fd) int plain = directory("/tmp/plain");
	CLEANUP(close_fd) int mnt = attached("/tmp/d", 0);
	CLEANUP(close_fd) int inside = directory("/tmp/d/inside");
	char line[1024];

	ok(hook_mnt_is_root(mnt), "the root of a mount is one");
	ok(!hook_mnt_is_root(plain) && !hook_mnt_is_root(inside), "other directories are none");
	is_int(hook_mnt_is_root(-1), -1, "of no descriptor it is unknown");
	box_must(symlink("d", "/tmp/link") == 0, "link");
	is_int(hook_mnt_detach(at, "link"), 0, "a link to a mount is no error");
	is_int(box_mounts(0, "/tmp/d", line), 1, "a link to a mount is not followed");
	is_int(hook_mnt_detach(at, "plain"), 0, "a directory without a mount is no error");
	is_int(hook_mnt_detach(at, "none"), 0, "a missing name is no error");
	is_int(hook_mnt_detach(-1, "d"), -1, "a missing directory is an error");
	is_int(hook_mnt_detach(at, "plain/x/y"), 0, "a missing path is no error");
	box_write("/tmp/regular", 0600, "");
	is_int(hook_mnt_detach(at, "regular/x"), -1, "a path through a file is an error");
	is_int(hook_mnt_detach(at, "d"), 0, "a mount in use is detached");
	is_int(box_mounts(0, "/tmp/d", line), 0, "it is gone");
}

/* ---- the share ---- */

static const struct hook_tmpfs out = {.bytes = 2u << 20, .inodes = 20, .uid = 21, .gid = 22};

static void check_host_side(void)
{
	struct statfs fs;
	struct stat st;
	char line[1024];

	is_int(box_mounts(0, "/tmp/share/out", line), 1, "out is mounted on the host's side");
	ok(has_prefix(line, "rw,nosuid,nodev,noexec,relatime,nosymfollow ") &&
		   strstr(line, " - tmpfs dfg-out "),
	   "nothing of out is executed, followed or a device");
	ok(stat("/tmp/share/out", &st) == 0 && st.st_uid == 21 && st.st_gid == 22 &&
		   (st.st_mode & 07777) == 01777,
	   "every user of the container may write to out, which is its root's");
	ok(statfs("/tmp/share/out", &fs) == 0 && (uint64_t)fs.f_bsize * fs.f_blocks == out.bytes &&
		   fs.f_files == out.inodes,
	   "out has the limits asked");
	is_int(box_mounts(0, "/tmp/share/ctl", line), 1, "ctl is mounted on the host's side");
	ok(has_prefix(line, "rw,nosuid,nodev,noexec,relatime,nosymfollow ") &&
		   strstr(line, " - tmpfs dfg-ctl "),
	   "the host writes to ctl");
	ok(stat("/tmp/share/ctl", &st) == 0 && st.st_uid == 0 && (st.st_mode & 07777) == 0755,
	   "ctl is the host's");
	ok(statfs("/tmp/share/ctl", &fs) == 0 &&
		   (uint64_t)fs.f_bsize * fs.f_blocks == DFG_CTL_BYTES &&
		   fs.f_files == DFG_CTL_INODES,
	   "ctl has its own limits");
}

static void test_share(void)
{
	CLEANUP(close_fd) int share = directory("/tmp/share");
	CLEANUP(close_fd) int at_out = directory("/tmp/in-out");
	CLEANUP(close_fd) int at_ctl = directory("/tmp/in-ctl");
	CLEANUP(close_fd) int open_file = -1;
	struct hook_mounts m = {-1, -1, -1};
	struct err err = {0};
	char line[1024];

	is_int(hook_share_mount(share, &out, &m, &err), 0, "a share is mounted");
	is_int(m.payload, -1, "the payload is not touched");
	check_host_side();
	ok(hook_mnt_attach(m.out, at_out, &err) == 0 && hook_mnt_attach(m.ctl, at_ctl, &err) == 0,
	   "the container's mounts are attached");
	box_mounts(0, "/tmp/in-out", line);
	ok(has_prefix(line, "rw,nosuid,nodev,noexec,relatime,nosymfollow "),
	   "the container writes to out");
	box_mounts(0, "/tmp/in-ctl", line);
	ok(has_prefix(line, "ro,nosuid,nodev,noexec,relatime,nosymfollow "),
	   "the container only reads ctl");
	open_file = open("/tmp/share/out/kept", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	ok(access("/tmp/in-out/kept", F_OK) == 0, "host and container share the files of out");
	hook_share_remove(share);
	ok(box_mounts(0, "/tmp/share/out", line) == 0 && box_mounts(0, "/tmp/share/ctl", line) == 0,
	   "both mounts of the host are removed");
	ok(access("/tmp/share/out", F_OK) < 0 && access("/tmp/share/ctl", F_OK) < 0,
	   "the mount points are removed");
	is_int(write(open_file, "x", 1), 1, "a file that was open stays usable");
	hook_share_remove(share);
	close(m.out);
	close(m.ctl);
	umount2("/tmp/in-out", MNT_DETACH);
	umount2("/tmp/in-ctl", MNT_DETACH);
}

/* What is in the way of each of the two. */
static void test_share_fails(void)
{
	static const char *const rows[] = {"out", "ctl"};
	CLEANUP(close_fd) int share = directory("/tmp/share");
	struct hook_mounts m = {-1, -1, -1};
	char line[1024];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *path = xasprintf("/tmp/share/%s", rows[i]);
		CLEANUP(free) char *other = xasprintf("/tmp/share/%s", rows[!i]);
		struct err err = {0};

		box_write(path, 0600, "");
		is_int(hook_share_mount(share, &out, &m, &err), -1, "a file named %s is in the way",
		       rows[i]);
		ok(strstr(err.msg, rows[i]) && err.code == ENOTDIR, "it is told");
		ok(m.out == -1 && m.ctl == -1, "no descriptor is set by a failure");
		ok(box_mounts(0, "/tmp/share/out", line) == 0 &&
			   box_mounts(0, "/tmp/share/ctl", line) == 0 && access(other, F_OK) < 0,
		   "nothing stays mounted");
		unlink(path);
	}
}

static void tests(void)
{
	test_tmpfs();
	test_label();
	test_image();
	test_seal();
	test_clone();
	test_propagation();
	test_detach();
	test_share();
	test_share_fails();
}

int main(void)
{
	return box_run(tests);
}
