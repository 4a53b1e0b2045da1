/* SPDX-License-Identifier: Apache-2.0 */
/* A call tree as bytes: what the process that reads a recording hands to the one that shows it. The
 * writer has read what containers wrote, and may be in their hands: the reader believes nothing.
 *
 *	u64 magic · u32 frames · u32 nodes
 *	each frame   u8 kind · u8 level · u16 length · name
 *	each node    u32 parent (an earlier one) · u32 frame · u64 samples of its own
 *
 * Node 0 is the root and stands for no frame. Both ends are the same program. */
#ifndef DFG_TOP_TREE_H
#define DFG_TOP_TREE_H

#include "common/err.h"
#include "format/format.h"

/* A tree has at most so many bytes, and the reader takes no more. */
#define TREE_MAX (64u << 20)

MUST_CHECK int tree_write(const struct stacks *all, int fd, struct err *err);

/* Adds the tree to one that keeps places. Names are cleaned; `prefix`, if not NULL, and '/' come
 * before those of threads. Fails on bytes that tree_write does not write; *ret then holds a part of
 * them. */
MUST_CHECK int tree_read(const void *bytes, size_t len, const char *prefix, struct stacks *ret,
			 struct err *err);

#endif
