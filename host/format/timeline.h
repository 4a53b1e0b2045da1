/* SPDX-License-Identifier: Apache-2.0 */
/* A profile split by threads, the busiest first, each in the order of time. */
#ifndef DFG_FORMAT_TIMELINE_H
#define DFG_FORMAT_TIMELINE_H

#include "calltree/samples.h"

struct timeline_entry {
	uint64_t time; /* ns, as in samples.h */
	uint64_t count;
	uint32_t node;
};

struct timeline_thread {
	const char *name; /* borrowed from the stacks; its last name, "" if unknown */
	/* 0 and NULL if unknown; then the entry stands for all unknown threads of that name. */
	pid_t pid, tid;
	const struct origin *origin;
	struct timeline_entry *entries;
	size_t count;
	uint64_t samples;
};

struct timeline {
	struct timeline_thread *threads; /* those with samples */
	size_t count;
	struct timeline_entry *entries;
};

/* samples may be NULL. Counts of the stacks that are not among the samples get time 0. */
void timeline_make(struct timeline *t, const struct stacks *s, const struct samples *samples);
void timeline_fini(struct timeline *t);

#endif
