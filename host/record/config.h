/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a recording run, as the commands read them from their command lines. */
#ifndef DFG_RECORD_CONFIG_H
#define DFG_RECORD_CONFIG_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "session/session.h"

enum record_unwind {
	RECORD_UNWIND_AUTO, /* bpf where the kernel can, else vm, or fp where every JVM keeps them
			     */
	RECORD_UNWIND_FP,
	RECORD_UNWIND_VM,
	RECORD_UNWIND_BPF, /* in the kernel */
};

/* The source of JVM snapshots. */
enum snapshot_source {
	SOURCE_AUTO, /* see jvm_snapshot.h */
	SOURCE_AGENT,
	SOURCE_HOST,
};

/* The way in which the agent is woken. */
enum snapshot_trigger {
	TRIGGER_AUTO, /* by file; loading the agent carries the first request */
	TRIGGER_FILE,
	TRIGGER_SIGNAL,
	TRIGGER_LOAD,
};

/* Limits for results: what is beyond one is removed. 0: no limit. */
struct retention {
	unsigned count;	  /* of each container: the newest */
	uint64_t seconds; /* age of any */
	uint64_t bytes;	  /* on the disk, of all together: the newest */
};

struct record_config {
	const char *root;   /* dfg's directory */
	char *const *names; /* containers or pids; borrowed */
	size_t name_count;
	bool all, by_pid;
	unsigned duration;	/* seconds; in windows: of each */
	unsigned frequency;	/* Hz */
	const char *perf_event; /* name, for SESSION_PERF; borrowed */
	unsigned events;	/* bits, as in struct session; in windows: one; 0: SESSION_CPU */
	enum record_unwind unwind;
	unsigned stack_bytes;	/* copied with each sample, for vm; 0: chosen by duration */
	const char *output;	/* NULL: next to the container's other results */
	bool force;		/* replace a session that is in it */
	const char *window_dir; /* a new directory for windows, removed at the end; NULL: one
				   recording, kept as a session */
	const char *perf;	/* program; NULL: the system's perf */
	enum snapshot_source source;
	enum snapshot_trigger trigger;
	struct retention keep;
	bool keep_flags; /* leave DebugNonSafepoints as it is */
	bool perf_map;	 /* agents dump their maps, too, when the recording has ended */

	/* Counts signals: ends the recording early when it becomes other than 0, and the wait for
	 * snapshots whenever it changes. */
	const volatile sig_atomic_t *stop;

	/* Appends to err what the machine lacks for perf; NULL: nothing is appended. */
	void (*explain)(const char *root, struct err *err);
};

static inline unsigned record_events(const struct record_config *c)
{
	return c->events ? c->events : 1u << SESSION_CPU;
}

static inline bool record_has(const struct record_config *c, enum session_event event)
{
	return record_events(c) & 1u << event;
}

/* The first event. */
static inline enum session_event record_event(const struct record_config *c)
{
	return (enum session_event)__builtin_ctz(record_events(c));
}

/* True if perf can record it: one event, which is the processors' time or perf's. */
static inline bool record_by_perf(const struct record_config *c)
{
	return record_events(c) == 1u << SESSION_CPU || record_events(c) == 1u << SESSION_PERF;
}

/* The frequency of the samples of the processors' time; 0: none are recorded. */
static inline unsigned record_sampled(const struct record_config *c)
{
	return record_has(c, SESSION_CPU) ? c->frequency : 0;
}

#endif
