/* SPDX-License-Identifier: Apache-2.0 */
/* Edits strings in the tables of a TOML file that have a header. All other text stays as it is.
 *
 * Not a reader of the whole language: inline tables, dotted keys and strings over several lines are
 * ignored. The program that reads the file has to check the result of a change. */
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

/* Finds the next table from *at, which begins as 0 and is advanced. False at the end. Freed with
 * toml_table_fini. */
bool toml_next_table(const struct str *text, size_t *at, struct toml_table *ret);
void toml_table_fini(struct toml_table *t);

static inline void cleanup_toml_table_fini(struct toml_table *t)
{
	toml_table_fini(t);
}

/* The string or number of the key, as text without quotes, owned; NULL when there is none. */
char *toml_get(const struct str *text, const struct toml_table *t, const char *key);

/* Sets key = "value": replaces the old value, or inserts the table's first line. */
void toml_set(struct str *text, const struct toml_table *t, const char *key, const char *value);

/* Removes the key's line. */
void toml_remove(struct str *text, const struct toml_table *t, const char *key);

#endif
