/* SPDX-License-Identifier: Apache-2.0 */
/* A call tree, or a whole profile, as bytes: what dfg-top's processes hand on, and what is left of
 *a session whose recording was removed. Written and read by the same version, little-endian:
 *
 *	struct tree_head
 *	each module  u16 length · path
 *	each frame   u8 kind · u8 level · u16 length · u32 line · u32 module · name
 *	each node    u32 parent (an earlier one) · u32 frame · u64 samples of its own
 *	each thread  u32 pid · u32 tid
 *	each sample  u64 time · u32 node · u32 thread
 *	each pause   u64 begin · stopping · all · heap_before · heap_after · class · method · holder
 *	each method  name · u32 times of each level · u32 discarded · u64 ns
 *	each thread of the wall clock  name · u32 pid · u32 tid · by cause: u64 ns · u64 of it idle
 *	each wait    u32 thread · u32 node · u64 begin · u64 ns · u32 waker · u8 cause · u8 idle
 *
 * Names from "each pause" on are a u16 length and text. Node 0 is the root and has no frame,
 * module 0 is none; neither is written. The sandbox that writes them has parsed what containers
 * wrote and may be under their control: readers trust nothing. */
#ifndef DFG_FORMAT_TREE_H
#define DFG_FORMAT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/samples.h"
#include "common/err.h"
#include "format/format.h"

struct tree_head {
	uint64_t magic;
	uint32_t frames, nodes, modules, threads;
	uint64_t samples, cut, nameless_files;
	struct quality quality;
	double excess; /* as in struct profile */
	uint32_t pauses, methods, wall_threads, waits;
	uint64_t all_pauses;
};

#define TREE_MAX (64u << 20) /* bytes of a tree without samples */

/* Writes the tree alone. */
MUST_CHECK int tree_write(const struct stacks *s, int fd, struct err *err);

/* Adds the tree to one that keeps places, without lines and modules. Names are cleaned; `prefix`,
 * if not NULL, and '/' come before those of threads. Fails on bytes that are not written here; *ret
 * then holds a part of them. */
MUST_CHECK int tree_read(const void *bytes, size_t len, const char *prefix, struct stacks *ret,
			 struct err *err);

/* Writes the profile of the picture's details. A format (format.h). */
MUST_CHECK int draw_tree(const struct stacks *s, const struct picture *p, int fd, struct err *err);

/* True for a file of draw_tree or tree_write. */
bool tree_is(int fd);

/* Adds such a profile, all of one origin, as if the recording were read again. */
MUST_CHECK int tree_read_profile(const void *bytes, size_t len, uint32_t origin,
				 struct profile *ret, struct err *err);

#endif
