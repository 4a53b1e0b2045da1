/* SPDX-License-Identifier: Apache-2.0 */
/* Hands windows of a recording from the process that records to the one that shows: a message for
 * each window and container, with the container's call tree in a file.
 *
 * The call tree as bytes; both ends are the same program:
 *
 *	u64 magic · u32 frames · u32 nodes
 *	each frame   u8 kind · u8 level · u16 length · name
 *	each node    u32 parent (an earlier one) · u32 frame · u64 samples of its own
 *
 * Node 0 is the root and has no frame. The sandbox that writes the tree has parsed what containers
 * wrote and may be under their control: the reader trusts none of it. */
#ifndef DFG_TOP_WINDOW_H
#define DFG_TOP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree/calltree.h"
#include "common/err.h"

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

#define TREE_MAX (64u << 20) /* bytes of a tree */

MUST_CHECK int tree_write(const struct stacks *s, int fd, struct err *err);

/* Adds the tree to one that keeps places. Names are cleaned; `prefix`, if not NULL, and '/' come
 * before those of threads. Fails on bytes that tree_write does not write; *ret then holds a part of
 * them. */
MUST_CHECK int tree_read(const void *bytes, size_t len, const char *prefix, struct stacks *ret,
			 struct err *err);

#endif
