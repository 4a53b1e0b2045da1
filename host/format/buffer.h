/* SPDX-License-Identifier: Apache-2.0 */
/* Buffered output: text is put together in `buf` and goes to the descriptor in large pieces. */
#ifndef DFG_FORMAT_BUFFER_H
#define DFG_FORMAT_BUFFER_H

#include "common/err.h"
#include "common/str.h"

/* err is set by the first write that fails; after it nothing is written any more. */
struct out {
	int fd;
	struct str buf;
	struct err *err;
	bool failed;
};

/* Writes what has gathered once it is large; to be called between two elements or lines. */
void out_tick(struct out *o);

/* Writes the rest and releases the buffer. 0, or -1 when this or an earlier write failed. */
MUST_CHECK int out_end(struct out *o);

#endif
