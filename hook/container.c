// SPDX-License-Identifier: Apache-2.0
#include "hook/container.h"

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

#include "common/child.h"
#include "common/confine.h"
#include "common/fs.h"
#include "common/proc.h"
#include "dfg/paths.h"

#define MAP_MAX (64u << 10)

/* For all paths below /dev: one name, no link, no "..", no other mount. */
#define ONE_NAME (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)

/* ---- id maps ---- */

struct id_range {
	uint64_t inside, outside, count;
};

/* Parses white space and one unsigned decimal number of 32 bits. */
static bool parse_number(const char **p, uint64_t *ret)
{
	const char *s = *p + strspn(*p, " \t");
	size_t digits = strspn(s, "0123456789");
	uint64_t n = 0;

	if (digits == 0 || digits > 10)
		return false;
	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (uint64_t)(s[i] - '0');
	*p = s + digits;
	*ret = n;
	return n <= UINT32_MAX;
}

/* Parses the next line; false at the end and at any other text. */
static bool parse_range(const char **p, struct id_range *r)
{
	if (!parse_number(p, &r->inside) || !parse_number(p, &r->outside) ||
	    !parse_number(p, &r->count) || (**p && **p != '\n'))
		return false;
	*p += **p == '\n';
	return true;
}

bool idmap_root(const char *text, uint32_t *ret)
{
	struct id_range r;

	while (parse_range(&text, &r)) {
		if (r.inside == 0 && r.count > 0 && r.outside < UINT32_MAX) {
			*ret = (uint32_t)r.outside;
			return true;
		}
	}
	return false;
}

bool idmap_is_full(const char *text)
{
	struct id_range r;

	return parse_range(&text, &r) && r.inside == 0 && r.outside == 0 && r.count == UINT32_MAX;
}

/* ---- from the host's side ---- */

static int read_map(int proc, const char *name, uint32_t *ret, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};

	if (fs_read_file(proc, name, MAP_MAX, &text, err) < 0)
		return err_wrap(err, "/proc/…");
	if (!idmap_root(text.buf ? text.buf : "", ret))
		return err_set(err, 0, "%s has no root", name);
	return 0;
}

static enum hook_status open_namespace(struct hook_container *c, struct err *err)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), err);
	uint64_t own;

	if (self < 0 || proc_ns_inode(self, "mnt", &own, err) < 0)
		return HOOK_ERR_HOST;
	c->mnt_ns = openat(c->proc, "ns/mnt", O_RDONLY | O_CLOEXEC);
	if (c->mnt_ns < 0) {
		err_set(err, errno, "/proc/…/ns/mnt");
		return err->code == EACCES || err->code == EPERM ? HOOK_ERR_PRIVILEGES
								 : HOOK_SKIP_GONE;
	}
	if (proc_ns_inode(c->proc, "mnt", &c->mnt_ns_inode, err) < 0)
		return HOOK_SKIP_GONE;
	if (own == c->mnt_ns_inode) {
		err_set(err, 0, "the container has no mount namespace of its own");
		return HOOK_SKIP_NOMNTNS;
	}
	return HOOK_NONE;
}

static enum hook_status open_all(pid_t pid, bool join, struct hook_container *c, struct err *err)
{
	enum hook_status status;

	c->proc = proc_open(pid, err);
	if (c->proc < 0 || proc_start_time(c->proc, &c->start_time, err) < 0)
		return HOOK_SKIP_GONE;
	status = open_namespace(c, err);
	if (status != HOOK_NONE)
		return status;
	if (read_map(c->proc, "uid_map", &c->root_uid, err) < 0 ||
	    read_map(c->proc, "gid_map", &c->root_gid, err) < 0)
		return HOOK_SKIP_UNMAPPED;
	if (join) {
		c->root = proc_open_root(c->proc, err);
		if (c->root < 0)
			return HOOK_SKIP_GONE;
	}
	return hook_container_check(c, err);
}

enum hook_status hook_container_open(pid_t pid, bool join, struct hook_container *ret,
				     struct err *err)
{
	struct hook_container c = HOOK_CONTAINER_EMPTY;
	enum hook_status status = open_all(pid, join, &c, err);

	if (status == HOOK_NONE)
		*ret = c;
	else
		hook_container_close(&c);
	return status;
}

