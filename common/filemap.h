/* SPDX-License-Identifier: Apache-2.0 */
/* Regular files in memory, for reading. */
#ifndef DFG_COMMON_FILEMAP_H
#define DFG_COMMON_FILEMAP_H

#include <stdint.h>

#include "common/err.h"

struct filemap {
	const uint8_t *p; /* aligned to a page */
	size_t len;
};

/* Maps at most `limit` bytes of the file. The caller keeps fd and may close it; the file must not
 * shrink. Fails for empty files and other than regular ones. */
MUST_CHECK int filemap_open(int fd, uint64_t limit, struct filemap *ret, struct err *err);

/* The same for a file that may change and shrink: copies it, from a position on. What it loses
 * meanwhile are zeros. */
MUST_CHECK int filemap_read(int fd, uint64_t from, uint64_t limit, struct filemap *ret,
			    struct err *err);

/* A zeroed struct may be closed. */
void filemap_close(struct filemap *m);

#endif
