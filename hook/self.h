/* SPDX-License-Identifier: Apache-2.0 */
/* This process: what it inherited from the runtime, its input, its log, its worker. */
#ifndef HOOK_SELF_H
#define HOOK_SELF_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "hook/worker.h"

/* First thing in main: no environment, no descriptors but 0 to 2 (which are open afterwards), known
 * signal state, not dumpable, no new privileges, working directory "/". */
void hook_self_sanitise(void);

/* Reads stdin to its end, or to `deadline_us` (CLOCK_MONOTONIC): a runtime may not be left with a
 * full pipe. Keeps what fits, and returns its length, or -1 with err when there was more or no end.
 * The buffer is static. */
MUST_CHECK long hook_self_drain(uint64_t deadline_us, const char **ret, struct err *err);

/* Does the job in a child process, which is killed with all its children at the deadline. */
void hook_self_work(const struct hook_job *job, uint64_t deadline_us, struct hook_outcome *ret);

/* One datagram to /dev/log that waits for nothing and may get lost. */
void hook_self_log(const struct hook_outcome *o, uint64_t us);

#endif
