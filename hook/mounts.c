// SPDX-License-Identifier: Apache-2.0
#include "hook/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "dfg/paths.h"

#define SHARE_ATTRS                                                                                \
	(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW)

static int set_string(int fs, const char *key, const char *value, struct err *err)
{
	if (fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0) < 0)
		return err_set(err, errno, "mount option %s=%s", key, value);
	return 0;
}

PRINTF_LIKE(4, 5)
static int set_option(int fs, struct err *err, const char *key, const char *fmt, ...)
{
	char value[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	return set_string(fs, key, value, err);
}

static int create_mount(int fs, uint64_t attrs, struct err *err)
{
	int mnt;

	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_set(err, errno, "create the file system");
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attrs);
	return mnt >= 0 ? mnt : err_set(err, errno, "fsmount");
}

int hook_mnt_tmpfs(const struct hook_tmpfs *t, uint64_t attrs, struct err *err)
{
	CLEANUP(close_fd) int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int mnt;

	if (fs < 0)
		return err_set(err, errno, "tmpfs");
	if (set_string(fs, "source", t->name, err) < 0 ||
	    set_option(fs, err, "size", "%llu", (unsigned long long)t->bytes) < 0 ||
	    set_option(fs, err, "nr_inodes", "%u", t->inodes) < 0 ||
	    set_option(fs, err, "mode", "%o", (unsigned)t->mode) < 0 ||
	    set_option(fs, err, "uid", "%u", (unsigned)t->uid) < 0 ||
	    set_option(fs, err, "gid", "%u", (unsigned)t->gid) < 0 ||
	    (t->label && set_string(fs, "context", t->label, err) < 0))
		return err_wrap(err, "tmpfs");
	mnt = create_mount(fs, attrs, err);
	return mnt >= 0 ? mnt : err_wrap(err, "tmpfs");
}

int hook_mnt_image(const char *fstype, const char *device, uint64_t attrs, struct err *err)
{
	CLEANUP(close_fd) int fs = fsopen(fstype, FSOPEN_CLOEXEC);
	int mnt;

	if (fs < 0)
		return err_set(err, errno, "%s", fstype);
	if (set_string(fs, "source", device, err) < 0)
		return err_wrap(err, "%s", fstype);
	if (fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0)
		return err_set(err, errno, "%s: read-only", fstype);
	mnt = create_mount(fs, attrs, err);
	return mnt >= 0 ? mnt : err_wrap(err, "%s on %s", fstype, device);
}

int hook_mnt_seal(int mnt, struct err *err)
{
	CLEANUP(close_fd) int fs = fspick(mnt, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		return err_set(err, errno, "make the file system read-only");
	return 0;
}

int hook_mnt_clone(int dirfd, struct err *err)
{
	int mnt = open_tree(dirfd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

	return mnt >= 0 ? mnt : err_set(err, errno, "clone a mount");
}

static int set_attr(int mnt, struct mount_attr attr, const char *what, struct err *err)
{
	if (mount_setattr(mnt, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return err_set(err, errno, "set mount %s", what);
	return 0;
}

int hook_mnt_set(int mnt, uint64_t attrs, struct err *err)
{
	return set_attr(mnt, (struct mount_attr){.attr_set = attrs}, "attributes", err);
}

int hook_mnt_propagation(int mnt, uint64_t propagation, struct err *err)
{
	return set_attr(mnt, (struct mount_attr){.propagation = propagation}, "propagation", err);
}

int hook_mnt_attach(int mnt, int dirfd, struct err *err)
{
	if (move_mount(mnt, "", dirfd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_set(err, errno, "attach a mount");
	return 0;
}

int hook_mnt_detach(int dirfd, const char *name)
{
	/* umount2(2) takes no descriptor; a name below the working directory is as safe. */
	if (fchdir(dirfd) < 0)
		return -1;
	if (umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT)
		return 0;
	return -1;
}

int hook_mnt_is_root(int dirfd)
{
	struct statx st;

	if (statx(dirfd, "", AT_EMPTY_PATH, 0, &st) < 0)
		return -1;
	/* As where glibc does without the system call. */
	if (!(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)) {
		errno = ENOSYS;
		return -1;
	}
	return (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* ---- the container's own file systems ---- */

/* Attaches it on the host's side first: a detached mount cannot be cloned. */
static int mount_one(int dir, const char *name, const struct hook_tmpfs *t, uint64_t more,
		     struct err *err)
{
	CLEANUP(close_fd) int point = fs_make_dir(dir, name, 0700, err);
	CLEANUP(close_fd) int host = -1;
	CLEANUP(close_fd) int clone = -1;

	if (point < 0)
		return -1;
	host = hook_mnt_tmpfs(t, SHARE_ATTRS, err);
	if (host < 0 || hook_mnt_attach(host, point, err) < 0)
		return err_wrap(err, "%s", name);
	clone = hook_mnt_clone(host, err);
	if (clone < 0 || (more && hook_mnt_set(clone, more, err) < 0))
		return err_wrap(err, "%s", name);
	return TAKE_FD(clone);
}

int hook_share_mount(int dir, const struct hook_tmpfs *out, struct hook_mounts *ret,
		     struct err *err)
{
	struct hook_tmpfs out_fs = *out;
	const struct hook_tmpfs ctl_fs = {
		.name = "dfg-ctl",
		.bytes = DFG_CTL_BYTES,
		.inodes = DFG_CTL_INODES,
		.mode = 0755,
		.label = out->label,
	};
	CLEANUP(close_fd) int out_mnt = -1;
	CLEANUP(close_fd) int ctl_mnt = -1;

	out_fs.name = "dfg-out";
	/* The uid of the JVM is not known yet, and a container is one trust domain. */
	out_fs.mode = 01777;
	out_mnt = mount_one(dir, DFG_OUT_DIR, &out_fs, 0, err);
	if (out_mnt >= 0)
		ctl_mnt = mount_one(dir, DFG_CTL_DIR, &ctl_fs, MOUNT_ATTR_RDONLY, err);
	if (ctl_mnt < 0) {
		hook_share_remove(dir);
		return -1;
	}
	ret->out = TAKE_FD(out_mnt);
	ret->ctl = TAKE_FD(ctl_mnt);
	return 0;
}

void hook_share_remove(int dir)
{
	static const char *const names[] = {DFG_OUT_DIR, DFG_CTL_DIR};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		hook_mnt_detach(dir, names[i]);
		unlinkat(dir, names[i], AT_REMOVEDIR);
	}
}
