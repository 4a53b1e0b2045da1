/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up what threads did all the time, by cause, and keeps the longest parts of it. Pure. */
#ifndef DFG_CALLTREE_WALL_H
#define DFG_CALLTREE_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/table.h"

enum wall_cause {
	WALL_RUNNING,
	WALL_RUNNABLE,	/* waits for a processor */
	WALL_THROTTLED, /* waits for its control group's next quota */
	WALL_SAFEPOINT, /* until the JVM's threads go on, or an operation of the JVM is done */
	WALL_MONITOR,	/* synchronized */
	WALL_PARK,	/* java.util.concurrent */
	WALL_WAIT,	/* Object.wait */
	WALL_SLEEP,
	WALL_SOCKET,
	WALL_EPOLL, /* several files, or a pipe */
	WALL_FILE,  /* a file, or its disk */
	WALL_FAULT, /* a page of memory */
	WALL_OTHER,
	WALL_CAUSES
};

extern const char *const wall_names[WALL_CAUSES];

/* The frame, after that of the cause, of waits for something to do: all that a thread does is done
 * then. */
#define WALL_IDLE "idle"

#define WALL_THREADS 256   /* that are listed */
#define WALL_WAITS   50	   /* that are listed */
#define WALL_PARTS   16384 /* that are kept */
#define WALL_NAME    64
#define WALL_STACK   1024

struct wall_thread {
	char name[WALL_NAME]; /* clean (str.h), as in the graph */
	pid_t pid, tid;
	uint32_t origin;			     /* recording, of those that were merged */
	uint64_t ns[WALL_CAUSES], idle[WALL_CAUSES]; /* all, and that of it */
};

/* A wait, from its begin to its end. */
struct wall_part {
	uint32_t thread; /* number in struct wall */
	uint32_t node;	 /* of the profile's stacks */
	uint64_t begin;	 /* ns since the recording began */
	uint64_t ns;
	pid_t waker;   /* the thread that ended it, of the same process; 0: not known */
	uint8_t cause; /* enum wall_cause */
	bool idle;
};

struct wall {
	struct wall_thread *threads;
	size_t count, cap;
	struct hash_table index;
	struct wall_part *parts;
	size_t part_count, part_cap;
	uint32_t origins; /* that were merged into it */
	uint64_t least;	  /* ns: shorter parts are not kept; 0: PAUSES_LEAST */
};

/* Says what a thread waited for. Texts are clean, and cut if longer; "": not known. */
struct wall_what {
	char class[160]; /* or an address */
	/* The innermost of the application, else of a library, else of the JDK, and the method that
	 * it calls. */
	char method[320], callee[320];
	char waker[320]; /* the method of who ended it */
};

/* One of the longest waits. Texts are clean. */
struct wall_wait {
	char thread[WALL_NAME];
	pid_t tid;
	uint32_t cause;	    /* enum wall_cause */
	uint64_t begin, ns; /* as in struct wall_part */
	struct wall_what what;
	char waker[WALL_NAME]; /* the thread that ended it; "": not known */
	/* The waker's own wait meanwhile; ns 0: none. */
	uint32_t meanwhile_cause;
	uint64_t meanwhile_ns;
	struct wall_what meanwhile;
	char stack[WALL_STACK], waker_stack[WALL_STACK]; /* "outer;…;inner" */
};

struct wall_waits {
	size_t count;
	/* The longest first, none of them idle, at most five of a thread of one cause. */
	struct wall_wait list[WALL_WAITS];
};

/* Says what threads of one pool wait for most, but for something to do. */
struct wall_finding {
	char pool[WALL_NAME];
	uint32_t cause;
	uint64_t ns, all; /* of the pool's time */
	/* What is said by most of its longest waits; its cause is `cause`. */
	bool known;
	struct wall_wait wait;
};

/* For output: the threads that had most time, but for idle, first. */
struct wall_list {
	uint64_t threads, ns[WALL_CAUSES], idle[WALL_CAUSES]; /* of all */
	size_t listed;
	struct wall_thread list[WALL_THREADS];
	struct wall_waits waits;
	struct wall_finding finding; /* ns 0: none */
};

/* Adds time of a thread, which has this name in the graph. Returns the thread's number. */
uint32_t wall_add(struct wall *w, const char *name, pid_t pid, pid_t tid, enum wall_cause cause,
		  uint64_t ns, bool idle);

/* The number of the thread that ended a wait; WALL_UNKNOWN: it is not known. */
#define WALL_UNKNOWN UINT32_MAX
uint32_t wall_waker(const struct wall *w, const struct wall_part *p);

/* Time of the threads of one pool (calltree/thread_root.h): by cause without what is idle, which is
 * the last. */
struct wall_pool {
	char name[WALL_NAME]; /* clean */
	unsigned threads;
	uint64_t ns[WALL_CAUSES + 1];
};

/* Sums threads up by pool, in the order of the pools' first threads: `ret` has room for n. Returns
 * how many pools there are; ret_of, by thread: the number of its pool; NULL: not wanted. */
size_t wall_pools_make(const struct wall_thread *threads, size_t n, struct wall_pool *ret,
		       uint32_t *ret_of);

/* Keeps a wait, if it is one of the longest. */
void wall_add_part(struct wall *w, const struct wall_part *p);

/* `nodes`: by node of the other one's stacks, that of this one's. `part`: it is of the same
 * recording, so that its threads are the same. */
void wall_merge(struct wall *to, const struct wall *from, const uint32_t *nodes, bool part);
void wall_fini(struct wall *w);

struct stacks;
void wall_list_make(const struct wall *w, const struct stacks *s, struct wall_list *ret);

/* Makes a list of an untrusted process safe to use. */
void wall_list_check(struct wall_list *l);

uint64_t wall_sum(const uint64_t ns[WALL_CAUSES]);

/* Appends the causes of some time, the largest first: "62 % monitor, 20 % idle". The last one is
 * what is idle, which the others lack. */
struct str;
void wall_add_causes(struct str *to, const uint64_t ns[WALL_CAUSES + 1]);

/* True if what was waited for is a lock, so that its holder ends the wait. */
bool wall_is_held(const struct wall_wait *w);

/* Appends what was waited for: "park java.util.concurrent.Semaphore$FairSync in a.B.get, which
 * calls c.Pool.borrow, held by exec-7 (which before waited 3.2 ms: socket 10.0.0.5:5432 in
 * c.D.read)". */
void wall_add_wait_text(struct str *to, const struct wall_wait *w);

/* Appends the finding as a sentence; nothing if there is none. */
void wall_add_finding(struct str *to, const struct wall_finding *f);

#endif
