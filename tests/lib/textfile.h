/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as an open file, for tests of what reads files. */
#ifndef DFG_LIB_TEXTFILE_H
#define DFG_LIB_TEXTFILE_H

#include <sys/mman.h>

#include "common/fs.h"

/* The caller closes it. */
__attribute__((unused)) static int file_of(const void *p, size_t len)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	struct err err;

	if (fd < 0 || fs_write_all(fd, len ? p : "", len, &err) < 0)
		abort();
	return fd;
}

#endif
