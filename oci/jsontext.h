/* SPDX-License-Identifier: Apache-2.0 */
/* Edits the text of a JSON object in place; jansson checks the text, this module finds and replaces
 * the bytes. Writing back what jansson parsed would not do: it has no unsigned 64-bit numbers
 * (engines write 2^64-1 as a limit), and an administrator's file must keep its order and layout.
 *
 * A path is a list of keys from the top, NULL at its end. Keys are compared as bytes of the text,
 * so a key with an escape beside the path is an error. Removing what was inserted restores the
 * text, white space included, but for a null or a value that it replaced.
 *
 * Functions return 1 (found), 0 (missing), or -1: the text is not one valid JSON object without
 * duplicate keys, or a part of the path has another type. On failure nothing is changed. */
#ifndef DFG_OCI_JSONTEXT_H
#define DFG_OCI_JSONTEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

/* A part of the text, valid until the text changes. */
struct json_span {
	size_t from, to;
};

/* Parses the text for reading: NULL unless it is an object. Integers become reals. */
json_t *json_text_parse(const struct str *text);
bool json_text_is_object(const struct str *text);

int json_text_get(const struct str *text, const char *const *path, struct json_span *ret);

/* An element of the array at the path. */
int json_text_get_element(const struct str *text, const char *const *path, size_t index,
			  struct json_span *ret);

/* Returns a string's bytes without its quotes, escapes included; NULL for other types. Owned. */
char *json_text_string(const struct str *text, const struct json_span *span);

/* Replaces a part; the caller keeps the text valid. */
void json_text_replace(struct str *text, struct json_span span, const char *part);

/* Sets the value (JSON), and creates the objects above it that are missing or null. 0 or -1. */
MUST_CHECK int json_text_set(struct str *text, const char *const *path, const char *value);

/* Appends the value to the array, which is created if missing or null. 0 or -1. */
MUST_CHECK int json_text_append(struct str *text, const char *const *path, const char *value);

MUST_CHECK int json_text_remove(struct str *text, const char *const *path);
MUST_CHECK int json_text_remove_element(struct str *text, const char *const *path, size_t index);

/* Removes the member if it is an empty object or array. */
MUST_CHECK int json_text_remove_empty(struct str *text, const char *const *path);

static inline void cleanup_json_decref(json_t **o)
{
	json_decref(*o);
}

#endif
