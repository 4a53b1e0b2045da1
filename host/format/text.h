/* SPDX-License-Identifier: Apache-2.0 */
/* Text in pictures: escaping, and what of a name fits into a box. */
#ifndef DFG_FORMAT_TEXT_H
#define DFG_FORMAT_TEXT_H

#include "common/str.h"

/* Character data or attribute value of XML and HTML, whatever the bytes are: & < > " ' become
 * references; what XML 1.0 forbids, and what str_add_clean replaces, becomes '?'. */
void text_escape(struct str *out, const char *text, size_t len);

/* A string of JSON in its quotes, fit to stand in a script of a page: '<' is an escape, too. What
 * str_add_clean replaces becomes '?'. */
void text_json(struct str *out, const char *text, size_t len);

/* Width in columns of a monospaced font: one per character, two for East Asian ones. */
size_t text_columns(const char *text, size_t len);

/* Bytes of the longest beginning that is at most `columns` wide. */
size_t text_fit(const char *text, size_t len, size_t columns);

/* Where the class begins in the name of a Java method: "java.util.Map.get" -> "Map.get". Takes
 * '.' and '/' between packages, "::" before the method, and may find no package at all (0). */
size_t text_package(const char *name, size_t len);

/* 51466 -> "51466", or "51,466" and "51 466" with a separator. */
void text_count(struct str *out, uint64_t n, const char *separator);

/* n / 10^decimals without trailing zeros: (1250, 3) -> "1.25". At most 9 decimals. */
void text_fixed(struct str *out, uint64_t n, unsigned decimals);

/* 0xrrggbb -> "#rrggbb" */
void text_colour(struct str *out, uint32_t rgb);

#endif
