// SPDX-License-Identifier: Apache-2.0
#include "common/filemap.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

int filemap_open(int fd, uint64_t limit, struct filemap *ret, struct err *err)
{
	struct stat st;
	size_t len;
	void *p;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat");
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return err_set(err, 0, "empty, or not a regular file");
	len = (uint64_t)st.st_size < limit ? (size_t)st.st_size : (size_t)limit;
	p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_set(err, errno, "mmap");
	*ret = (struct filemap){.p = p, .len = len};
	return 0;
}

void filemap_close(struct filemap *m)
{
	if (m->len)
		munmap((void *)(uintptr_t)m->p, m->len);
	*m = (struct filemap){0};
}
