/* SPDX-License-Identifier: Apache-2.0 */
/* The same work on several processors. */
#ifndef DFG_COMMON_PARALLEL_H
#define DFG_COMMON_PARALLEL_H

#include <stddef.h>

/* Processors this process may run on (sched_getaffinity(2)), at least 1. */
size_t parallel_cpus(void);

/* Calls fn(arg, i) for all i below n, each in a thread, the first in the caller's own, and returns
 * when all have. What cannot have a thread comes after the caller's. */
void parallel_run(size_t n, void (*fn)(void *arg, size_t i), void *arg);

#endif
