/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reader, used by every parser of bytes from outside.
 *
 * A read past the end returns zeros and sets `bad`, which stays set: a parser reads all fields and
 * checks `bad` where it matters. Native byte order. */
#ifndef DFG_BYTES_H
#define DFG_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *p;
	size_t len;
	bool bad;
};

static inline struct bytes bytes_of(const void *p, size_t len)
{
	return (struct bytes){.p = p, .len = len};
}

/* Returns the next n bytes, borrowed; NULL if there are fewer. */
static inline const uint8_t *bytes_take(struct bytes *b, size_t n)
{
	const uint8_t *p = b->p;

	if (b->bad || n > b->len) {
		b->bad = true;
		b->len = 0;
		return NULL;
	}
	if (n) /* nothing may be taken of no bytes, which are nowhere */
		b->p += n;
	b->len -= n;
	return p;
}

#define BYTES_READER(name, type)                                                                   \
	static inline type bytes_##name(struct bytes *b)                                           \
	{                                                                                          \
		const uint8_t *p = bytes_take(b, sizeof(type));                                    \
		type v = 0;                                                                        \
                                                                                                   \
		if (p)                                                                             \
			memcpy(&v, p, sizeof(v));                                                  \
		return v;                                                                          \
	}
BYTES_READER(u8, uint8_t)
BYTES_READER(u16, uint16_t)
BYTES_READER(u32, uint32_t)
BYTES_READER(u64, uint64_t)
#undef BYTES_READER

/* Returns a reader of the next n bytes; it is bad if there are fewer. */
static inline struct bytes bytes_sub(struct bytes *b, size_t n)
{
	const uint8_t *p = bytes_take(b, n);

	return (struct bytes){.p = p, .len = p ? n : 0, .bad = p == NULL};
}

/* Returns the NUL-terminated text that follows, borrowed, and moves past the NUL. Without a NUL:
 * NULL, bad. */
static inline const char *bytes_cstr(struct bytes *b)
{
	const uint8_t *end = b->len ? memchr(b->p, 0, b->len) : NULL;

	if (!end) {
		b->bad = true;
		b->len = 0;
		return NULL;
	}
	return (const char *)bytes_take(b, (size_t)(end - b->p) + 1);
}

#endif
