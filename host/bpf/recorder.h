/* SPDX-License-Identifier: Apache-2.0 */
/* Records processes by BPF programs (node.bpf.c, walk.bpf.c) that walk each sample's stack in the
 * kernel, on an event of ours per processor. Samples whose stack it cannot prove come as the
 * kernel's ordinary ones, with registers and a copy of the stack. Needs CAP_BPF, CAP_PERFMON and
 * Linux 5.17. */
#ifndef DFG_BPF_RECORDER_H
#define DFG_BPF_RECORDER_H

#include <linux/perf_event.h>

#include "bpf/probe_events.h"
#include "bpf/walker.h"
#include "probe/counted.h"

struct stack_recorder;

struct stack_recorder_config {
	uint64_t frequency;   /* Hz */
	uint32_t stack_bytes; /* of a copy, a multiple of 8 below 65536 */
	bool both;	      /* for tests: every sample comes both ways */
	bool probes;	      /* there are events of probes, too, */
	bool locks;	      /* those of locks among them, */
	bool safepoints;      /* those of safepoints, */
	bool wall;	      /* the wall clock, */
	bool counted;	      /* those of this event */
	struct counted_event event;
	bool no_samples; /* of the processors' time */
};

/* Gets what the program sent, and what the kernel wrote: the ordinary samples that were left to it,
 * and the records of all processes' mappings, names, forks and ends (perf_event.h), of the
 * attributes of stack_recorder_attr. All is borrowed. */
struct stack_handler {
	void (*walked)(void *arg, const struct flat_sample *s, const uint64_t *frames);
	/* An event of a probe: without frames where it has a copy. */
	void (*event)(void *arg, const struct flat_sample *s, const uint64_t *frames,
		      const struct stack_event *e);
	/* Gets a thread's time since the last one (flat_times). */
	void (*times)(void *arg, const struct flat_thread *t);
	/* Gets a virtual thread (FLAT_FROZEN_KEY) that waits still at a time. */
	void (*frozen)(void *arg, uint64_t thread, uint64_t since, uint64_t time);
	void (*record)(void *arg, const struct perf_event_header *h);
	void *arg;
};

/* Sums over all processors, by enum flat_count. */
struct stack_counts {
	uint64_t of[FLAT_COUNTS];
	uint64_t copies_lost; /* ordinary samples, and other records, that found no room */
};

/* Loads the programs, and opens the events. Fails where the kernel refuses; the message says what.
 */
MUST_CHECK int stack_recorder_open(const struct stack_recorder_config *c,
				   struct stack_recorder **ret, struct err *err);
void stack_recorder_close(struct stack_recorder *r); /* NULL is fine */

static inline void cleanup_stack_recorder_close(struct stack_recorder **r)
{
	stack_recorder_close(*r);
}

/* Loads a walker with so much room: its number, for struct flat_process. It stays until the end.
 * `before`: the number of an earlier one of the same container, or FLAT_NO_WALKER (walker_load). */
MUST_CHECK int stack_recorder_add_walker(struct stack_recorder *r, const struct flat_rooms *rooms,
					 uint32_t before, uint32_t *ret, struct err *err);

/* The walker of a number that the call above gave. Borrowed. */
const struct walker *stack_recorder_walker(const struct stack_recorder *r, uint32_t number);

/* Attributes of the events, and their ids, one for each processor that has one: owned. */
struct perf_event_attr stack_recorder_attr(const struct stack_recorder *r);
uint64_t *stack_recorder_ids(const struct stack_recorder *r, size_t *ret_count);

/* Has the program look at a process, or look at it by other tables. Without a walker
 * (FLAT_NO_WALKER) all of its samples are left to the kernel. */
MUST_CHECK int stack_recorder_add(struct stack_recorder *r, uint32_t pid,
				  const struct flat_process *p, struct err *err);
void stack_recorder_remove(struct stack_recorder *r, uint32_t pid);

/* The list of the code that a walker's processes make (a ring of struct flat_made): borrowed. */
int stack_recorder_made(const struct stack_recorder *r, uint32_t walker);

/* Has functions of a JVM send events (stack_probes_open); with FLAT_EVENT_CPU, which is wanted
 * alone, those that make code are listed. */
MUST_CHECK int stack_recorder_probe(struct stack_recorder *r, uint32_t pid, uint64_t start,
				    uint64_t end, const struct flat_probes *at, unsigned events,
				    struct stack_probes **ret, struct err *err);

/* Has the wall clock begin at a time, CLOCK_MONOTONIC, ns, and looks at all threads: of those that
 * are asleep come events with a copy of the stack. Before Linux 5.18 a thread is known from its
 * next switch on. */
void stack_recorder_begin_wall(struct stack_recorder *r, uint64_t time);

/* Has the clock send what threads that wait have waited up to now. */
void stack_recorder_look(struct stack_recorder *r);

/* Has threads keep what they do from now on. */
void stack_recorder_stop_wall(struct stack_recorder *r);

/* Gives, as handler->times, what the clock has up to a time of all threads. */
void stack_recorder_end_wall(struct stack_recorder *r, uint64_t time,
			     const struct stack_handler *h);

/* Makes room (5 MB) for what is known of the virtual threads of a walker's processes. */
MUST_CHECK int stack_recorder_follow_virtual(struct stack_recorder *r, uint32_t walker,
					     struct err *err);

/* Gives, as handler->frozen, virtual threads that wait at a time, from which on they wait then. */
void stack_recorder_frozen(struct stack_recorder *r, uint64_t time, const struct stack_handler *h);

/* Waits of virtual threads of a walker's processes up to now, on a processor on average. */
uint64_t stack_recorder_frozen_count(const struct stack_recorder *r, uint32_t walker);

/* True if a virtual thread waits since then. */
bool stack_recorder_is_frozen(const struct stack_recorder *r, uint32_t walker, uint64_t thread,
			      uint64_t since);

/* Lets the samples begin, or end. */
MUST_CHECK int stack_recorder_enable(struct stack_recorder *r, bool on, struct err *err);

/* Gives what has been recorded since the last call: first the kernel's records, in the order of
 * each processor, then walked samples, in theirs. To be called every some 50 ms: nothing wakes the
 * caller. */
MUST_CHECK int stack_recorder_read(struct stack_recorder *r, const struct stack_handler *h,
				   struct err *err);

void stack_recorder_count(const struct stack_recorder *r, struct stack_counts *ret);

/* Samples of an event (enum flat_event) that are lost, of the processes of a walker, since it was
 * loaded. */
uint64_t stack_recorder_events_lost(const struct stack_recorder *r, uint32_t event,
				    uint32_t walker);

/* ---- samples that the kernel wrote ---- */

/* Borrowed. */
struct copied_sample {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint32_t pid, tid;
	uint64_t regs_abi, regs_mask;
	const uint8_t *regs; /* NULL: none */
	const uint8_t *stack;
	size_t stack_len;
	bool limited; /* the stack goes on above the copy */
};

/* False: the record is another one, or contradicts itself. */
bool copied_sample_of(const struct perf_event_header *h, struct copied_sample *ret);

#endif
