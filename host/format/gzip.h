/* SPDX-License-Identifier: Apache-2.0 */
/* gzip (RFC 1952) in memory and to a descriptor. */
#ifndef DFG_FORMAT_GZIP_H
#define DFG_FORMAT_GZIP_H

#include <zlib.h>

#include "common/err.h"
#include "format/buffer.h"

/* Compressed output: what is put into `out.buf` comes out at the descriptor. */
struct gzip {
	z_stream z;
	struct out out;
};

void gzip_begin(struct gzip *g, int fd, struct err *err);
void gzip_add(struct gzip *g, const struct str *s);

/* Writes the rest. 0, or -1 when this or an earlier write failed. */
MUST_CHECK int gzip_end(struct gzip *g);

bool gzip_is(const void *data, size_t len);

/* Appends what was compressed; more than `limit` bytes of it, or damage, is an error. */
MUST_CHECK int gzip_expand(const void *data, size_t len, size_t limit, struct str *ret,
			   struct err *err);

#endif
