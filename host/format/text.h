/* SPDX-License-Identifier: Apache-2.0 */
/* Text of pictures: a buffered writer, escaping, numbers, and fitting names into a width. */
#ifndef DFG_FORMAT_TEXT_H
#define DFG_FORMAT_TEXT_H

#include "common/err.h"
#include "common/str.h"

/* Buffered output: text is built in `buf` and written to the descriptor in large pieces. The first
 * write that fails sets *err; nothing is written after it. */
struct out {
	int fd;
	struct str buf;
	struct err *err;
	bool failed;
};

/* Writes the buffer if it is large. Call it between two elements or lines. */
void out_tick(struct out *o);

/* Writes the rest and frees the buffer. Returns 0, or -1 if this or an earlier write failed. */
MUST_CHECK int out_end(struct out *o);

/* Appends character data or an attribute value of XML and HTML, for any bytes: & < > " ' become
 * references; characters that XML 1.0 forbids, and those str_add_clean replaces, become '?'. */
void text_escape(struct str *out, const char *text, size_t len);

/* Appends a quoted JSON string that is safe in a script of a page: '<' is escaped, too.
 * Characters that str_add_clean replaces become '?'. */
void text_json(struct str *out, const char *text, size_t len);

/* Width in columns of a monospaced font: one per character, two for East Asian ones. */
size_t text_columns(const char *text, size_t len);

/* Bytes of the longest prefix that is at most `columns` wide. */
size_t text_fit(const char *text, size_t len, size_t columns);

/* Length of the package in the name of a Java method: 10 for "java.util.Map.get". Accepts '.' and
 * '/' between packages and "::" before the method. 0 if there is no package. */
size_t text_package(const char *name, size_t len);

/* Appends 51466 as "51466", or as "51,466" with a separator. */
void text_count(struct str *out, uint64_t n, const char *separator);

/* Appends "1,973 samples", "3.22 GB" or "12.5 ms": a count of a unit, of bytes and ns in three
 * digits. */
void text_amount(struct str *out, uint64_t n, const char *unit);

/* True of bytes and ns. */
bool text_is_scaled(const char *unit);

/* Appends "3 → 5 samples" or "3.22 GB → 512 MB". */
void text_amounts(struct str *out, uint64_t before, uint64_t after, const char *unit);

/* Returns the unit of a count (struct picture), of samples in the singular where it is 1. */
const char *text_unit(uint64_t n, const char *unit);

/* Appends n / 10^decimals without trailing zeros: (1250, 3) -> "1.25". At most 9 decimals. */
void text_fixed(struct str *out, uint64_t n, unsigned decimals);

/* Appends 0xrrggbb as "#rrggbb". */
void text_colour(struct str *out, uint32_t rgb);

/* Appends a number as unsigned LEB128, the encoding of protocol buffers and of the page's lists. */
void text_varint(struct str *out, uint64_t n);

/* Appends bytes in base64 (RFC 4648). */
void text_base64(struct str *out, const char *bytes, size_t len);

#endif
