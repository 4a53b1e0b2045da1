/* SPDX-License-Identifier: Apache-2.0 */
/* A series of snapshots of one JVM, by the way that works: a whole one, and deltas behind it. By
 * the resident agent; else by the host's own reader of the JVM's memory; else by an agent that is
 * loaded now: the JVM may print a warning then (JDK 21 and later), so it comes last.
 *
 * Any of these can hang or be fed lies: it runs in the child of a watch (watch.h). */
#ifndef DFG_RECORD_JVM_SNAPSHOT_H
#define DFG_RECORD_JVM_SNAPSHOT_H

#include "common/err.h"
#include "discover/container.h"
#include "discover/jvm.h"

enum snapshot_source {
	SOURCE_AUTO, /* as above; the agent first where a trigger is asked for */
	SOURCE_AGENT,
	SOURCE_HOST,
};

enum snapshot_trigger {
	TRIGGER_AUTO, /* by file; a first load carries the request with it */
	TRIGGER_FILE,
	TRIGGER_SIGNAL,
	TRIGGER_LOAD,
};

struct snapshot_options {
	const char *root;
	enum snapshot_source source;
	enum snapshot_trigger trigger;
	bool keep_flags; /* leave DebugNonSafepoints as it is */
};

struct hostread;

struct snapshots {
	const struct container *container;
	const struct jvm *jvm;
	const struct snapshot_options *options;
	int to; /* where they are written, one behind the other */
	/* The way that worked last. */
	bool by_agent;
	struct hostread *host; /* NULL: not by the host */
	uint32_t seq;	       /* the agent's last answer; 0: none */
	char note[512];	       /* why that way and not another; "" if there is nothing to say */
};

/* One of them. */
struct snapshot {
	uint32_t entries, skipped; /* pieces of code written; not understood */
	uint32_t us;		   /* what it took, in the JVM or here */
	uint64_t cpu_us;	   /* of a processor, in the JVM or the reader */
	bool news;		   /* it says more than that nothing has changed */
};

/* The pointers of `s` are the caller's and stay; all else is 0. Takes the next one; nothing is left
 * of one that failed. The last goes through all classes, and nothing is remembered behind it. Fails
 * with ENOSPC where there is no room in `to`. */
MUST_CHECK int snapshots_take(struct snapshots *s, bool last, struct snapshot *ret,
			      struct err *err);
void snapshots_fini(struct snapshots *s);

#endif
