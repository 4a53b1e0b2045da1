/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a chunk's stack traces and threads, each made once. */
#ifndef DFG_JFR_STACK_H
#define DFG_JFR_STACK_H

#include "calltree/samples.h"
#include "jfr/chunk.h"

/* Frames, the innermost first, borrowed until the next trace is named. */
struct jfr_trace {
	const uint32_t *frames;
	uint32_t count;
	bool truncated;
	uint32_t java, unknown; /* of the frames */
};

struct jfr_thread {
	uint32_t frame;	 /* its name */
	uint32_t thread; /* of the profile's samples, if they are kept */
};

/* What the chunk's constants stand for in a profile. Zeroed, but for these: */
struct jfr_names {
	struct jfr_chunk *chunk;
	struct profile *profile;
	uint32_t origin, first_thread;
	struct frames *thread_keys; /* of the whole recording, numbered from first_thread */
	/* Private. */
	struct jfr_picks trace, frame, method, class, thread;
	struct frames *methods;
	uint32_t *frames; /* of traces: struct trace_head, then frames */
	size_t count, cap;
	struct jfr_thread *threads;
	size_t thread_count, thread_cap;
	uint32_t nobody; /* number + 1 of the thread without a name */
	struct str text;
};

void jfr_names_start(struct jfr_names *n);
void jfr_names_end(struct jfr_names *n);

/* Return false for a constant that is not there, or is damaged. Number 0, without a constant, is
 * none: an empty trace, and a thread without a name. */
bool jfr_trace_of(struct jfr_names *n, uint64_t number, struct jfr_trace *ret);
bool jfr_thread_of(struct jfr_names *n, uint64_t number, struct jfr_thread *ret);

/* Returns the frame of a class, "java.lang.String" or "byte[]"; JFR_NONE: not known. */
uint32_t jfr_class_of(struct jfr_names *n, uint64_t number);

#endif
