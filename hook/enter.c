// SPDX-License-Identifier: Apache-2.0
#include "hook/enter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/capability.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "common/confine.h"
#include "common/fs.h"
#include "dfg/paths.h"
#include "hook/mounts.h"

/* Everything below /dev is opened by one name: no link, no way up, no other mount. */
#define ONE_NAME (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)

static const struct {
	const char *name;
	size_t mount; /* offset in struct hook_mounts */
} points[] = {
	{DFG_OUT_MNT, offsetof(struct hook_mounts, out)},
	{DFG_CTL_MNT, offsetof(struct hook_mounts, ctl)},
	{DFG_PAYLOAD_MNT, offsetof(struct hook_mounts, payload)}, /* last: where it is, all is */
};

void hook_enter_prepare(struct hook_host *ret)
{
	static const char *const paths[] = {"/dev", "/dev/shm", "/run", "/tmp", "/"};
	struct stat st;

	ret->count = 0;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (stat(paths[i], &st) == 0)
			ret->devs[ret->count++] = st.st_dev;
}

static int keep_caps(bool entering, struct err *err)
{
	/* setns(2) needs SYS_CHROOT; setfsuid(2) SETUID; the way to the root may be another user's.
	 */
	static const int caps[] = {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_DAC_READ_SEARCH,
				   CAP_SYS_CHROOT};

	return confine_caps(caps, ARRAY_LEN(caps) - !entering, err);
}

static enum hook_reason enter(const struct hook_target *t, struct err *err)
{
	static const char *const calls[] = {
		"openat2",	 "openat",	 "fstatfs",    "fstat",	     "newfstatat",
		"statx",	 "mkdirat",	 "unlinkat",   "setfsuid",   "setfsgid",
		"mount_setattr", "move_mount",	 "umount2",    "fchdir",     "write",
		"close",	 "rt_sigreturn", "exit_group", "getdents64", "fcntl",
	};

	if (keep_caps(true, err) < 0)
		return HOOK_ERR_PRIVILEGES;
	if (setns(t->mnt_ns, CLONE_NEWNS) < 0) {
		err_set(err, errno, "enter the mount namespace");
		return HOOK_ERR_ENTER;
	}
	if (keep_caps(false, err) < 0 || confine_syscalls(calls, ARRAY_LEN(calls), err) < 0)
		return HOOK_ERR_PRIVILEGES;
	return HOOK_NONE;
}

static bool is_host_device(const struct hook_host *host, dev_t dev)
{
	for (unsigned i = 0; i < host->count; i++)
		if (host->devs[i] == dev)
			return true;
	return false;
}

/* Only the runtime's own tmpfs will do: the image has no say in it, and it ends with the container.
 * devtmpfs has the same magic number, hence the comparison with the host's file systems. */
static enum hook_reason check_dev(int root, int dev, const struct hook_host *host, struct err *err)
{
	struct stat root_st, dev_st;
	struct statfs fs;

	if (fstat(root, &root_st) < 0 || fstat(dev, &dev_st) < 0 || fstatfs(dev, &fs) < 0) {
		err_set(err, errno, "/dev");
		return HOOK_SKIP_NODEV;
	}
	if (fs.f_type != TMPFS_MAGIC || dev_st.st_dev == root_st.st_dev ||
	    (fs.f_flags & ST_RDONLY)) {
		err_set(err, 0, "/dev is no writable tmpfs of the container's own");
		return HOOK_SKIP_NODEV;
	}
	if (is_host_device(host, dev_st.st_dev)) {
		err_set(err, 0, "/dev is the host's");
		return HOOK_SKIP_HOSTDEV;
	}
	return HOOK_NONE;
}

static enum hook_reason open_dev(const struct hook_target *t, const char *path,
				 const struct hook_host *host, int *ret, struct err *err)
{
	CLEANUP(close_fd) int opened = -1;
	CLEANUP(close_fd) int dev = -1;
	int root = t->root;
	enum hook_reason reason;

	if (root < 0) {
		opened = fs_openat2(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_MAGICLINKS,
				    err);
		if (opened < 0)
			return HOOK_SKIP_BUNDLE;
		root = opened;
	}
	dev = fs_openat2(root, DFG_DEV_PARENT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
			 RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, err);
	if (dev < 0)
		return HOOK_SKIP_NODEV;
	reason = check_dev(root, dev, host, err);
	if (reason != HOOK_NONE)
		return reason;
	/* A /dev that is shared with other namespaces would pass our mounts on to them. */
	if (hook_mnt_is_root(dev) && hook_mnt_propagation(dev, MS_SLAVE, err) < 0)
		return HOOK_ERR_MOUNT;
	*ret = TAKE_FD(dev);
	return HOOK_NONE;
}

