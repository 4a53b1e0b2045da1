/* SPDX-License-Identifier: Apache-2.0 */
/* What a frame says about the stack it is in, found out once for each frame. */
#ifndef DFG_CALLTREE_TRAITS_H
#define DFG_CALLTREE_TRAITS_H

#include "calltree/calltree.h"

enum trait {
	/* These four are counted. */
	TRAIT_JAVA = 1 << 0,	 /* a Java method */
	TRAIT_STALE = 1 << 1,	 /* one that cannot be told from another; JAVA and UNKNOWN, too */
	TRAIT_UNKNOWN = 1 << 2,	 /* FRAME_UNKNOWN */
	TRAIT_NAMELESS = 1 << 3, /* frame_is_nameless */
	TRAIT_FIRST = 1 << 4,	 /* where a thread or a program starts */
};

struct traits {
	const struct stacks *stacks;
	uint32_t stale;
	uint8_t *list; /* by frame; 0: not yet found out */
	size_t count;
};

/* The stacks are borrowed and must stay; `stale` is their frame for stale code. */
struct traits *traits_new(const struct stacks *stacks, uint32_t stale);
void traits_free(struct traits *t);

unsigned traits_find(struct traits *t, uint32_t frame);

/* Of a frame of the stacks: bits of enum trait. */
static inline unsigned traits_of(struct traits *t, uint32_t frame)
{
	return frame < t->count && t->list[frame] ? t->list[frame] : traits_find(t, frame);
}

/* Four counts of 16 bits in one word, to be added up: of those that are counted, 1 for each trait
 * of a frame. The multiplication puts bit n of them to bit 16 * n. */
static inline uint64_t traits_counts(unsigned traits)
{
	return (traits & 0xf) * 0x200040008001ull & 0x0001000100010001ull;
}

static inline uint64_t traits_count(uint64_t counts, enum trait trait)
{
	return counts >> 16 * __builtin_ctz(trait) & 0xffff;
}

static inline void cleanup_traits_free(struct traits **t)
{
	traits_free(*t);
}

#endif
