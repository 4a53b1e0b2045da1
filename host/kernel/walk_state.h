/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Maps that the node's program and the walks of all containers share, and what both do with them:
 * node.bpf.c begins a sample, the walk of its container (walk.bpf.c) ends it. */
#ifndef DFG_KERNEL_WALK_STATE_H
#define DFG_KERNEL_WALK_STATE_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#include "kernel/flat_tables.h"

/* State of a walk. A processor has one for samples, of which there is never more than one at a
 * time, and FLAT_PROBING for probes, whose threads may be preempted by others. Values of a per-CPU
 * array are too small for so many frames. */
struct scratch {
	uint64_t owner;	   /* pid and tid of the thread whose probe has it; 0: none */
	uint64_t may_copy; /* the stack, if its walk is not whole */
	/* What is sent of an event whose walk is not whole. */
	struct flat_sample sample;
	struct flat_detail detail;
	bpf_user_pt_regs_t regs;
	uint8_t stack[FLAT_COPY];
	uint64_t kernel[FLAT_KERNEL_MAX]; /* the part of the stack that is there */
	struct flat_walk walk;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* is set before loading: all processors', then those of probes */
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FLAT_COUNTS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} counts SEC(".maps");

/* Of the events of a walker's processes on a processor, at flat_rate_at. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* is set before loading: for all walkers and events, with probes */
	__type(key, uint32_t);
	__type(value, struct flat_rate);
} rates SEC(".maps");

/* Threads of the wall clock, by the address of their task, of which nothing is read. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* is set before loading, with the wall clock */
	__type(key, uint64_t);
	__type(value, struct flat_thread);
} threads SEC(".maps");

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

static inline bool flat_memory(uint64_t at, void *ret, uint32_t size)
{
	return bpf_probe_read_user(ret, size, (const void *)at) == 0;
}

const volatile uint32_t processors = 1;

/* The state that the thread's probe has on this processor, or that it can have. NULL: none. */
static inline struct scratch *probe_scratch(uint64_t owner, uint32_t *ret_number)
{
	const uint32_t first = processors + bpf_get_smp_processor_id() * FLAT_PROBING;

	for (uint32_t i = 0; i < FLAT_PROBING; i++) {
		uint32_t number = first + i;
		struct scratch *s = bpf_map_lookup_elem(&scratches, &number);

		if (s && s->owner == owner) {
			*ret_number = number;
			return s;
		}
	}
	return NULL;
}

static inline void count_lost(uint32_t event, uint32_t walker)
{
	uint32_t at = flat_rate_at(event, walker);
	struct flat_rate *r = bpf_map_lookup_elem(&rates, &at);

	if (r)
		r->lost++;
}

static inline void count(uint32_t which)
{
	uint64_t *n = bpf_map_lookup_elem(&counts, &which);

	if (n)
		*n += 1;
}

#endif
