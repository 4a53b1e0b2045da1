// SPDX-License-Identifier: Apache-2.0
/* A configuration in TOML: what is set can be read, and what is removed is gone; the rest of the
 * text stays. */
#include "setup/toml.h"

#include "fuzz/fuzz.h"

#define KEY "dfg_key"

/* Finds table number n again after a change. */
static bool table_at(const struct str *text, size_t n, struct toml_table *ret)
{
	for (size_t at = 0, i = 0; toml_next_table(text, &at, ret); i++) {
		if (i == n)
			return true;
		toml_table_fini(ret);
	}
	return false;
}

static void change(const struct str *before, size_t n)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *old = NULL;
	CLEANUP(free) char *set = NULL;
	struct toml_table t;

	str_add(&text, before->buf, before->len);
	if (!table_at(&text, n, &t))
		abort();
	require(t.header <= t.from && t.from <= t.to && t.to <= text.len);
	old = toml_get(&text, &t, KEY);
	toml_set(&text, &t, KEY, "value");
	toml_table_fini(&t);
	if (!table_at(&text, n, &t))
		abort();
	set = toml_get(&text, &t, KEY);
	require(set && strcmp(set, "value") == 0);
	toml_remove(&text, &t, KEY);
	toml_table_fini(&t);
	/* A last line without its end gets one. */
	require(old ||
		(text.len - before->len <= 1 && memcmp(text.buf, before->buf, before->len) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(str_fini) struct str text = {0};
	struct toml_table t;
	size_t n = 0;

	str_adds(&text, "");
	for (size_t i = 0; i < size; i++) /* a text without NUL, as it was read */
		str_addc(&text, data[i] ? (char)data[i] : ' ');
	for (size_t at = 0; toml_next_table(&text, &at, &t); n++)
		toml_table_fini(&t);
	for (size_t i = 0; i < n && i < 4; i++)
		change(&text, i);
	return 0;
}
