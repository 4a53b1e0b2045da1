/* SPDX-License-Identifier: Apache-2.0 */
/* CLOCK_MONOTONIC: deadlines and durations never use wall time. And texts of wall time. */
#ifndef DFG_COMMON_CLOCK_H
#define DFG_COMMON_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void);
uint64_t clock_us(void);
uint64_t clock_cpu_us(void); /* processor time of this process */
void sleep_ms(unsigned ms);

/* Seconds since 1970 of "2026-11-21T10:00:00Z" (ISO 8601, UTC); 0: it is something else. */
int64_t clock_of(const char *text);

#endif
