/* SPDX-License-Identifier: Apache-2.0 */
/* Changes in the text of a JSON object. All else stays byte for byte as it was: engines write
 * numbers and keys that a JSON library would not give back unchanged (2^64-1 as a limit), and
 * people write files that they want to know again.
 *
 * A path is a list of keys from the top, NULL at its end. Keys and string values are compared as
 * they stand in the text: a key with an escape could be any key, and a key that is there twice
 * could mean either value, so both are errors. What is put in and taken out again leaves the text
 * as it was, white space included, but for a null or a value that it replaced.
 *
 * Functions that search return 1 (found), 0 (not there) or -1 (the text, or a part of the path, is
 * not what it should be). Outputs and texts are untouched unless 1 or success is returned. */
#ifndef DFG_OCI_JSONTEXT_H
#define DFG_OCI_JSONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"
#include "dfg/compiler.h"

/* A part of the text; valid until the text is changed. */
struct json_span {
	size_t from, to;
};

/* Whether the text is one object, nested 256 deep at most. What strings and words say is not
 * looked at. */
bool json_text_is_object(const struct str *text);

int json_text_get(const struct str *text, const char *const *path, struct json_span *ret);

/* An element of the array at the path; its number counts from 0. */
int json_text_element(const struct str *text, const char *const *path, size_t number,
		      struct json_span *ret);

/* A member of the object at `within`. */
int json_text_member(const struct str *text, const struct json_span *within, const char *key,
		     struct json_span *ret);

/* Whether the part is this, byte for byte. */
bool json_text_is(const struct str *text, const struct json_span *span, const char *want);

/* Whether the part is a string that ends like this. */
bool json_text_ends(const struct str *text, const struct json_span *span, const char *end);

/* A string of the text without its quotes, escapes and all; NULL if the part is none. Owned. */
char *json_text_string(const struct str *text, const struct json_span *span);

/* Puts characters in, or takes a part out; the caller knows that it stays JSON. */
void json_text_put_in(struct str *text, size_t at, const char *part);
void json_text_cut(struct str *text, const struct json_span *span);

/* Puts the value (JSON) there, instead of the one that is there; makes the objects above it that
 * are missing or null. Returns 0 or -1. */
MUST_CHECK int json_text_set(struct str *text, const char *const *path, const char *value);

/* Puts the value at the end of the array, which is made if it is missing or null. */
MUST_CHECK int json_text_append(struct str *text, const char *const *path, const char *value);

/* Takes the member out, or the element of the array. Returns 1, 0 or -1. */
MUST_CHECK int json_text_remove(struct str *text, const char *const *path);
MUST_CHECK int json_text_remove_element(struct str *text, const char *const *path, size_t number);

/* Takes the member out if it is an empty object or array. Returns as json_text_remove. */
MUST_CHECK int json_text_remove_empty(struct str *text, const char *const *path);

#endif
