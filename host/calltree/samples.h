/* SPDX-License-Identifier: Apache-2.0 */
/* A profile: the call tree and, on request, each single sample with its time and thread. One
 * profile can hold many recordings. */
#ifndef DFG_CALLTREE_SAMPLES_H
#define DFG_CALLTREE_SAMPLES_H

#include <stdint.h>
#include <sys/types.h>

#include "calltree/calltree.h"
#include "calltree/compilations.h"
#include "calltree/pauses.h"
#include "calltree/wall.h"

/* The container that was recorded. Texts are sanitised (str.h), "" where not known; owned by the
 * samples. */
struct origin {
	const char *container, *id;  /* name in the engine or pod, id */
	const char *pod, *namespace; /* of Kubernetes */
	const char *host;
	const char *started; /* ISO 8601, UTC */
};

struct sample_thread {
	pid_t pid, tid; /* host */
	uint32_t origin;
};

struct sample {
	uint64_t time;	 /* ns since its recording began */
	uint32_t node;	 /* of the profile's stacks; its first frame is the thread's name */
	uint32_t thread; /* index of threads */
};

struct samples {
	struct sample *list; /* in the order of time within each recording */
	size_t count, cap;
	struct sample_thread *threads;
	size_t thread_count, thread_cap;
	struct origin *origins;
	size_t origin_count, origin_cap;
};

/* The kinds of events that can be drawn. Recordings of JFR have those up to EVENT_LOCK, sessions
 * all but EVENT_NATIVE and EVENT_WALL. */
enum event_kind {
	EVENT_CPU,
	EVENT_NATIVE,
	EVENT_WALL,
	EVENT_ALLOC,
	EVENT_LOCK,
	EVENT_SAFEPOINT,
	EVENT_COMPILE,
	EVENT_DEOPT,
	EVENT_PERF,  /* any event of perf */
	EVENT_CLOCK, /* the wall clock of a session */
	EVENT_KINDS
};

struct event_name {
	const char *name; /* "alloc" */
	const char *unit; /* of what is counted: "bytes" */
	const char *text; /* "allocated bytes" */
	const char *by; /* between a class and a method: "allocated by"; NULL: it has no classes */
	/* The frame between a class and the stack of the thread that was waited for, innermost
	 * frame first; NULL: there is none. */
	const char *held;
};
extern const struct event_name event_names[EVENT_KINDS];

struct profile {
	struct stacks *stacks;
	/* NULL: not kept. Samples of text without times are in stacks only. */
	struct samples *samples;
	struct quality quality;
	uint64_t cut;		      /* bytes of damaged recordings that were left out */
	uint64_t nameless_files;      /* files with more symbols than are read */
	uint64_t events[EVENT_KINDS]; /* in JFR recordings, drawn or not */
	struct pauses pauses;	      /* of safepoints */
	struct compilations compilations;
	struct wall wall;
	double excess; /* sum of n² - n of events that count n each: 0 for samples */
};

/* Returns how many samples tell as much as the profile's events, which may count more than 1 each
 * (Kish's effective sample size). */
double profile_worth(const struct profile *p);

/* Empty. With details, samples are kept and frames keep their places (frames.h). */
void profile_init(struct profile *p, bool details);
void profile_fini(struct profile *p);

/* Adds all of another profile, with the details that both keep. */
void profile_add(struct profile *to, const struct profile *from, const struct graft *how);

/* The same for a part whose origins and threads are in `to` already: threads[n] is the number of
 * its thread n. NULL: samples are not kept. */
void profile_add_part(struct profile *to, const struct profile *part, const struct graft *how,
		      const uint32_t *threads);

/* The texts are copied. The first two return the number of what they add. */
uint32_t samples_add_origin(struct samples *s, const struct origin *origin);
uint32_t samples_add_thread(struct samples *s, uint32_t origin, pid_t pid, pid_t tid);
/* Copies origins and threads. Returns the new number of each thread; owned by the caller. */
uint32_t *samples_add_threads(struct samples *to, const struct samples *from);
void samples_add(struct samples *s, uint64_t time, uint32_t node, uint32_t thread);

#endif
