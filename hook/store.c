// SPDX-License-Identifier: Apache-2.0
#include "hook/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "dfg/paths.h"
#include "hook/mounts.h"
#include "hook/state.h"

/* Refuses a directory in which others could replace a mount point by a link. */
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

/* Makes it private each time: a hook may have been killed just after binding it. */
static int prepare_root(struct hook_store *s, struct err *err)
{
	int bound = hook_mnt_is_root(s->root), now;

	if (bound == 0 && (hook_store_lock(s, true, err) < 0 || open_root(s, err) < 0))
		return -1;
	now = hook_mnt_is_root(s->root);
	/* Bound once more, it would hide the mounts of all containers. */
	if (bound < 0 || now < 0)
		return err_set(err, errno, "stat %s", s->path);
	if (!now && bind_root(s, err) < 0)
		return -1;
	if (hook_mnt_propagation(s->root, MS_PRIVATE, err) < 0)
		return -1;
	return bound ? 0 : hook_store_lock(s, false, err);
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
			return err_set(err, errno, "lock %s", s->path);
	return 0;
}

void hook_store_unlock(struct hook_store *s)
{
	cleanup_close_fd(&s->lock);
	s->lock = -1;
}

void hook_store_unbind(struct hook_store *s)
{
	CLEANUP(close_fd) int up = openat(s->root, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat here, above;

	/* A mount of the same file system as its parent directory is our bind mount. Another file
	 * system is the administrator's partition. */
	if (up >= 0 && hook_mnt_is_root(s->root) > 0 && fstat(s->root, &here) == 0 &&
	    fstat(up, &above) == 0 && here.st_dev == above.st_dev)
		hook_mnt_detach(up, strrchr(s->path, '/') + 1);
}

int hook_store_open_container(const struct hook_store *s, const char *id, bool create,
			      struct err *err)
{
	int fd;

	if (create)
		return fs_make_dir(s->containers, id, 0700, err);
	fd = openat(s->containers, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, errno, "container %s", id);
}

int hook_store_lock_container(int dirfd, bool wait, struct err *err)
{
	CLEANUP(close_fd)
	int fd = openat(dirfd, DFG_LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_set(err, errno, "open " DFG_LOCK_FILE);
	while (flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB) < 0)
		if (errno != EINTR)
			return err_set(err, errno, "lock a container");
	return TAKE_FD(fd);
}

/* ---- clean-up ---- */

/* Returns the next valid id of the directory containers/, or NULL. */
static const char *next_id(DIR *list)
{
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (oci_id_valid(e->d_name))
			return e->d_name;
	return NULL;
}

static DIR *open_list(const struct hook_store *s)
{
	CLEANUP(close_fd) int fd = openat(s->containers, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (list)
		fd = -1;
	return list;
}

/* Needs the container's lock. */
static int end_locked(const struct hook_store *s, const char *id, int dir, struct err *err)
{
	struct hook_past past;

	hook_share_remove(dir);
	unlinkat(dir, DFG_GRAPHS_DIR, AT_REMOVEDIR); /* succeeds only when it is empty */
	if (faccessat(dir, DFG_GRAPHS_DIR, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		if (hook_state_read(dir, &past, err) < 0 || past.ended)
			return 0;
		return hook_state_end(dir, err);
	}
	return fs_remove_tree(s->containers, id) == 0 ? 0 : err_set(err, errno, "remove %s", id);
}

int hook_store_end_container(const struct hook_store *s, const char *id, struct err *err)
{
	CLEANUP(close_fd) int dir = hook_store_open_container(s, id, false, err);
	CLEANUP(close_fd) int lock = -1;

	if (dir < 0)
		return err->code == ENOENT ? 0 : -1;
	lock = hook_store_lock_container(dir, true, err);
	return lock < 0 ? -1 : end_locked(s, id, dir, err);
}

/* True unless the container is known to have ended, or has no state that says what it was. */
static bool may_run(int dir)
{
	struct hook_past past;
	struct err err;

	if (hook_state_read(dir, &past, &err) < 0)
		return err.code != 0 && err.code != ENOENT;
	return hook_past_is_alive(&past);
}

static void sweep_container(const struct hook_store *s, const char *id, struct hook_sweep *ret)
{
	CLEANUP(close_fd) int dir = hook_store_open_container(s, id, false, NULL);
	CLEANUP(close_fd) int lock = -1;

	if (dir < 0)
		return;
	lock = hook_store_lock_container(dir, false, NULL);
	if (lock < 0 || may_run(dir))
		ret->running++;
	else if (end_locked(s, id, dir, NULL) == 0)
		ret->removed++;
}

void hook_store_sweep(const struct hook_store *s, struct hook_sweep *ret)
{
	DIR *list = open_list(s);
	const char *id;

	*ret = (struct hook_sweep){0};
	while ((id = next_id(list)))
		sweep_container(s, id, ret);
	if (list)
		closedir(list);
}

static bool has_payload(const struct hook_store *s, const char *id, const char *key)
{
	CLEANUP(close_fd) int dir = hook_store_open_container(s, id, false, NULL);
	struct hook_past past;

	return dir >= 0 && hook_state_read(dir, &past, NULL) == 0 && !past.ended &&
	       !strcmp(past.payload, key);
}

bool hook_store_uses_payload(const struct hook_store *s, const char *key)
{
	DIR *list = open_list(s);
	bool found = false;
	const char *id;

	while (!found && (id = next_id(list)))
		found = has_payload(s, id, key);
	if (list)
		closedir(list);
	return found;
}
