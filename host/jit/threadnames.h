/* SPDX-License-Identifier: Apache-2.0 */
/* The names that Java gave its threads, from the snapshots (dfg/snapshot.h, SNAP_THREAD), by perf's
 * numbers of the threads. Of a thread that was renamed, or of two that had the same number, the
 * last name that was seen. */
#ifndef DFG_JIT_THREADNAMES_H
#define DFG_JIT_THREADNAMES_H

#include "session/recording.h"

struct threadnames;

/* Reads the snapshots of the input; what cannot be read has no names. */
struct threadnames *threadnames_new(const struct recording *in);
void threadnames_free(struct threadnames *tn);

/* Borrowed, not clean, no NUL at its end; NULL: Java has no name for it. */
const char *threadnames_find(const struct threadnames *tn, pid_t pid, pid_t tid, size_t *ret_len);

static inline void cleanup_threadnames_free(struct threadnames **tn)
{
	threadnames_free(*tn);
}

#endif
