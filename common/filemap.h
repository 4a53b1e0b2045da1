/* SPDX-License-Identifier: Apache-2.0 */
/* A regular file's bytes, mapped for reading. */
#ifndef DFG_COMMON_FILEMAP_H
#define DFG_COMMON_FILEMAP_H

#include <stdint.h>

#include "common/err.h"

struct filemap {
	const uint8_t *p; /* aligned to a page */
	size_t len;
};

/* Maps the file, at most `limit` bytes of it. fd stays the caller's and may be closed; the file
 * must not shrink. Fails on what is no regular file, or empty. */
MUST_CHECK int filemap_open(int fd, uint64_t limit, struct filemap *ret, struct err *err);

/* Zeroed: nothing to be done. */
void filemap_close(struct filemap *m);

#endif
