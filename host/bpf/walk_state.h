/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Maps that the node's program and the walks of all containers share, and what both do with them:
 * node.bpf.c begins a sample, the walk of its container (walk.bpf.c) ends it. */
#ifndef DFG_BPF_WALK_STATE_H
#define DFG_BPF_WALK_STATE_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#include "bpf/flat_tables.h"

/* State of a walk by processor; on one there is never more than one walk. Values of a per-CPU array
 * are too small for so many frames. */
struct scratch {
	bpf_user_pt_regs_t regs;
	uint64_t kernel[FLAT_KERNEL_MAX]; /* the part of the stack that is there */
	struct flat_walk walk;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the number of processors is set before loading */
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FLAT_COUNTS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* is set before loading, too */
} samples SEC(".maps");

#define CPL_MASK  3u	/* x86, asm/ptrace.h: the privilege level in cs; of user space 3 */
#define MODE_MASK 0x1fu /* arm64, asm/ptrace.h: 0 is user space, of 64-bit programs */
#define MODE_32	  0x10u

static inline bool is_user(const bpf_user_pt_regs_t *r)
{
#ifdef FLAT_ARM64
	return !(r->pstate & MODE_MASK & ~MODE_32);
#else
	return r->cs & CPL_MASK;
#endif
}

static inline void count(uint32_t which)
{
	uint64_t *n = bpf_map_lookup_elem(&counts, &which);

	if (n)
		*n += 1;
}

#endif
