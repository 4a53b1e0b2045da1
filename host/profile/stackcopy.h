/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample recorded of a thread's stack: the bytes from the stack pointer upwards. */
#ifndef DFG_STACKCOPY_H
#define DFG_STACKCOPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct stack_copy {
	uint64_t base;	  /* address of p[0] in the thread */
	const uint8_t *p; /* borrowed, maybe not aligned; NULL when len is 0 */
	size_t len;
	uint64_t *top; /* becomes the highest address that was asked for; NULL: not wanted */
};

/* The 8 bytes at an address, which need not be aligned. False, and *ret untouched, unless all of
 * them were copied. */
static inline bool stack_read(const struct stack_copy *s, uint64_t addr, uint64_t *ret)
{
	uint64_t at = addr - s->base; /* wraps to something large below the base */

	if (s->top && addr > *s->top)
		*s->top = addr;
	if (s->len < sizeof(*ret) || at > s->len - sizeof(*ret))
		return false;
	memcpy(ret, s->p + at, sizeof(*ret));
	return true;
}

/* Asks for the bytes that unwinding will need some frames after an address, which a recording has
 * not in any cache: a hint, wherever it is. */
static inline void stack_expect(const struct stack_copy *s, uint64_t addr)
{
	uint64_t at = addr - s->base;

	for (uint64_t line = at + 640; line < at + 768; line += 64)
		if (line < s->len)
			__builtin_prefetch(s->p + line);
}

#endif
