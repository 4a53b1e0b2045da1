/* SPDX-License-Identifier: Apache-2.0 */
/* A recording by the program in the kernel, into a perf.data file (perf/perfwrite.h): a process
 * that has the events, the tables and the file. It parses nothing that a container wrote: what
 * builders (builder.h) say is checked, and copies of stacks are only copied. */
#ifndef DFG_BPF_RECORDING_H
#define DFG_BPF_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/err.h"
#include "kernel/flat_tables.h"
#include "probe/counted.h"

#define KERNEL_TABLES_BYTES (256u << 20) /* of a container, in the kernel */
#define KERNEL_FOLLOWED	    65536u	 /* processes of a container, with those that have ended */

struct kernel_target { /* a container */
	const pid_t *pids;
	size_t count;
	int builder; /* socket of its builder, which the recording takes over; -1: none */
};

struct kernel_recording_config {
	uint64_t frequency;	    /* Hz */
	uint32_t stack_bytes;	    /* of a sample that is not walked */
	unsigned events;	    /* bit for each enum flat_event */
	struct counted_event event; /* for FLAT_EVENT_PERF */
	int fd;			    /* empty, stays the caller's */
	uint64_t max_bytes;	    /* of it; 0: as many as there is room for */
	const struct kernel_target *targets;
	size_t count;
	uint64_t deadline; /* clock_ms(): for what the builders need first, and for the start */
};

/* Samples of a target, and its processes that are not recorded: it has started too many. */
struct kernel_counts {
	uint64_t walked, copied;
	uint64_t missed;
	uint64_t lost[FLAT_EVENTS]; /* samples of events, since the start */
	/* JVMs without an event: their libjvm has no symbols, the kernel refuses the probes. */
	uint64_t nameless[FLAT_EVENTS], refused, refused_virtual;
	uint64_t too_often; /* JVMs whose virtual threads are not followed any more */
	uint64_t refills; /* JVMs of which some allocations are charged to others (SNAP_REFILLS) */
	uint64_t execs;	  /* of its processes, since the start; changes while it records */
};

struct kernel_recording {
	struct child child;
	int control;
	uint64_t began, end;	      /* CLOCK_MONOTONIC, ns: no event is earlier, or later */
	struct kernel_counts *counts; /* by target, of the last file; shared with the child */
	size_t count;
	bool told; /* to end */
	bool ended, full;
	struct err failed; /* why it ended early; no message: all processes have ended */
	bool probes;	   /* they are in processes until the child has ended */
};

/* Fails where the kernel or this build cannot record so; the message says why. Takes 0.3 s. */
MUST_CHECK int kernel_recording_check(struct err *err);

/* Returns once it records. Fails where the kernel or the build cannot; the message says why. */
MUST_CHECK int kernel_recording_start(const struct kernel_recording_config *c,
				      struct kernel_recording *ret, struct err *err);

/* 1 once it has ended by itself (all processes have ended, or the file is full), else 0 after `ms`
 * or a signal. */
int kernel_recording_wait(struct kernel_recording *r, int ms);

/* Has it go on in another empty file; the one before is whole then, and `counts` are of it. 1; 0
 * when it has ended by itself; -1 where it does not answer by the deadline. */
MUST_CHECK int kernel_recording_switch(struct kernel_recording *r, int fd, uint64_t deadline,
				       struct err *err);

#define KERNEL_RECORDING_MORE 64 /* processes that are added at once */

/* Has it record more processes of a target, at most KERNEL_RECORDING_MORE, and hear another builder
 * (-1: none), which it takes over. */
void kernel_recording_add(struct kernel_recording *r, size_t target, const pid_t *pids,
			  size_t count, int builder);

/* Tells it to end, and waits until it has: `end` is known then. */
void kernel_recording_end(struct kernel_recording *r);

/* Waits until the file is whole, up to the deadline (clock_ms). */
MUST_CHECK int kernel_recording_stop(struct kernel_recording *r, uint64_t deadline,
				     struct err *err);

/* Kills it, if it still runs. Waits until its probes are taken away. */
void kernel_recording_abort(struct kernel_recording *r);

#endif
