/* SPDX-License-Identifier: Apache-2.0 */
/* Files by descriptor. No function here follows a symbolic link in a path that a container
 * controls. */
#ifndef DFG_COMMON_FS_H
#define DFG_COMMON_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/str.h"

/* Opens path below dirfd with openat2(2), Linux 5.6. `resolve` is RESOLVE_* of <linux/openat2.h>.
 * O_CLOEXEC is always set. Returns a descriptor, or -1. */
MUST_CHECK int fs_openat2(int dirfd, const char *path, uint64_t flags, mode_t mode,
			  uint64_t resolve, struct err *err);

/* Opens a path inside a container, whose root directory is rootfd: absolute links stay inside
 * (RESOLVE_IN_ROOT), magic links are refused. The only way to open such a path. */
MUST_CHECK int fs_open_in_root(int rootfd, const char *path, uint64_t flags, struct err *err);

/* Opens a regular file directly below a directory of ours, without following links. */
MUST_CHECK int fs_open_regular(int dirfd, const char *name, uint64_t flags, struct err *err);

/* Opens a regular file to read by its O_PATH descriptor, or returns -1: opening some devices has
 * effects, and who waits at a pipe sees it. */
MUST_CHECK int fs_reopen_regular(int at, struct stat *st);

/* Creates a file (O_EXCL), for reading and writing. */
MUST_CHECK int fs_create(int dirfd, const char *name, mode_t mode, struct err *err);

/* mkdir -p of an absolute path of ours; existing parts must be real directories. Returns a readable
 * descriptor of the last part. */
MUST_CHECK int fs_make_dirs(const char *path, mode_t mode, struct err *err);

/* mkdir (existing is fine) and open. */
MUST_CHECK int fs_make_dir(int dirfd, const char *name, mode_t mode, struct err *err);

/* Appends the rest of the file to s; more than `limit` bytes is an error. */
MUST_CHECK int fs_read_all(int fd, size_t limit, struct str *s, struct err *err);

/* fs_read_all of a file by name. */
MUST_CHECK int fs_read_file(int dirfd, const char *name, size_t limit, struct str *s,
			    struct err *err);

MUST_CHECK int fs_write_all(int fd, const void *p, size_t len, struct err *err);

/* Replaces a file atomically: writes a temporary file and renames it, without fsync. */
MUST_CHECK int fs_replace_file(int dirfd, const char *name, mode_t mode, const void *p, size_t len,
			       struct err *err);

/* The same, with mode and owner of `like`. `lasting`: fsync before the rename, so that a power cut
 * leaves the old file or the new one. */
MUST_CHECK int fs_replace_like(int dirfd, const char *name, const struct stat *like, bool lasting,
			       const void *p, size_t len, struct err *err);

/* Copies at most `limit` bytes; stops at the end of `from`. Returns the bytes copied, or -1. */
MUST_CHECK int64_t fs_copy(int from, int to, uint64_t limit, struct err *err);

/* Deletes name and all below it, on the same file system, without following links. Best effort:
 * returns 0 if nothing is left. */
int fs_remove_tree(int dirfd, const char *name);

#endif
