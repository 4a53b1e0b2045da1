// SPDX-License-Identifier: Apache-2.0
#include "common/outdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/str.h"

#define LINKS_MAX 40 /* as the kernel's MAXSYMLINKS */

/* ---- who may own a part ---- */

/* Parses an id of sudo's environment. Root trusts its own environment. */
static bool sudo_id(const char *name, uint32_t *ret)
{
	const char *text = getenv(name);
	uint64_t n;

	if (getuid() != 0 || geteuid() != 0 || !text || !parse_u64(text, &n) || n == 0 ||
	    n >= UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

bool outdir_caller(uint32_t *ret_uid, uint32_t *ret_gid)
{
	return sudo_id("SUDO_UID", ret_uid) && sudo_id("SUDO_GID", ret_gid);
}

static bool is_trusted(uid_t uid)
{
	uint32_t caller;

	return uid == 0 || (sudo_id("SUDO_UID", &caller) && uid == caller);
}

/* Entries of a sticky directory can be renamed by their owners only, who are checked in turn. */
static bool is_safe(const struct stat *st)
{
	if (geteuid() != 0)
		return true;
	return is_trusted(st->st_uid) &&
	       (S_ISLNK(st->st_mode) || !(st->st_mode & 022) || (st->st_mode & S_ISVTX));
}

/* True where the user who called sudo could have made an entry. */
static bool is_callers(int dirfd, uint32_t *ret_uid, uint32_t *ret_gid)
{
	struct stat st;

	return outdir_caller(ret_uid, ret_gid) && fstat(dirfd, &st) == 0 &&
	       (st.st_uid == *ret_uid || (st.st_mode & 01002) == 01002);
}

void outdir_give(const struct outdir *in, int fd)
{
	uint32_t uid, gid;

	if (is_callers(in->fd, &uid, &gid))
		(void)!fchownat(fd, "", uid, gid, AT_EMPTY_PATH);
}

static void give_entries(int dirfd, uid_t uid, gid_t gid)
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		CLEANUP(close_fd) int fd = -1;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		fd = openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			give_entries(fd, uid, gid);
		(void)!fchownat(dirfd, e->d_name, uid, gid, AT_SYMLINK_NOFOLLOW);
	}
	if (dir)
		closedir(dir);
}

/* The directory itself comes last: from then on the user may change what is in it. */
void outdir_give_tree(const struct outdir *in, int dirfd)
{
	uint32_t uid, gid;

	if (!is_callers(in->fd, &uid, &gid))
		return;
	give_entries(dirfd, uid, gid);
	(void)!fchown(dirfd, uid, gid);
}

/* ---- the path ---- */

/* Returns the path of an open directory as the kernel knows it, sanitised. Owned. */
static char *path_of(int fd)
{
	CLEANUP(free) char *link = xasprintf("/proc/self/fd/%d", fd);
	struct str clean = {0};
	char buf[PATH_MAX];
	ssize_t n = readlink(link, buf, sizeof(buf));

	if (n > 0 && n < (ssize_t)sizeof(buf))
		str_add_clean(&clean, buf, (size_t)n);
	else
		str_adds(&clean, "/?");
	return clean.buf;
}

static int refuse(int fd, const char *name, const struct stat *st, struct err *err)
{
	CLEANUP(free) char *at = path_of(fd);
	const char *slash = *name && strcmp(at, "/") ? "/" : "";

	return err_set(err, 0,
		       "%s%s%s belongs to uid %u and has mode %04o: others than root could lead "
		       "the files elsewhere; give a directory that only root can change, or a new "
		       "one in /tmp",
		       at, slash, name, (unsigned)st->st_uid, (unsigned)st->st_mode & 07777);
}

/* A path on its way: what is open, and what is still to be followed. */
struct walk {
	int at;
	char *rest;
	int links;
	mode_t mode;
};

static int check_directory(int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat");
	return is_safe(&st) ? 0 : refuse(fd, "", &st, err);
}

static int enter(struct walk *w, int next, struct err *err)
{
	if (check_directory(next, err) < 0) {
		close(next);
		return -1;
	}
	cleanup_close_fd(&w->at);
	w->at = next;
	return 0;
}

static int enter_root(struct walk *w, struct err *err)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_set(err, errno, "open /") : enter(w, fd, err);
}

