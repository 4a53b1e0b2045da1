/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of profile_read: one pass over the records of a recording, for all of its samples or for a
 * part of them, and what is done with one sample. */
#ifndef DFG_PROFILE_READER_H
#define DFG_PROFILE_READER_H

#include "calltree/traits.h"
#include "common/str.h"
#include "perf/address_space.h"
#include "perf/perfdata.h"
#include "profile/profile.h"
#include "profile/resolve.h"
#include "symbols/store.h"
#include "symbols/symbolize.h"

#define CHAIN_MAX 8192 /* a record has at most 64 KiB */

struct reader {
	const struct recording *in;
	struct stacks *stacks;
	struct quality *quality;
	struct samples *samples; /* NULL: not kept */
	struct perfdata *recording;
	struct space *space;
	struct symbolizer *symbols;
	struct traits *traits;
	struct userstack *unwinder;
	const struct threadnames *thread_names;
	struct str text;
	/* The sample at hand: frames from the end of the array, so that they come out outermost
	 * first; used: how many. */
	uint32_t frames[CHAIN_MAX + 4];
	size_t used;
	uint64_t user[CHAIN_MAX + 1]; /* user addresses of its chain, innermost first */
	size_t user_count;
	pid_t tid;
	uint64_t time;	/* of the sample, as snapshots have it */
	uint64_t begin; /* time of the recording's first sample */
	bool monotonic; /* the recording has such times */
	bool has_user, has_java, at_root;
	bool begins;	    /* at the thread's first function, by the rules of unwinding */
	uint32_t outermost; /* user frame */
	uint64_t lost[2];   /* samples, as the kernel and as perf reports them: the same ones */
};

/* Takes the recording over; what is borrowed must stay. What is read is added to the profile. */
struct reader *reader_new(struct sources *sources, struct perfdata *recording,
			  struct profile *profile);
void reader_free(struct reader *r);

/* Samples whose records begin in [from, to) bytes of the recording, in the order of time; of all
 * other records, those before `to`. */
void reader_read(struct reader *r, uint64_t from, uint64_t to);

/* Names the sample's stack and counts it for its thread. p is its process. */
void reader_add_sample(struct reader *r, const struct process *p, const struct perf_record *rec);

/* The thread's number in the samples, where they are kept; made if new. */
uint32_t reader_thread(struct reader *r, pid_t pid, pid_t tid);

#endif
