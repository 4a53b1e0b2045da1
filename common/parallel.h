/* SPDX-License-Identifier: Apache-2.0 */
/* Runs work in several threads. */
#ifndef DFG_COMMON_PARALLEL_H
#define DFG_COMMON_PARALLEL_H

#include <stddef.h>

/* Number of CPUs this process may run on (sched_getaffinity(2)), at least 1. */
size_t parallel_cpus(void);

/* Calls fn(arg, i) for all i below n, each in a thread, the first in the caller's, and returns
 * after all have returned. Calls whose thread cannot be started run in the caller's thread. */
void parallel_run(size_t n, void (*fn)(void *arg, size_t i), void *arg);

#endif
