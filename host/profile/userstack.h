/* SPDX-License-Identifier: Apache-2.0 */
/* The user part of a sample's stack, from its registers and its copy of the stack: unwound and
 * named. */
#ifndef DFG_USERSTACK_H
#define DFG_USERSTACK_H

#include "symbolize.h"
#include "unwind.h"

struct userstack;

/* Borrowed; they must stay. */
struct userstack *userstack_new(struct symbolizer *sy, struct stacks *stacks);
void userstack_free(struct userstack *us);

/* Whether the sample has what it takes. */
bool userstack_has(const struct perf_sample *s);

/* Frames of stacks.h, innermost first, borrowed until the next call. 0: registers of another
 * architecture. */
size_t userstack_frames(struct userstack *us, const struct process *p, const struct perf_sample *s,
			uint64_t time, const uint32_t **ret, enum unwind_end *ret_end);

static inline void cleanup_userstack_free(struct userstack **us)
{
	userstack_free(*us);
}

#endif
