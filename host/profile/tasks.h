/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what a JVM's compiler threads worked on, by the recorded compilations: for the samples of
 * their processor time. */
#ifndef DFG_PROFILE_TASKS_H
#define DFG_PROFILE_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct tasks;

/* Reads the compilations of a recording (perf/perfwrite.h) from its beginning to its end, that of
 * `event` there. The descriptor stays the caller's. */
MUST_CHECK int tasks_read(int perf_fd, unsigned event, struct tasks **ret, struct err *err);
void tasks_free(struct tasks *t); /* NULL is fine */

/* Returns the method that the thread compiled at the time, as it is drawn ("a.B.c (C2)"), borrowed.
 * NULL: none, or one whose compilation had not ended when the recording did; also where `t` is. */
const char *tasks_find(const struct tasks *t, pid_t pid, pid_t tid, uint64_t time);

static inline void cleanup_tasks_free(struct tasks **t)
{
	tasks_free(*t);
}

#endif