void hook_container_close(struct hook_container *c)
{
	cleanup_close_fd(&c->proc);
	cleanup_close_fd(&c->mnt_ns);
	cleanup_close_fd(&c->root);
	*c = (struct hook_container)HOOK_CONTAINER_EMPTY;
}

enum hook_status hook_container_check(const struct hook_container *c, struct err *err)
{
	struct proc_status p;

	if (proc_read_status(c->proc, &p, NULL) == 0 && p.state != 'Z' && p.state != 'X')
		return HOOK_NONE;
	err_set(err, 0, "the container has ended");
	return HOOK_SKIP_GONE;
}

/* ---- inside its mount namespace ---- */

static const struct {
	const char *name;
	size_t mount; /* offset in struct hook_mounts */
} points[] = {
	{DFG_OUT_MNT, offsetof(struct hook_mounts, out)},
	{DFG_CTL_MNT, offsetof(struct hook_mounts, ctl)},
	{DFG_PAYLOAD_MNT, offsetof(struct hook_mounts, payload)}, /* last: it implies the others */
};

struct mount_job {
	const struct hook_container *container;
	const char *path;
	const struct hook_mounts *mounts;
	/* File systems of the host that a container may have on its /dev by a bind mount. */
	dev_t host_devs[8];
	unsigned host_count;
};

static int limit_caps(bool entering, struct err *err)
{
	/* setns(2) needs SYS_CHROOT, setfsuid(2) SETUID; the path to the root may have directories
	 * of another user. */
	static const int caps[] = {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_DAC_READ_SEARCH,
				   CAP_SYS_CHROOT};

	return confine_caps(caps, ARRAY_LEN(caps) - !entering, err);
}

static enum hook_status enter(const struct hook_container *c, struct err *err)
{
	static const char *const calls[] = {
		"openat2", "fstatfs",  "fstat",	   "newfstatat", "statx",	  "getdents64",
		"mkdirat", "unlinkat", "setfsuid", "setfsgid",	 "mount_setattr", "move_mount",
		"umount2", "fchdir",   "write",	   "close",	 "exit_group",	  "sigaltstack",
	};

	if (limit_caps(true, err) < 0)
		return HOOK_ERR_PRIVILEGES;
	if (setns(c->mnt_ns, CLONE_NEWNS) < 0) {
		err_set(err, errno, "enter the mount namespace");
		return HOOK_ERR_ENTER;
	}
	if (limit_caps(false, err) < 0 || confine_syscalls(calls, ARRAY_LEN(calls), err) < 0)
		return HOOK_ERR_PRIVILEGES;
	return HOOK_NONE;
}

/* Accepts only the runtime's own tmpfs: no image has part in it, and it ends with the container.
 * devtmpfs has the same magic number, hence the comparison with the host's file systems. */
static enum hook_status check_dev(int root, int dev, const struct mount_job *job, struct err *err)
{
	struct stat root_st, dev_st;
	struct statfs fs;

	if (fstat(root, &root_st) < 0 || fstat(dev, &dev_st) < 0 || fstatfs(dev, &fs) < 0) {
		err_set(err, errno, "/dev");
		return HOOK_SKIP_NODEV;
	}
	if (fs.f_type != TMPFS_MAGIC || dev_st.st_dev == root_st.st_dev ||
	    (fs.f_flags & ST_RDONLY)) {
		err_set(err, 0, "/dev is not the container's own writable tmpfs");
		return HOOK_SKIP_NODEV;
	}
	for (unsigned i = 0; i < job->host_count; i++) {
		if (job->host_devs[i] == dev_st.st_dev) {
			err_set(err, 0, "/dev is the host's");
			return HOOK_SKIP_HOSTDEV;
		}
	}
	return HOOK_NONE;
}

static enum hook_status open_dev(const struct mount_job *job, int *ret, struct err *err)
{
	CLEANUP(close_fd) int opened = -1;
	CLEANUP(close_fd) int dev = -1;
	int root = job->container->root;
	enum hook_status status;

