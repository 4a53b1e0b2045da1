/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text buffer, checked allocation, and strict parsers of numbers. */
#ifndef DFG_COMMON_STR_H
#define DFG_COMMON_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dfg/compiler.h"

/* buf is always NUL-terminated once anything was added; NULL before. */
struct str {
	char *buf;
	size_t len;
	size_t cap;
};

void str_reserve(struct str *s, size_t more); /* for the bytes and the NUL */
void str_addf(struct str *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void str_addu(struct str *s, uint64_t n); /* decimal, faster than str_addf */
void str_clear(struct str *s);		  /* empties, keeps the memory */
void str_fini(struct str *s);

/* Appends sanitised text, fit for one line of a terminal, a log or a name: bytes that are not
 * valid UTF-8, control characters (C0, DEL, C1) and bidirectional controls (U+202A-202E,
 * U+2066-2069, U+200E, U+200F) become '?'. */
void str_add_clean(struct str *s, const char *text, size_t len);

/* Sanitises in the same way an array that another process has filled: it ends with a NUL then. */
void str_clean(char *text, size_t size);

/* Makes a bool valid that another process has filled, with any bits. */
static inline void bool_clean(bool *b)
{
	unsigned char bits;

	memcpy(&bits, b, sizeof(bits));
	*b = bits != 0;
}

/* Inline, for the writers of graphs: with a literal it is a few instructions. */
static inline void str_add(struct str *s, const void *text, size_t len)
{
	if (s->cap - s->len <= len)
		str_reserve(s, len);
	if (len)
		memcpy(s->buf + s->len, text, len);
	s->len += len;
	s->buf[s->len] = '\0';
}

static inline void str_addc(struct str *s, char c)
{
	str_add(s, &c, 1);
}

static inline void str_adds(struct str *s, const char *text)
{
	str_add(s, text, strlen(text));
}

static inline void cleanup_str_fini(struct str *s)
{
	str_fini(s);
}

/* Allocation that ends the program when memory is out (die_oom). Freed with free(). */
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size); /* n * size, overflow checked */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Makes room for one more element: doubles *cap (elements) if needed. */
void *grow(void *array, size_t used, size_t *cap, size_t size);

/* Parse the whole text as a number: no sign, blank, prefix or overflow. */
MUST_CHECK bool parse_u64(const char *s, uint64_t *ret);
MUST_CHECK bool parse_hex(const char *s, size_t len, uint64_t *ret); /* 1 to 16 digits */
MUST_CHECK bool parse_pid(const char *s, int *ret);		     /* 1 .. 2^22 (PID_MAX_LIMIT) */

bool has_prefix(const char *s, const char *prefix);
bool has_suffix(const char *s, const char *suffix);

#endif
