// SPDX-License-Identifier: Apache-2.0
#include "record/retention.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "common/fs.h"
#include "common/str.h"
#include "dfg/paths.h"

#define DEPTH_MAX 8 /* of a result's directories: session/maps */

void results_fini(struct results *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->list[i].id);
		free(r->list[i].name);
	}
	free(r->list);
}

/* "20261121T095020Z", "20261121T095020Z-2": the same in all that dfg names after a time. */
static bool is_time(const char *name)
{
	static const char form[] = "dddddddd"
				   "T"
				   "dddddd"
				   "Z";
	size_t i = 0;

	for (; form[i]; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)name[i]) : name[i] != form[i])
			return false;
	return !name[i] || (name[i] == '-' && isdigit((unsigned char)name[i + 1]) &&
			    strspn(name + i + 1, "0123456789") == strlen(name + i + 1));
}

static int open_below(int dirfd, const char *name)
{
	return openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Reads a directory by a descriptor of its own; NULL where there is none. */
static DIR *read_directory(int dirfd, const char *name)
{
	int fd = open_below(dirfd, name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static uint64_t bytes_below(int at, const char *name, unsigned depth)
{
	DIR *dir = depth ? read_directory(at, name) : NULL;
	struct dirent *e;
	struct stat st;
	uint64_t ret = 0;

	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ret += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode))
			ret += bytes_below(dirfd(dir), e->d_name, depth - 1);
	}
	if (dir)
		closedir(dir);
	return ret;
}

/* Whoever records holds the lock of the session. */
static bool is_recorded(int dirfd, const char *name)
{
	CLEANUP(free) char *path = xasprintf("%s/" SESSION_DIR, name);
	CLEANUP(close_fd) int fd = open_below(dirfd, path);

	return fd >= 0 && session_is_recorded(fd);
}

static void list_container(int containers, const char *id, bool bytes, struct results *ret)
{
	CLEANUP(free) char *path = xasprintf("%s/" DFG_GRAPHS_DIR, id);
	DIR *dir = read_directory(containers, path);
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir))) {
		if (!is_time(e->d_name) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
			continue;
		ret->list = grow(ret->list, ret->count, &ret->cap, sizeof(*ret->list));
		ret->list[ret->count++] = (struct result){
			.id = xstrdup(id),
			.name = xstrdup(e->d_name),
			.bytes = bytes ? bytes_below(dirfd(dir), e->d_name, DEPTH_MAX) : 0,
			.recorded = is_recorded(dirfd(dir), e->d_name)};
	}
	if (dir)
		closedir(dir);
}

static int newer_first(const void *a, const void *b)
{
	const struct result *x = a, *y = b;
	int order = -strcmp(x->name, y->name);

	return order ? order : strcmp(x->id, y->id);
}

/* id: of the container; NULL: of all. */
static void list_results(const char *root, const char *id, bool bytes, struct results *ret)
{
	CLEANUP(free) char *path = xasprintf("%s/" DFG_CONTAINERS, root);
	DIR *dir = read_directory(AT_FDCWD, path);
	struct dirent *e;

	*ret = (struct results){0};
	if (dir && id)
		list_container(dirfd(dir), id, bytes, ret);
	while (dir && !id && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			list_container(dirfd(dir), e->d_name, bytes, ret);
	if (dir)
		closedir(dir);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), newer_first);
}

void results_list(const char *root, bool bytes, struct results *ret)
{
	list_results(root, NULL, bytes, ret);
}

char *result_path(const char *root, const struct result *r)
{
	return xasprintf("%s/" DFG_CONTAINERS "/%s/" DFG_GRAPHS_DIR "/%s", root, r->id, r->name);
}

int result_open(const char *root, const struct result *r, struct session *ret, struct err *err)
{
	CLEANUP(free) char *path = result_path(root, r);

	return session_open(path, ret, err);
}

static time_t began(const struct result *r)
{
	struct tm tm = {0};

	if (!strptime(r->name, "%Y%m%dT%H%M%SZ", &tm))
		return 0;
	return timegm(&tm);
}

size_t results_remove_old(const char *root, const char *id, const char *newest,
			  const struct retention *keep)
{
	CLEANUP(results_fini) struct results r = {0};
	size_t removed = 0, own = 0;
	uint64_t bytes = 0;
	time_t now = time(NULL);

	list_results(root, keep->seconds || keep->bytes ? NULL : id, keep->bytes != 0, &r);
	for (size_t i = 0; i < r.count; i++) {
		const struct result *at = &r.list[i];
		CLEANUP(free) char *path = result_path(root, at);
		bool is_own = !strcmp(at->id, id), stays = at->recorded;

		own += is_own;
		bytes += at->bytes;
		stays |= is_own && !strcmp(at->name, newest);
		if (!stays && ((keep->count && is_own && own > keep->count) ||
			       (keep->seconds && now - began(at) > (time_t)keep->seconds) ||
			       (keep->bytes && bytes > keep->bytes)))
			removed += fs_remove_tree(AT_FDCWD, path) == 0;
	}
	return removed;
}
