/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what other events say of the time of a sample of the processors' time: which method a
 * compiler thread compiled, for which operation a JVM was stopped. */
#ifndef DFG_PROFILE_TASKS_H
#define DFG_PROFILE_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

#define TASKS_PAUSE (-2) /* no thread: the operation of a pause of the process */

struct tasks;

/* Reads the compilations and safepoints of a recording (perf/perfwrite.h) from its beginning to its
 * end. The descriptor stays the caller's. */
MUST_CHECK int tasks_read(int perf_fd, struct tasks **ret, struct err *err);
void tasks_free(struct tasks *t); /* NULL is fine */

/* Returns what the thread compiled at the time, "a.B.c (C2)", or the operation of the pause, both
 * as they are drawn, borrowed. NULL: nothing, or what had not ended when the recording did; also
 * where `t` is. */
const char *tasks_find(const struct tasks *t, pid_t pid, pid_t tid, uint64_t time);

struct reader;

/* Adds both to the stack of the reader's sample, of a thread with this name in the graph. */
void tasks_add(struct reader *r, const char *thread);

static inline void cleanup_tasks_free(struct tasks **t)
{
	tasks_free(*t);
}

#endif
