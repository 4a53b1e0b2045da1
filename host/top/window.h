/* SPDX-License-Identifier: Apache-2.0 */
/* Hands windows of a recording from the process that records to the one that shows: a message for
 * each window and container, with the container's call tree in a file (format/tree.h), which the
 * reader does not trust. */
#ifndef DFG_TOP_WINDOW_H
#define DFG_TOP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree/calltree.h"
#include "common/err.h"
#include "format/tree.h"

struct window {
	char name[256], id[128]; /* of the container */
	uint32_t part, parts;	 /* index and number of the messages of the same window */
	uint64_t us;		 /* recorded time */
	uint64_t gap_us;	 /* time before it that was not recorded */
	struct quality quality;
	uint64_t cut; /* bytes of a damaged recording left out */
};

/* Opens both ends: [0] receives, [1] sends. */
MUST_CHECK int feed_open(int ret[2], struct err *err);

/* Sends a window with its tree file. Returns 1; 0 if the reader is too slow for it to fit; -1
 * if the reader has ended. Never waits. */
int feed_send(int fd, const struct window *w, int tree);

/* Waits for the next message. Returns 1 and the call tree, which keeps places and is the caller's;
 * 0 if the writer has ended; -1 on a signal (EINTR) and on a malformed message. */
int feed_receive(int fd, struct window *ret, struct stacks **ret_stacks, struct err *err);

#endif
