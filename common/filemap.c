// SPDX-License-Identifier: Apache-2.0
#include "common/filemap.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* flags: of mmap(2); `from`: bytes of the file that are left out of the length. */
static int map(int fd, uint64_t from, uint64_t limit, int prot, int flags, struct filemap *ret,
	       struct err *err)
{
	struct stat st;
	size_t len;
	void *p;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat");
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size <= from)
		return err_set(err, 0, "empty, or not a regular file");
	len = (uint64_t)st.st_size - from < limit ? (size_t)((uint64_t)st.st_size - from)
						  : (size_t)limit;
	p = mmap(NULL, len, prot, flags, flags & MAP_ANONYMOUS ? -1 : fd, 0);
	if (p == MAP_FAILED)
		return err_set(err, errno, "mmap");
	*ret = (struct filemap){.p = p, .len = len};
	return 0;
}

int filemap_open(int fd, uint64_t limit, struct filemap *ret, struct err *err)
{
	return map(fd, 0, limit, PROT_READ, MAP_PRIVATE, ret, err);
}

int filemap_read(int fd, uint64_t from, uint64_t limit, struct filemap *ret, struct err *err)
{
	struct filemap m;
	ssize_t n = 1;

	if (map(fd, from, limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, &m, err) < 0)
		return -1;
	for (size_t at = 0; at < m.len && n > 0; at += (size_t)n) {
		n = pread(fd, (uint8_t *)(uintptr_t)m.p + at, m.len - at, (off_t)(from + at));
		if (n >= 0)
			continue;
		err_set(err, errno, "read");
		filemap_close(&m);
		return -1;
	}
	*ret = m;
	return 0;
}

void filemap_close(struct filemap *m)
{
	if (m->len)
		munmap((void *)(uintptr_t)m->p, m->len);
	*m = (struct filemap){0};
}
