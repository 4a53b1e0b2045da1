// SPDX-License-Identifier: Apache-2.0
#include "hook/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "dfg/paths.h"
#include "hook/mounts.h"

/* Whoever could write here could put a link where a mount goes. */
static int check_owner(int dirfd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(dirfd, &st) < 0)
		return err_set(err, errno, "stat %s", path);
	if (st.st_uid != 0 || (st.st_mode & 022))
		return err_set(err, 0, "%s can be written by others than root", path);
	return 0;
}

static int open_root(struct hook_store *s, struct err *err)
{
	if (s->root >= 0)
		close(s->root);
	s->root = fs_make_dirs(s->path, 0755, err);
	return s->root < 0 ? -1 : check_owner(s->root, s->path, err);
}

static int bind_root(struct hook_store *s, struct err *err)
{
	CLEANUP(close_fd) int mnt = hook_mnt_clone(s->root, err);

	if (mnt < 0 || hook_mnt_attach(mnt, s->root, err) < 0)
		return err_wrap(err, "bind %s", s->path);
	return open_root(s, err);
}

/* Private each time: a hook that was killed may have bound it and got no further. */
static int prepare_root(struct hook_store *s, struct err *err)
{
	if (!hook_mnt_is_root(s->root)) {
		if (hook_store_lock(s, true, err) < 0 || open_root(s, err) < 0)
			return -1;
		if (!hook_mnt_is_root(s->root) && bind_root(s, err) < 0)
			return -1;
		if (hook_mnt_propagation(s->root, MS_PRIVATE, err) < 0)
			return -1;
		return hook_store_lock(s, false, err);
	}
	return hook_mnt_propagation(s->root, MS_PRIVATE, err);
}

static int open_store(struct hook_store *s, struct err *err)
{
	if (open_root(s, err) < 0)
		return -1;
	s->lock = openat(s->root, DFG_LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return err_set(err, errno, "open " DFG_LOCK_FILE);
	if (hook_store_lock(s, false, err) < 0 || prepare_root(s, err) < 0)
		return -1;
	s->containers = fs_make_dir(s->root, DFG_CONTAINERS, 0755, err);
	return s->containers < 0 ? -1 : 0;
}

int hook_store_open(const char *root, struct hook_store *ret, struct err *err)
{
	CLEANUP(hook_store_close) struct hook_store s = HOOK_STORE_EMPTY;

	if (strlen(root) >= sizeof(s.path))
		return err_set(err, ENAMETOOLONG, "%s", root);
	strcpy(s.path, root);
	if (open_store(&s, err) < 0)
		return err_wrap(err, "%s", root);
	*ret = s;
	s = (struct hook_store)HOOK_STORE_EMPTY;
	return 0;
}

void hook_store_close(struct hook_store *s)
{
	cleanup_close_fd(&s->containers);
	cleanup_close_fd(&s->lock);
	cleanup_close_fd(&s->root);
	*s = (struct hook_store)HOOK_STORE_EMPTY;
}

int hook_store_lock(struct hook_store *s, bool exclusive, struct err *err)
{
	while (flock(s->lock, exclusive ? LOCK_EX : LOCK_SH) < 0)
		if (errno != EINTR)
			return err_set(err, errno, "lock");
	return 0;
}

void hook_store_unbind(struct hook_store *s)
{
	CLEANUP(close_fd) int up = openat(s->root, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat here, above;

	/* A mount of the same file system as the directory around it is a bind: ours. One of
	 * another is the administrator's partition. */
	if (up >= 0 && hook_mnt_is_root(s->root) && fstat(s->root, &here) == 0 &&
	    fstat(up, &above) == 0 && here.st_dev == above.st_dev)
		hook_mnt_detach(up, strrchr(s->path, '/') + 1);
}

int hook_store_container(const struct hook_store *s, const char *id, bool create, struct err *err)
{
	int fd;

	if (create)
		return fs_make_dir(s->containers, id, 0700, err);
	fd = openat(s->containers, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, errno, "container %s", id);
}

int hook_store_container_lock(int dirfd, bool wait, struct err *err)
{
	CLEANUP(close_fd)
	int fd = openat(dirfd, DFG_LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_set(err, errno, "open " DFG_LOCK_FILE);
	while (flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB) < 0)
		if (errno != EINTR)
			return err_set(err, errno, "lock the container");
	return TAKE_FD(fd);
}
