// SPDX-License-Identifier: Apache-2.0
#include "record/retention.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "common/str.h"

struct results {
	char **names;
	size_t count, cap;
};

static void cleanup_results_fini(struct results *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->names[i]);
	free(r->names);
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

static void list_results(int dirfd, struct results *ret)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir))) {
		if (!is_time(e->d_name) ||
		    fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
			continue;
		ret->names = grow(ret->names, ret->count, &ret->cap, sizeof(*ret->names));
		ret->names[ret->count++] = xstrdup(e->d_name);
	}
	if (dir)
		closedir(dir);
}

static int newer_first(const void *a, const void *b)
{
	return -strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whoever records holds the lock of the session. */
static bool is_recorded(int dirfd, const char *name)
{
	CLEANUP(free) char *path = xasprintf("%s/session", name);
	CLEANUP(close_fd)
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

size_t results_remove_old(int dirfd, const char *newest, unsigned keep)
{
	CLEANUP(results_fini) struct results r = {0};
	size_t removed = 0;

	list_results(dirfd, &r);
	if (r.count)
		qsort(r.names, r.count, sizeof(*r.names), newer_first);
	for (size_t i = keep; i < r.count; i++)
		if (strcmp(r.names[i], newest) != 0 && !is_recorded(dirfd, r.names[i]))
			removed += fs_remove_tree(dirfd, r.names[i]) == 0;
	return removed;
}
