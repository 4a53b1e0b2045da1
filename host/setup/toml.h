/* SPDX-License-Identifier: Apache-2.0 */
/* A few lines of a TOML file: tables that have a header, and strings in them. All else stays as it
 * is.
 *
 * No reader of the whole language: inline tables, dotted keys and strings over several lines are
 * not seen. What comes of a change has to be judged by the program that reads the file. */
#ifndef DFG_SETUP_TOML_H
#define DFG_SETUP_TOML_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

#define TOML_KEYS_MAX 8

/* [a."b.c".d] and the lines up to the next header. The first table has no header and no keys. */
struct toml_table {
	char *keys[TOML_KEYS_MAX];
	size_t count;
	size_t header, from, to; /* places in the text; valid until it is changed */
};

/* The table behind *at, which begins as 0 and is moved on. False at the end. Freed with
 * toml_table_fini. */
bool toml_next_table(const struct str *text, size_t *at, struct toml_table *ret);
void toml_table_fini(struct toml_table *t);

static inline void cleanup_toml_table_fini(struct toml_table *t)
{
	toml_table_fini(t);
}

/* The string or number of the key, as text without quotes, owned; NULL when there is none. */
char *toml_get(const struct str *text, const struct toml_table *t, const char *key);

/* Puts key = "value" there: in the place of the old value, or as the table's first line. */
void toml_set(struct str *text, const struct toml_table *t, const char *key, const char *value);

/* Takes the key's line out. */
void toml_remove(struct str *text, const struct toml_table *t, const char *key);

#endif
