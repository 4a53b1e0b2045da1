/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM that is watched while it is recorded, by a child process of its own: a whole snapshot
 * first, then deltas, all into one file, until it is told to take the last one. Code that is
 * compiled and freed in between has names this way.
 *
 * How often: a delta that costs t of processor time, in the JVM and here, or the one before it
 * where that cost less (one among many lists all classes), is followed by a pause of at least 25 t
 * (4 % of one processor) and 25 ms. Of a JVM that compiles all the time code goes again between two
 * that are far apart: where one has a dozen pieces of new code, 12 t are enough (8 %). Each that
 * has nothing new doubles the pause, up to a second, and the first that has goes back to the least.
 *
 * A JVM can make whoever reads it wait for ever, and can lie: the child may be killed at any moment
 * (its report is in shared memory), and what it has written is read by a process without rights. */
#ifndef DFG_RECORD_POLLER_H
#define DFG_RECORD_POLLER_H

#include "common/child.h"
#include "record/jvm_snapshot.h"
#include "session/session.h"

struct watch {
	pid_t jvm;
	struct child child;
	int file;
	struct watch_report *report; /* shared with the child */
	int wishes;		     /* what it is to do is written here */
	int first; /* readable when the first one is taken, or has failed; closed behind the last */
	uint32_t asked; /* how often watch_ask was called */
};

/* Starts the child, and takes over the file `to`. */
MUST_CHECK int watch_start(const struct container *c, const struct jvm *j,
			   const struct snapshot_options *o, int to, struct watch *ret,
			   struct err *err);

/* Waits until the first snapshot is there, `ms` at most, and notes in `jvm` how it went. Where it
 * fails, with ENOSPC when there is no room, the watch is over. */
MUST_CHECK int watch_first(struct watch *w, int ms, struct session_jvm *jvm, struct err *err);

/* Asks for the next snapshot at once; does not wait. */
void watch_ask(struct watch *w);

/* Whether that has been taken, or never will be. */
bool watch_has_answered(const struct watch *w);

/* Whether it has given up, or its JVM has ended. */
bool watch_has_ended(const struct watch *w);

/* Bytes of all its snapshots. */
uint64_t watch_bytes(const struct watch *w);

/* Asks for the last snapshot; does not wait. Once is enough. */
void watch_stop(struct watch *w);

/* Waits for it, `ms` at most, and notes in `jvm` how it went. The child has ended, or is about to.
 */
void watch_end(struct watch *w, int ms, struct session_jvm *jvm);

#endif
