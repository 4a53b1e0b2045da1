// SPDX-License-Identifier: Apache-2.0
#include "common/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

int fs_openat2(int dirfd, const char *path, uint64_t flags, mode_t mode, uint64_t resolve,
	       struct err *err)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve};
	long fd;

	/* EAGAIN: a concurrent rename prevented the kernel's check of the path. */
	for (int tries = 0; tries < 32; tries++) {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return fd >= 0 ? (int)fd : err_set(err, errno, "open %s", path);
}

int fs_open_in_root(int rootfd, const char *path, uint64_t flags, struct err *err)
{
	return fs_openat2(rootfd, path, flags, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, err);
}

static int check_regular(int fd, const char *name, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat %s", name);
	if (!S_ISREG(st.st_mode))
		return err_set(err, 0, "%s is not a regular file", name);
	return 0;
}

int fs_open_regular(int dirfd, const char *name, uint64_t flags, struct err *err)
{
	/* O_NONBLOCK: a FIFO of this name must not block. */
	CLEANUP(close_fd)
	int fd = fs_openat2(dirfd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0,
			    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, err);

	if (fd < 0 || check_regular(fd, name, err) < 0)
		return -1;
	return TAKE_FD(fd);
}

int fs_reopen_regular(int at, struct stat *st)
{
	char path[32];

	if (at < 0 || fstat(at, st) < 0 || !S_ISREG(st->st_mode))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int fs_create(int dirfd, const char *name, mode_t mode, struct err *err)
{
	int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	return fd >= 0 ? fd : err_set(err, errno, "create %s", name);
}

int fs_make_dir(int dirfd, const char *name, mode_t mode, struct err *err)
{
	int fd;

	if (mkdirat(dirfd, name, mode) < 0 && errno != EEXIST)
		return err_set(err, errno, "make directory %s", name);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, errno, "open directory %s", name);
}

int fs_make_dirs(const char *path, mode_t mode, struct err *err)
{
	CLEANUP(close_fd) int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(free) char *copy = xstrdup(path);
	char *save = NULL;

	if (path[0] != '/')
		return err_set(err, 0, "%s is not an absolute path", path);
	for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		int next = fs_make_dir(at, part, mode, err);

		if (next < 0)
			return err_wrap(err, "%s", path);
		close(at);
		at = next;
	}
	return TAKE_FD(at);
}

int fs_read_all(int fd, size_t limit, struct str *s, struct err *err)
{
	char buf[8192]; /* not more: each of many processes would have it on its stack */
	size_t got = 0;

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read");
		if (n == 0)
			return 0;
		got += (size_t)n;
		if (got > limit)
			return err_set(err, EFBIG, "read more than %zu bytes", limit);
		str_add(s, buf, (size_t)n);
	}
}

int fs_read_file(int dirfd, const char *name, size_t limit, struct str *s, struct err *err)
{
	CLEANUP(close_fd)
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, errno, "open %s", name);
	if (check_regular(fd, name, err) < 0)
		return -1;
	if (fs_read_all(fd, limit, s, err) < 0)
		return err_wrap(err, "%s", name);
	return 0;
}

int fs_write_all(int fd, const void *p, size_t len, struct err *err)
{
	const char *at = p;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "write");
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int replace(int dirfd, const char *name, mode_t mode, const struct stat *owner, bool lasting,
		   const void *p, size_t len, struct err *err)
{
	CLEANUP(free) char *tmp = xasprintf(".%s.%d", name, (int)getpid());
	CLEANUP(close_fd) int fd = -1;

	unlinkat(dirfd, tmp, 0);
	fd = fs_create(dirfd, tmp, mode, err);
	if (fd < 0)
		return -1;
	if (fs_write_all(fd, p, len, err) < 0 ||
	    (owner && fchown(fd, owner->st_uid, owner->st_gid) < 0 &&
	     err_set(err, errno, "chown")) ||
	    (fchmod(fd, mode) < 0 && err_set(err, errno, "chmod")) ||
	    (lasting && fsync(fd) < 0 && err_set(err, errno, "fsync"))) {
		unlinkat(dirfd, tmp, 0);
		return err_wrap(err, "%s", name);
	}
	if (renameat(dirfd, tmp, dirfd, name) < 0) {
		err_set(err, errno, "rename to %s", name);
		unlinkat(dirfd, tmp, 0);
		return -1;
	}
	if (lasting)
		(void)fsync(dirfd); /* the new name */
	return 0;
}

int fs_replace_file(int dirfd, const char *name, mode_t mode, const void *p, size_t len,
		    struct err *err)
{
	return replace(dirfd, name, mode, NULL, false, p, len, err);
}

int fs_replace_like(int dirfd, const char *name, const struct stat *like, bool lasting,
		    const void *p, size_t len, struct err *err)
{
	return replace(dirfd, name, like->st_mode & 07777, like, lasting, p, len, err);
}

int64_t fs_copy(int from, int to, uint64_t limit, struct err *err)
{
	char buf[65536];
	uint64_t done = 0;

	while (done < limit) {
		uint64_t left = limit - done;
		ssize_t n =
			copy_file_range(from, NULL, to, NULL, left < 1 << 30 ? left : 1 << 30, 0);

		/* The end, another file system, or /proc, where it copies nothing (5.10): the
		 * loop below decides. */
		if (n <= 0)
			break;
		done += (uint64_t)n;
	}
	while (done < limit) {
		uint64_t left = limit - done;
		ssize_t n = read(from, buf, left < sizeof(buf) ? left : sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read");
		if (n == 0)
			break;
		if (fs_write_all(to, buf, (size_t)n, err) < 0)
			return -1;
		done += (uint64_t)n;
	}
	return (int64_t)done;
}

static int remove_below(int dirfd, dev_t dev)
{
	DIR *dir = fdopendir(dirfd);
	struct dirent *e;
	int left = 0;

	if (!dir) {
		close(dirfd);
		return -1;
	}
	while ((e = readdir(dir))) {
		struct stat st;
		int fd;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (unlinkat(dirfd, e->d_name, 0) == 0)
			continue;
		fd = openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != dev) {
			if (fd >= 0)
				close(fd);
			left = -1;
			continue;
		}
		if (remove_below(fd, dev) < 0 || unlinkat(dirfd, e->d_name, AT_REMOVEDIR) < 0)
			left = -1;
	}
	closedir(dir);
	return left;
}

int fs_remove_tree(int dirfd, const char *name)
{
	struct stat parent, st;
	int fd;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstatat(fd, "..", &parent, 0) < 0 || fstat(fd, &st) < 0 || st.st_dev != parent.st_dev) {
		close(fd);
		return -1;
	}
	return remove_below(fd, st.st_dev) < 0 ? -1 : unlinkat(dirfd, name, AT_REMOVEDIR);
}