	if (root < 0) {
		opened = fs_openat2(AT_FDCWD, job->path, O_PATH | O_DIRECTORY, 0,
				    RESOLVE_NO_MAGICLINKS, err);
		if (opened < 0)
			return HOOK_SKIP_BUNDLE;
		root = opened;
	}
	dev = fs_openat2(root, DFG_DEV_PARENT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
			 RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, err);
	if (dev < 0)
		return HOOK_SKIP_NODEV;
	status = check_dev(root, dev, job, err);
	if (status != HOOK_NONE)
		return status;
	/* A shared /dev would propagate our mounts to other namespaces. */
	if (hook_mnt_is_root(dev) != 0 && hook_mnt_propagation(dev, MS_SLAVE, err) < 0)
		return HOOK_ERR_MOUNT;
	*ret = TAKE_FD(dev);
	return HOOK_NONE;
}

/* Creates files as the container's root: in a tmpfs of a user namespace, ids without a mapping fail
 * with EOVERFLOW (Linux 6.18, runc 1.1.5). */
static int become_owner(const struct hook_container *c, struct err *err)
{
	setfsgid(c->root_gid);
	setfsuid(c->root_uid);
	if ((gid_t)setfsgid(c->root_gid) != c->root_gid ||
	    (uid_t)setfsuid(c->root_uid) != c->root_uid)
		return err_set(err, EPERM, "set the file system ids of the container's root");
	return 0;
}

/* True for an empty directory. The buffer is static: the filter allows no allocation. */
static bool is_empty(int dir)
{
	static char buf[1024] __attribute__((aligned(8)));
	ssize_t n = getdents64(dir, buf, sizeof(buf));

	/* "." and ".." are two records of 24 bytes. */
	return n >= 0 && n <= 48;
}

/* Accepts an existing name only as the mount point of an earlier, unfinished call. */
static bool is_unused(int point, const struct hook_container *c)
{
	struct stat st;

	return fstat(point, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == c->root_uid &&
	       hook_mnt_is_root(point) == 0 && is_empty(point);
}

static enum hook_status make_point(int dev, const char *name, const struct hook_container *c,
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
	if (point < 0 || (!*made && !is_unused(point, c))) {
		err_set(err, 0, "/dev/%s is in use", name);
		return HOOK_SKIP_OCCUPIED;
	}
	*ret = TAKE_FD(point);
	return HOOK_NONE;
}

static enum hook_status mount_point(int dev, size_t i, const struct mount_job *job, struct err *err)
{
	int mnt = *(const int *)((const char *)job->mounts + points[i].mount);
	CLEANUP(close_fd) int point = -1;
	bool made;
	enum hook_status status =
		make_point(dev, points[i].name, job->container, &made, &point, err);

	if (status == HOOK_NONE && hook_mnt_attach(mnt, point, err) < 0)
		status = HOOK_ERR_MOUNT;
	if (status != HOOK_NONE && made)
		unlinkat(dev, points[i].name, AT_REMOVEDIR);
	return status;
}

static void undo(int dev, size_t count)
{
	while (count--) {
		hook_mnt_detach(dev, points[count].name);
		unlinkat(dev, points[count].name, AT_REMOVEDIR);
	}
}

/* Runs in the child, which gives up capabilities and system calls on its way. */
static int mount_inside(void *arg, void *reply, struct err *err)
{
	const struct mount_job *job = arg;
	enum hook_status *status = reply;
	CLEANUP(close_fd) int dev = -1;

	*status = enter(job->container, err);
	if (*status == HOOK_NONE)
		*status = open_dev(job, &dev, err);
	if (*status == HOOK_NONE && become_owner(job->container, err) < 0)
		*status = HOOK_ERR_PRIVILEGES;
	for (size_t i = 0; *status == HOOK_NONE && i < ARRAY_LEN(points); i++) {
		*status = mount_point(dev, i, job, err);
		if (*status != HOOK_NONE)
			undo(dev, i);
	}
	if (*status != HOOK_NONE)
		return -1;
	*status = HOOK_MOUNTED;
	return 0;
}

enum hook_status hook_container_mount(const struct hook_container *c, const char *path,
				      const struct hook_mounts *mounts, struct err *err)
{
	static const char *const host[] = {"/dev", "/dev/shm", "/run", "/tmp", "/"};
	struct mount_job job = {.container = c, .path = path, .mounts = mounts};
	enum hook_status status = HOOK_ERR_CRASH;
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(host); i++)
		if (stat(host[i], &st) == 0)
			job.host_devs[job.host_count++] = st.st_dev;
	if (child_call(mount_inside, &job, &status, sizeof(status), -1, err) < 0 &&
	    status == HOOK_ERR_CRASH)
		err_wrap(err, "mounting process");
	return status;
}
