// SPDX-License-Identifier: Apache-2.0
#include "record/temp_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>

#include "common/fs.h"
#include "common/str.h"
#include "dfg/paths.h"

static int open_locked(int parentfd, const char *name)
{
	int fd = openat(parentfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	cleanup_close_fd(&fd);
	return -1;
}

/* Removes the directories of processes that were killed. */
static void remove_unlocked(int parentfd)
{
	int copy = openat(parentfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		CLEANUP(close_fd) int fd = -1;

		if (e->d_name[0] == '.')
			continue;
		fd = open_locked(parentfd, e->d_name);
		if (fd >= 0)
			fs_remove_tree(parentfd, e->d_name);
	}
	if (dir)
		closedir(dir);
}

int temp_dir_make(const char *root, struct temp_dir *ret, struct err *err)
{
	CLEANUP(free) char *parent = xasprintf("%s/" DFG_TEMP_DIR, root);
	CLEANUP(free) char *dir = xasprintf("%s/XXXXXX", parent);
	CLEANUP(close_fd) int parentfd = fs_make_dirs(parent, 0700, err);
	int lock;

	if (parentfd < 0)
		return -1;
	/* While a new directory is not locked yet, no other process may remove it. */
	if (flock(parentfd, LOCK_EX) < 0)
		return err_set(err, errno, "lock %s", parent);
	remove_unlocked(parentfd);
	if (!mkdtemp(dir))
		return err_set(err, errno, "make a directory in %s", parent);
	lock = open_locked(parentfd, strrchr(dir, '/') + 1);
	flock(parentfd, LOCK_UN);
	if (lock < 0)
		return err_set(err, errno, "lock %s", dir);
	*ret = (struct temp_dir){.dir = TAKE_PTR(dir), .parentfd = TAKE_FD(parentfd), .lock = lock};
	return 0;
}

void temp_dir_remove(struct temp_dir *s)
{
	if (!s->dir)
		return;
	fs_remove_tree(s->parentfd, strrchr(s->dir, '/') + 1);
	cleanup_close_fd(&s->lock);
	cleanup_close_fd(&s->parentfd);
	free(TAKE_PTR(s->dir));
}
