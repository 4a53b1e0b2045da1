/* SPDX-License-Identifier: Apache-2.0 */
/* Short texts without a libc: a bounded builder, and a strict scanner. */
#ifndef AGENT_TEXT_H
#define AGENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What does not fit sets cut and is left out; buf is always NUL-terminated. */
struct text {
	char *buf;
	size_t len, cap;
	bool cut;
};

#define TEXT_OF(array) ((struct text){.buf = (array), .cap = sizeof(array)})

void text_add(struct text *t, const char *s, size_t len);
void text_adds(struct text *t, const char *s);
void text_addu(struct text *t, uint64_t n);

/* A place in a text and the bytes left there. */
struct scan {
	const char *p;
	size_t len;
};

struct scan scan_of(const char *s);

/* Steps over `word` when it comes next; else stays where it is. */
bool scan_word(struct scan *s, const char *word);

/* A decimal number of 0 to max, without a sign. */
bool scan_number(struct scan *s, uint64_t max, uint64_t *ret);

/* Everything up to `end` or the end of the text. */
struct scan scan_until(struct scan *s, char end);

/* The file name rules of request.h: no '/', not "." or "..", 1 to 255 bytes, no control bytes. */
bool scan_is_name(const struct scan *s);

#endif
