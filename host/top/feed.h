/* SPDX-License-Identifier: Apache-2.0 */
/* From the process that records to the one that shows: a message for each window of the recording
 * and each container, with its call tree (tree.h) in a file. */
#ifndef DFG_TOP_FEED_H
#define DFG_TOP_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree/calltree.h"
#include "common/err.h"

struct window {
	char name[256], id[128]; /* of the container */
	uint32_t part, parts;	 /* of the containers' windows of the same time: this one, all */
	uint64_t us;		 /* how long was recorded */
	uint64_t gap_us;	 /* and before it not */
	struct quality quality;
	uint64_t cut; /* bytes of a damaged recording left out */
};

/* Both ends of it. */
MUST_CHECK int feed_open(int ret[2], struct err *err);

/* 1; 0 when the reader is so far behind that nothing more fits; -1 when it has gone. Never waits.
 */
int feed_send(int fd, const struct window *w, int tree);

/* Waits for the next message. 1 and the call tree, which keeps places and is the caller's; 0 when
 * the writer has ended; -1 on a signal (EINTR) and on what is no such message. */
int feed_receive(int fd, struct window *ret, struct stacks **ret_stacks, struct err *err);

#endif
