/* SPDX-License-Identifier: Apache-2.0 */
/* A stretch of a recording without end: one perf, one watch for each JVM, and a session, of which
 * the recording is replaced by the next window's again and again.
 *
 * Not all can go on for ever: the snapshots grow; processes come that perf does not know, or whose
 * mappings it does not tell again in each window (it does for those that were there when it began).
 * So a stretch is followed by another one after some minutes, or earlier where there is need. */
#ifndef DFG_RECORD_STRETCH_H
#define DFG_RECORD_STRETCH_H

#include "record/perf.h"
#include "record/targets.h"

struct stretch {
	struct options options;
	char *dir;
	struct targets targets;
	struct recording recording;
	pid_t *pids; /* those that perf began with */
	size_t pid_count;
	uint64_t snapshots; /* bytes when it began */
	uint64_t began_us;  /* of the window that is being recorded */
	uint64_t us;	    /* of the last one */
	unsigned windows;
};

/* Begins one in a new directory `dir`, and waits until perf is ready. Returns EXIT_DONE, or the
 * status to exit with and err: then there is nothing to end. */
MUST_CHECK enum exit_status stretch_start(const struct options *o, const char *dir,
					  struct stretch *ret, struct err *err);

/* Waits for the end of the window and makes it the recording of all sessions. 1; 0 when there is no
 * window any more, because all processes are gone or *stop is not 0; -1. */
MUST_CHECK int stretch_next(struct stretch *s, const volatile int *stop, struct err *err);

/* The same, without waiting for the window's end. */
MUST_CHECK int stretch_last(struct stretch *s, const volatile int *stop, struct err *err);

/* Whether it is time for another one. */
bool stretch_is_old(const struct stretch *s);

/* Ends it and removes the directory. */
void stretch_end(struct stretch *s);

#endif