/* O_DIRECTORY also has the kernel mount what is mounted on demand. */
static int open_directory(const struct walk *w, const char *name)
{
	return openat(w->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_part(const struct walk *w, const char *name, struct err *err)
{
	const struct outdir in = {.fd = w->at};
	bool made = mkdirat(w->at, name, w->mode) == 0;
	int fd;

	if (!made && errno != EEXIST)
		return err_set(err, errno, "make directory %s", name);
	fd = open_directory(w, name);
	if (fd < 0)
		return err_set(err, errno, "open directory %s", name);
	if (made)
		outdir_give(&in, fd);
	return fd;
}

/* Puts the link's target before the rest of the path. */
static int follow(struct walk *w, const char *name, struct err *err)
{
	CLEANUP(close_fd) int fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char to[PATH_MAX], *rest;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open %s", name);
	if (!S_ISLNK(st.st_mode))
		return err_set(err, ENOTDIR, "open directory %s", name);
	if (!is_safe(&st))
		return refuse(w->at, name, &st, err);
	n = readlinkat(fd, "", to, sizeof(to));
	if (n <= 0 || n >= (ssize_t)sizeof(to) || w->links++ >= LINKS_MAX)
		return err_set(err, ELOOP, "follow %s", name);
	rest = xasprintf("%.*s/%s", (int)n, to, w->rest);
	free(w->rest);
	w->rest = rest;
	return to[0] == '/' ? enter_root(w, err) : 0;
}

static int step(struct walk *w, const char *name, struct err *err)
{
	int fd = open_directory(w, name);

	if (fd < 0 && errno == ENOTDIR)
		return follow(w, name, err);
	if (fd < 0 && errno != ENOENT)
		return err_set(err, errno, "open directory %s", name);
	if (fd < 0)
		fd = make_part(w, name, err);
	return fd < 0 ? -1 : enter(w, fd, err);
}

/* Removes and returns the first name of the rest, owned; NULL at the end. */
static char *next_name(struct walk *w)
{
	char *from = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(from, "/");
	char *name = len ? xasprintf("%.*s", (int)len, from) : NULL;

	memmove(w->rest, from + len, strlen(from + len) + 1);
	return name;
}

/* For root, a relative path begins at "/", too: the parents of the working directory are checked.
 */
static int begin(struct walk *w, const char *path, struct err *err)
{
	char here[PATH_MAX] = "";

	if (*path != '/' && geteuid() == 0 && !getcwd(here, sizeof(here)))
		return err_set(err, errno, "find the working directory");
	w->rest = xasprintf("%s/%s", here, path);
	if (*path == '/' || *here)
		return enter_root(w, err);
	w->at = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->at < 0 ? err_set(err, errno, "open the working directory") : 0;
}

static int walk(struct walk *w, struct err *err)
{
	char *name;

	while ((name = next_name(w))) {
		int rc = step(w, name, err);

		free(name);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int finish(int fd, struct outdir *ret, struct err *err)
{
	if (fd < 0)
		return err_set(err, errno, "open directory");
	*ret = (struct outdir){.fd = fd, .path = path_of(fd)};
	return 0;
}

int outdir_open(const char *path, mode_t mode, struct outdir *ret, struct err *err)
{
	struct walk w = {.at = -1, .mode = mode};
	int rc = begin(&w, path, err);

	if (rc == 0)
		rc = walk(&w, err);
	if (rc == 0)
		rc = finish(openat(w.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret, err);
	cleanup_close_fd(&w.at);
	free(w.rest);
	return rc < 0 ? err_wrap(err, "%s", path) : 0;
}

bool outdir_has_caller(void)
{
	uint32_t uid, gid;

	return outdir_caller(&uid, &gid);
}

bool outdir_open_here(struct outdir *ret)
{
	CLEANUP(outdir_close) struct outdir here = {.fd = -1};
	uint32_t uid, gid;
	struct err ignored;

	if (!outdir_has_caller() || outdir_open(".", 0755, &here, &ignored) < 0 ||
	    !is_callers(here.fd, &uid, &gid) ||
	    faccessat(here.fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return false;
	*ret = here;
	here = (struct outdir){.fd = -1};
	return true;
}

int outdir_make(const struct outdir *in, const char *name, struct outdir *ret, struct err *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct stat st;

	if (mkdirat(in->fd, name, 0700) < 0)
		return err_set(err, errno, "make directory %s/%s", in->path, name);
	fd = openat(in->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open directory %s/%s", in->path, name);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return err_set(err, 0, "%s/%s was replaced by another directory", in->path, name);
	return finish(TAKE_FD(fd), ret, err);
}

void outdir_close(struct outdir *o)
{
	if (o->path)
		close(o->fd);
	free(o->path);
	*o = (struct outdir){.fd = -1};
}
