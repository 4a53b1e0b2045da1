/* SPDX-License-Identifier: Apache-2.0 */
/* CLOCK_MONOTONIC without a libc. */
#ifndef HS_CLOCK_H
#define HS_CLOCK_H

#include <asm/unistd.h>
#include <stdint.h>

/* Nanoseconds; 0 on machines other than x86-64 and arm64. */
static inline uint64_t hs_clock_ns(void)
{
	struct {
		int64_t sec, nsec;
	} now = {0, 0};
#if defined(__x86_64__)
	long ret = __NR_clock_gettime;

	__asm__ volatile("syscall" : "+a"(ret) : "D"(1L), "S"(&now) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = __NR_clock_gettime;
	register long ret __asm__("x0") = 1;
	register void *to __asm__("x1") = &now;

	__asm__ volatile("svc 0" : "+r"(ret) : "r"(number), "r"(to) : "memory");
#endif
	return (uint64_t)now.sec * 1000000000u + (uint64_t)now.nsec;
}

#endif
