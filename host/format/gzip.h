/* SPDX-License-Identifier: Apache-2.0 */
/* gzip (RFC 1952): compresses to a descriptor, expands in memory. */
#ifndef DFG_FORMAT_GZIP_H
#define DFG_FORMAT_GZIP_H

#include <zlib.h>

#include "format/text.h"

/* Compressed bytes gather in out.buf and go to the descriptor. */
struct gzip {
	z_stream z;
	struct out out;
};

void gzip_begin(struct gzip *g, int fd, struct err *err);
void gzip_add(struct gzip *g, const struct str *s);

/* Writes the rest. Returns 0, or -1 if this or an earlier write failed. */
MUST_CHECK int gzip_end(struct gzip *g);

bool gzip_is(const void *data, size_t len);

/* Appends the expanded data. Fails on damaged data and on more than `limit` bytes. */
MUST_CHECK int gzip_expand(const void *data, size_t len, size_t limit, struct str *ret,
			   struct err *err);

#endif
