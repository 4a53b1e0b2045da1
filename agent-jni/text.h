/* SPDX-License-Identifier: Apache-2.0 */
/* Short texts without a libc: a bounded builder and a strict scanner. */
#ifndef AGENT_TEXT_H
#define AGENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that does not fit is dropped and sets `cut`; buf is always NUL-terminated. */
struct text_builder {
	char *buf;
	size_t len, cap;
	bool cut;
};

#define TEXT_OF(array) ((struct text_builder){.buf = (array), .cap = sizeof(array)})

void text_add(struct text_builder *t, const char *s, size_t len);
void text_adds(struct text_builder *t, const char *s);
void text_addu(struct text_builder *t, uint64_t n);

/* A position in a text and the number of bytes after it. */
struct text_scanner {
	const char *p;
	size_t len;
};

struct text_scanner scan_of(const char *s);

/* Skips `word` if the text continues with it, else leaves the position. */
bool scan_word(struct text_scanner *s, const char *word);

/* Parses an unsigned decimal number up to max. */
bool scan_number(struct text_scanner *s, uint64_t max, uint64_t *ret);

/* Returns the text up to `end`, or all of it. */
struct text_scanner scan_until(struct text_scanner *s, char end);

/* True for a valid file name of request.h: 1 to 255 bytes, no '/', not "." or "..", no control
 * bytes. */
bool scan_is_name(const struct text_scanner *s);

#endif
