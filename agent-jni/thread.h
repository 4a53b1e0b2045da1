/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that no libc knows of. It shares the thread-local storage of the thread that started it,
 * so it may run nothing but the agent's own code; and it takes no signal, ever. */
#ifndef AGENT_THREAD_H
#define AGENT_THREAD_H

#include <stdint.h>

/* Returns the thread's id, or a negative errno. main_fn must not return. The caller's signal mask
 * is what it was. */
int thread_start(void (*main_fn)(void *), void *arg);

/* Whether a thread of this process with that id is there. */
int thread_alive(int tid);

#endif
