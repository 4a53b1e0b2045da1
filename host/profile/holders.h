/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of threads that events of other threads name: who held a lock, who asked for an operation.
 * A few thousand, of which a later one may take an earlier one's place. */
#ifndef DFG_PROFILE_HOLDERS_H
#define DFG_PROFILE_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

#define HOLDER_FRAMES 1024u /* that are kept: the innermost */

struct holder {
	pid_t pid; /* 0: none */
	pid_t tid;
	uint64_t time;
	bool to_root; /* the stack reaches the thread's first function */
	size_t count;
	uint32_t frames[HOLDER_FRAMES]; /* outermost first */
};

struct holders;

struct holders *holders_new(void);
void holders_free(struct holders *h); /* NULL is fine */

/* Keeps the frames of a thread's sample of this time, outermost first. They are copied. */
void holders_keep(struct holders *h, pid_t pid, pid_t tid, uint64_t time, bool to_root,
		  const uint32_t *frames, size_t n);

/* Borrowed until the next one is kept. NULL: it is not known; also for time 0, and where `h` is. */
const struct holder *holders_find(const struct holders *h, pid_t pid, uint64_t time);

#endif
