/* SPDX-License-Identifier: Apache-2.0 */
/* The user part of a sample's stack, named: unwound from its registers and its copy of the stack,
 * or from its chain of addresses. */
#ifndef DFG_PROFILE_RESOLVE_H
#define DFG_PROFILE_RESOLVE_H

#include "symbols/symbolize.h"
#include "unwind/unwind.h"

struct userstack;

/* Borrowed; they must stay. */
struct userstack *userstack_new(struct symbolizer *sy, struct stacks *stacks);
void userstack_free(struct userstack *us);

/* True if the sample has registers and a stack copy. */
bool userstack_has(const struct perf_sample *s);

/* Frames of stacks.h, outermost first, borrowed until the next call. */
struct userframes {
	const uint32_t *list;
	size_t count;
};

/* By unwinding. None: registers of another architecture. `tid` is the sample's, `time` too. */
struct userframes userstack_unwind(struct userstack *us, const struct process *p, pid_t tid,
				   const struct perf_sample *s, uint64_t time,
				   enum unwind_end *ret_end);

/* Says what a number in walked frames stands for. */
void userstack_define(struct userstack *us, const struct perf_code *c);

/* True if the sample's stack was walked when it was taken. */
bool userstack_is_walked(const struct perf_sample *s);

/* By the walked frames. A frame in code that the snapshots do not have at the time, or not alone,
 * is stale: by what rule its caller was found is not known, which ends the stack. */
struct userframes userstack_walked(struct userstack *us, const struct process *p, pid_t tid,
				   const struct perf_sample *s, uint64_t time,
				   enum unwind_end *ret_end);

/* Of n addresses, innermost first: of callers, the last byte of the call. */
struct userframes userstack_chain(struct userstack *us, const struct process *p, pid_t tid,
				  const uint64_t *addrs, size_t n, uint64_t time);

static inline void cleanup_userstack_free(struct userstack **us)
{
	userstack_free(*us);
}

#endif