/* Files are made in the name of the container's root: in a tmpfs of a user namespace others are
 * EOVERFLOW (M8 of the measurements: Linux 6.18, runc 1.1.5). */
static int become_owner(const struct hook_target *t, struct err *err)
{
	setfsgid(t->root_gid);
	setfsuid(t->root_uid);
	if ((gid_t)setfsgid(t->root_gid) != t->root_gid ||
	    (uid_t)setfsuid(t->root_uid) != t->root_uid)
		return err_set(err, EPERM, "become the container's root for files");
	return 0;
}

/* Whether a directory holds nothing; a static buffer, since nothing can be allocated any more. */
static bool is_empty(int dir)
{
	static char buf[1024] __attribute__((aligned(8)));
	ssize_t n = getdents64(dir, buf, sizeof(buf));

	/* "." and ".." are two records of 24 bytes. */
	return n >= 0 && n <= 48;
}

/* A name that is there already is taken only when it cannot be anybody's: the mount point of an
 * earlier, unfinished call. */
static int check_found(int point, const struct hook_target *t)
{
	struct stat st;

	if (fstat(point, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != t->root_uid ||
	    hook_mnt_is_root(point))
		return -1;
	return is_empty(point) ? 0 : -1;
}

static enum hook_reason make_point(int dev, const char *name, const struct hook_target *t,
				   bool *made, int *ret, struct err *err)
{
	CLEANUP(close_fd) int point = -1;

	*made = mkdirat(dev, name, 0755) == 0;
	if (!*made && errno != EEXIST) {
		bool full = errno == ENOSPC || errno == EROFS;

		err_set(err, errno, "make /dev/%s", name);
		return full ? HOOK_SKIP_NODEV : HOOK_ERR_MOUNT;
	}
	point = fs_openat2(dev, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, ONE_NAME, err);
	if (point < 0 && err->code != ELOOP && err->code != ENOTDIR && err->code != EXDEV)
		return HOOK_ERR_MOUNT;
	if (point < 0 || (!*made && check_found(point, t) < 0)) {
		err_set(err, 0, "/dev/%s is in use", name);
		return HOOK_SKIP_OCCUPIED;
	}
	*ret = TAKE_FD(point);
	return HOOK_NONE;
}

static enum hook_reason mount_point(int dev, size_t i, const struct hook_target *t,
				    const struct hook_mounts *mounts, struct err *err)
{
	int mnt = *(const int *)((const char *)mounts + points[i].mount);
	CLEANUP(close_fd) int point = -1;
	bool made;
	enum hook_reason reason = make_point(dev, points[i].name, t, &made, &point, err);

	if (reason == HOOK_NONE && hook_mnt_attach(mnt, point, err) < 0)
		reason = HOOK_ERR_MOUNT;
	if (reason != HOOK_NONE && made)
		unlinkat(dev, points[i].name, AT_REMOVEDIR);
	return reason;
}

static void undo(int dev, size_t count)
{
	while (count--) {
		hook_mnt_detach(dev, points[count].name);
		unlinkat(dev, points[count].name, AT_REMOVEDIR);
	}
}

enum hook_reason hook_enter(const struct hook_target *t, const char *path,
			    const struct hook_mounts *mounts, const struct hook_host *host,
			    struct err *err)
{
	CLEANUP(close_fd) int dev = -1;
	enum hook_reason reason = enter(t, err);

	if (reason == HOOK_NONE)
		reason = open_dev(t, path, host, &dev, err);
	if (reason == HOOK_NONE && become_owner(t, err) < 0)
		reason = HOOK_ERR_PRIVILEGES;
	for (size_t i = 0; reason == HOOK_NONE && i < ARRAY_LEN(points); i++) {
		reason = mount_point(dev, i, t, mounts, err);
		if (reason != HOOK_NONE)
			undo(dev, i);
	}
	return reason == HOOK_NONE ? HOOK_MOUNTED : reason;
}
