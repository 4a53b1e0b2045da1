/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped files as memory that ends with the file, in place of common/filemap.c: a sanitizer sees
 * the first byte that is read after it, and no page is mapped for each input. */
#ifndef DFG_FUZZ_FILEMAP_H
#define DFG_FUZZ_FILEMAP_H

#include <sys/stat.h>

#include "common/filemap.h"
#include "fuzz/fuzz.h"

int filemap_read(int fd, uint64_t from, uint64_t limit, struct filemap *ret, struct err *err)
{
	struct stat st;
	uint64_t size;
	void *p;

	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size <= from)
		return err_set(err, 0, "empty, or not a regular file");
	size = (uint64_t)st.st_size - from;
	ret->len = size < limit ? (size_t)size : (size_t)limit;
	if (posix_memalign(&p, 4096, ret->len) != 0 ||
	    pread(fd, p, ret->len, (off_t)from) != (ssize_t)ret->len)
		abort();
	ret->p = p;
	return 0;
}

int filemap_open(int fd, uint64_t limit, struct filemap *ret, struct err *err)
{
	return filemap_read(fd, 0, limit, ret, err);
}

void filemap_close(struct filemap *m)
{
	free((void *)(uintptr_t)m->p);
	*m = (struct filemap){0};
}

#endif
