// SPDX-License-Identifier: Apache-2.0
/* What a compiler may call without being asked to: it takes these four for granted. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

/* The barrier keeps a compiler from turning the loop into a call of the function it is in. */
#define BARRIER() __asm__ volatile("" ::: "memory")

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
#if defined(__x86_64__)
	void *ret = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return ret;
#else
	uint8_t *t = to;
	const uint8_t *f = from;

	for (; n > 0; n--) {
		*t++ = *f++;
		BARRIER();
	}
	return to;
#endif
}

void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	if ((uintptr_t)to - (uintptr_t)from >= n)
		return memcpy(to, from, n);
	while (n-- > 0) {
		t[n] = f[n];
		BARRIER();
	}
	return to;
}

void *memset(void *to, int c, size_t n)
{
#if defined(__x86_64__)
	void *ret = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
	return ret;
#else
	uint8_t *t = to;

	for (; n > 0; n--) {
		*t++ = (uint8_t)c;
		BARRIER();
	}
	return to;
#endif
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n > 0; n--, x++, y++) {
		if (*x != *y)
			return *x - *y;
		BARRIER();
	}
	return 0;
}
