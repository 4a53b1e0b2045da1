/* SPDX-License-Identifier: Apache-2.0 */
/* CLOCK_MONOTONIC: deadlines and durations never use wall time. */
#ifndef DFG_CLOCK_H
#define DFG_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void);
uint64_t clock_us(void);
uint64_t clock_cpu_us(void); /* processor time of this process */
void sleep_ms(unsigned ms);

#endif
