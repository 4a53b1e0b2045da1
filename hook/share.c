// SPDX-License-Identifier: Apache-2.0
#include "hook/share.h"

#include <fcntl.h>
#include <sys/mount.h>

#include "common/fs.h"
#include "dfg/paths.h"
#include "hook/mounts.h"

#define ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW)

/* Attached to the host's side first: a mount that is attached nowhere cannot be cloned. */
static int make_one(int dir, const char *name, const struct hook_tmpfs *t, uint64_t more,
		    struct err *err)
{
	CLEANUP(close_fd) int point = fs_make_dir(dir, name, 0700, err);
	CLEANUP(close_fd) int host = -1;
	CLEANUP(close_fd) int clone = -1;

	if (point < 0)
		return -1;
	host = hook_mnt_tmpfs(t, ATTRS, err);
	if (host < 0 || hook_mnt_attach(host, point, err) < 0)
		return err_wrap(err, "%s", name);
	clone = hook_mnt_clone(host, err);
	if (clone < 0 || (more && hook_mnt_set(clone, more, err) < 0))
		return err_wrap(err, "%s", name);
	return TAKE_FD(clone);
}

int hook_share_make(int dir, const struct conf *conf, const struct hook_target *t,
		    const char *label, struct hook_mounts *ret, struct err *err)
{
	/* 01777: the uid of the JVM is not known yet, and all of a container is one trust domain.
	 */
	const struct hook_tmpfs out_fs = {
		.name = "dfg-out",
		.bytes = conf->out_bytes,
		.inodes = conf->out_inodes,
		.mode = 01777,
		.uid = t->root_uid,
		.gid = t->root_gid,
		.label = label,
	};
	const struct hook_tmpfs ctl_fs = {
		.name = "dfg-ctl",
		.bytes = DFG_CTL_BYTES,
		.inodes = DFG_CTL_INODES,
		.mode = 0755,
		.label = label,
	};
	CLEANUP(close_fd) int out = make_one(dir, DFG_OUT_DIR, &out_fs, 0, err);
	CLEANUP(close_fd) int ctl = -1;

	if (out >= 0)
		ctl = make_one(dir, DFG_CTL_DIR, &ctl_fs, MOUNT_ATTR_RDONLY, err);
	if (ctl < 0) {
		hook_share_remove(dir);
		return -1;
	}
	ret->out = TAKE_FD(out);
	ret->ctl = TAKE_FD(ctl);
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
