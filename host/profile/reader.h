/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one pass over a recording, shared by the loop over the records (read.c) and the code
 * that handles one sample (sample.c). */
#ifndef DFG_PROFILE_READER_H
#define DFG_PROFILE_READER_H

#include "calltree/samples.h"
#include "common/str.h"
#include "perf/address_space.h"
#include "perf/perfdata.h"
#include "session/recording.h"
#include "symbols/symbolize.h"

#define CHAIN_MAX 8192 /* a record has at most 64 KiB */

/* The sample that is handled. */
struct sample_ctx {
	const struct process *process;
	const struct perf_sample *sample;
	pid_t tid;
	uint64_t time; /* as snapshots have it */
	/* Filled from the end, so that the frames are outermost first; used: how many. */
	uint32_t frames[CHAIN_MAX + 4]; /* the last one is for the thread */
	size_t used, above; /* of them so many are above the sample's own stack */
	uint64_t user[CHAIN_MAX + 1]; /* user addresses of the chain, innermost first */
	size_t user_count;
	bool has_user, has_java;
	bool truncated;	      /* the stack goes on above the outermost frame */
	bool unwound_to_root; /* the unwinder reached the thread's first function */
	uint32_t outermost;   /* user frame, if has_user */
};

#define FRAMES_MAX (CHAIN_MAX + 3) /* of a sample, without the thread's */

static inline uint32_t *first_frame(struct sample_ctx *c)
{
	return c->frames + ARRAY_LEN(c->frames) - c->used;
}

struct holders; /* profile/holders.h */
struct tasks;	/* profile/tasks.h */

struct reader {
	const struct recording *in;
	struct stacks *stacks;
	struct quality *quality;
	double *excess;	       /* of the profile */
	struct pauses *pauses; /* of the profile */
	struct compilations *compilations;
	struct wall *wall;
	struct pause pause;	 /* whose first part was read last */
	struct samples *samples; /* NULL: not kept */
	struct perfdata *recording;
	struct space *space;
	struct symbolizer *symbols;
	struct userstack *unwinder;
	struct sources *sources;
	struct holders *holders;   /* NULL: there were none */
	const struct tasks *tasks; /* NULL: not known */
	uint32_t stale;		   /* frame of stale code */
	uint8_t *known;		   /* by frame: what it says of waits; profile/clock.c */
	size_t known_cap;
	uint64_t begin;	  /* time of the recording's begin, or if that is not known of its first
			     sample */
	bool monotonic;	  /* the recording has CLOCK_MONOTONIC times, as snapshots do */
	uint64_t lost[2]; /* the same lost samples as the kernel and as perf reports them */
	struct str text;
	struct sample_ctx ctx;
};

static inline const struct frame *frame_of(const struct reader *r, uint32_t frame)
{
	return stacks_frame(r->stacks, frame);
}

/* Names the sample's stack and counts it for its thread. */
void reader_add_sample(struct reader *r, const struct process *p, const struct perf_record *rec);

/* Keeps the stack of a thread that held a lock, for later samples that name it. */
void reader_add_holder(struct reader *r, const struct process *p, const struct perf_record *rec);

/* Puts the cause in place of the functions that start a thread, in the stack of a sample of the
 * wall clock, and counts it for the thread, which has this name in the graph. Returns the wait that
 * the sample is, but for its node; ns 0: it is no whole one. */
struct wall_part reader_add_cause(struct reader *r, const struct perf_record *rec,
				  const char *thread);

/* Adds the text of what such a sample's thread waited for. */
void reader_add_cause_subject(struct str *to, const struct perf_sample *s);

/* Adds the text of what a sample with a name is about. */
void reader_add_subject(struct str *to, const struct perf_sample *s);

/* Returns the thread's number in the samples that are kept, which is added if it is new. */
uint32_t reader_thread(struct reader *r, pid_t pid, pid_t tid);

#endif
