/* SPDX-License-Identifier: Apache-2.0 */
/* Records processes by a BPF program (walk.bpf.c) that walks each sample's stack in the kernel, on
 * an event of ours per processor. Samples whose stack it cannot prove come as the kernel's ordinary
 * ones, with registers and a copy of the stack. Needs CAP_BPF, CAP_PERFMON and Linux 5.17. */
#ifndef DFG_BPF_RECORDER_H
#define DFG_BPF_RECORDER_H

#include "bpf/tables.h"

struct stack_recorder;

struct stack_recorder_config {
	uint64_t frequency;   /* Hz */
	uint32_t stack_bytes; /* of a copy, a multiple of 8 below 65536 */
	bool both;	      /* for tests: every sample comes both ways */
};

/* A sample that the program left to the kernel. Borrowed. */
struct copied_sample {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint32_t pid, tid;
	uint64_t regs_abi, regs_mask;
	const uint8_t *regs; /* NULL: none */
	const uint8_t *stack;
	size_t stack_len;
	bool limited; /* the stack goes on above the copy */
};

struct stack_handler {
	void (*walked)(void *arg, const struct flat_sample *s, const uint64_t *frames);
	void (*copied)(void *arg, const struct copied_sample *s);
	void *arg;
};

/* Sums over all processors, by enum flat_count. */
struct stack_counts {
	uint64_t of[FLAT_COUNTS];
	uint64_t copies_lost; /* ordinary samples that found no room */
};

/* Loads the program with a copy of these tables, and room for them to grow. Fails where the kernel
 * refuses; the message says what. */
MUST_CHECK int stack_recorder_open(const struct stack_recorder_config *c,
				   const struct flat_tables *t, struct stack_recorder **ret,
				   struct err *err);
void stack_recorder_close(struct stack_recorder *r); /* NULL is fine */

static inline void cleanup_stack_recorder_close(struct stack_recorder **r)
{
	stack_recorder_close(*r);
}

/* Adds a process to those that are looked at. */
MUST_CHECK int stack_recorder_add(struct stack_recorder *r, uint32_t pid,
				  const struct flat_process *p, struct err *err);

/* Copies what has changed in the tables, while the program runs: a walk that meets a half-made
 * change ends at it. Fails when there is no more room. */
MUST_CHECK int stack_recorder_update(struct stack_recorder *r, const struct flat_tables *t,
				     struct err *err);

/* Lets the samples begin, or end. */
MUST_CHECK int stack_recorder_enable(struct stack_recorder *r, bool on, struct err *err);

/* Gives what has been recorded since the last call: first walked samples, in their order, then
 * copied ones, in that of each processor. To be called every some 50 ms: nothing wakes the caller.
 */
MUST_CHECK int stack_recorder_read(struct stack_recorder *r, const struct stack_handler *h,
				   struct err *err);

void stack_recorder_count(const struct stack_recorder *r, struct stack_counts *ret);

#endif
