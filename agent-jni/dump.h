/* SPDX-License-Identifier: Apache-2.0 */
/* What a dump works with, and what is kept of it for the next of its series (request.h, since= and
 * keep=): what snapshots have said, so that the next can be a delta, and memory and descriptors, so
 * that it is cheap. One series at a time; nothing is there but while it is kept. Of the agent's
 * thread alone. */
#ifndef AGENT_KEPT_H
#define AGENT_KEPT_H

#include "agent-jni/jvm_memory.h"
#include "agent-jni/records.h"
#include "agent-jni/request.h"

struct kept {
	_Alignas(16) uint8_t work[HS_WORK_BYTES];
	_Alignas(16) uint8_t state[HS_STATE_BYTES];
	union {
		struct output output;
		struct records records;
	};
	struct self self;
	bool found;	/* self is open */
	bool remembers; /* the order is of a series: state counts */
};

/* For an order: as the one before has left it where it goes on from that, else zeroed. NULL: there
 * is no memory. vm is the JavaVM*. */
struct kept *kept_take(const struct order *order, const void *vm);

/* Behind the dump. Forgets all unless the order says for how long to keep it. */
void kept_give(const struct order *order);

/* Forgets what has been kept for long enough. Returns the milliseconds up to when there will be
 * something to forget, -1: never. */
int kept_expire(void);

#endif
