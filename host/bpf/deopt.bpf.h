/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compiled code that cannot go on and is left to the interpreter (uncommon traps), by reason. */
#ifndef DFG_BPF_DEOPT_BPF_H
#define DFG_BPF_DEOPT_BPF_H

#include "bpf/events.bpf.h"

/* Of a trap request, which is negative, and its bits inverted (runtime/deoptimization.hpp, JDK 11 to
 * 26): a reason after three bits of an action. Others are of a class that is not loaded. */
#define REASON_SHIFT 3
#define REASON_MASK  31u
#define REASON_BYTES 64u
#define UNLOADED     "unloaded"

static const struct shifts deopt_shifts = {0, 40};

/* Takes what an event of this probe says. False: it is not sent. */
static inline bool take_trap(const bpf_user_pt_regs_t *r, struct scratch *s)
{
	const int32_t request = (int32_t)ARGUMENT(r, 1);
	const uint64_t names = s->walk.process.trap_reasons;
	struct flat_rate *rate = rate_of(&s->walk.sample);
	uint64_t name = 0;
	long n = 0;

	s->detail.amount =
		rate ? take_amount(s, rate, deopt_shifts, &rate->part, 1) : 0;
	if (!s->detail.amount)
		return false;
	if (request >= 0) {
		__builtin_memcpy(s->detail.name, UNLOADED, sizeof(UNLOADED));
		s->detail.name_len = sizeof(UNLOADED) - 1;
		return true;
	}
	if (names)
		name = word_at(names, (~request >> REASON_SHIFT & REASON_MASK) * sizeof(uint64_t));
	if (name)
		n = bpf_probe_read_user_str(s->detail.name, REASON_BYTES, (const void *)name);
	s->detail.name_len = n > 1 && n <= (long)REASON_BYTES ? (uint32_t)n - 1 : 0;
	return true;
}

#endif
