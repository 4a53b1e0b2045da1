/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of the test's own, `top`, from scratch_make to scratch_remove, and files in it. */
#ifndef DFG_LIB_SCRATCH_H
#define DFG_LIB_SCRATCH_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/str.h"

static char top[] = "/tmp/dfg-test.XXXXXX";

static inline void scratch_make(void)
{
	if (!mkdtemp(top))
		abort();
}

static inline void scratch_remove(void)
{
	fs_remove_tree(AT_FDCWD, top);
}

/* Owned by the caller. */
static inline char *path_of(const char *name)
{
	return xasprintf("%s/%s", top, name);
}

static inline bool exists(const char *name)
{
	CLEANUP(free) char *path = path_of(name);

	return access(path, F_OK) == 0;
}

/* Replaces a file; makes the directories above it. */
static inline void put_bytes(const char *name, mode_t mode, const void *p, size_t len)
{
	CLEANUP(free) char *path = path_of(name);
	char *slash = strrchr(path, '/');
	CLEANUP(close_fd) int fd = -1;
	struct err err;

	*slash = '\0';
	fd = fs_make_dirs(path, 0755, &err);
	if (fs_replace_file(fd, slash + 1, mode, p, len, &err) < 0)
		abort();
}

static inline void put_text(const char *name, mode_t mode, const char *text)
{
	put_bytes(name, mode, text, strlen(text));
}

/* A file's text, owned by the caller; NULL: there is none. */
static inline char *get_text_at(const char *path)
{
	struct str s = {0};
	struct err err;

	if (fs_read_file(AT_FDCWD, path, 1 << 20, &s, &err) == 0)
		return s.buf ? s.buf : xstrdup("");
	str_fini(&s);
	return NULL;
}

/* The same of a file of the test's own. */
static inline char *get_text(const char *name)
{
	CLEANUP(free) char *path = path_of(name);

	return get_text_at(path);
}

#endif
