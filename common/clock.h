/* SPDX-License-Identifier: Apache-2.0 */
/* CLOCK_MONOTONIC, deadlines on it, and texts of wall time. Time-outs never use wall time. */
#ifndef DFG_COMMON_CLOCK_H
#define DFG_COMMON_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void);
uint64_t clock_us(void);
/* CPU time of this thread. That of a process with a limit of it (RLIMIT_CPU) has only what was
 * counted at the last tick (kernel/time/posix-cpu-timers.c, thread_group_sample_cputime). */
uint64_t clock_cpu_us(void);
void sleep_ms(unsigned ms);

/* A deadline is a time of clock_ms. ms < 0: never. */
uint64_t deadline_after(int ms);

/* Time-out for poll(2): milliseconds left, 0 after the deadline, -1 if it never comes. */
int deadline_ms_left(uint64_t deadline);

/* Parses "2026-11-21T10:00:00Z" (ISO 8601, UTC) to seconds since 1970; 0 for any other text. */
int64_t clock_of(const char *text);

#endif
