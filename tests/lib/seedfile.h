/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of fuzz targets, by their names in tests/fuzz/corpus. */
#ifndef DFG_LIB_SEEDFILE_H
#define DFG_LIB_SEEDFILE_H

#include <fcntl.h>

#include "common/fs.h"
#include "common/str.h"

static void write_seed(const char *name, const struct str *s)
{
	char *path = xasprintf("tests/fuzz/corpus/%s", name);
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct err err;

	if (fd < 0 || fs_write_all(fd, s->buf, s->len, &err) < 0)
		abort();
	free(path);
}

__attribute__((unused)) static void read_seed(const char *name, struct str *s)
{
	char *path = xasprintf("tests/fuzz/corpus/%s", name);
	struct err err;

	if (fs_read_file(AT_FDCWD, path, 1 << 20, s, &err) < 0)
		abort();
	free(path);
}

#endif
