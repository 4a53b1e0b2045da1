// SPDX-License-Identifier: Apache-2.0
/* Edits of TOML text: only the named line changes. */
#include "setup/toml.h"

#include "lib/tap.h"

static const char *const file = "version = 2\n"
				"\n"
				"# comment\n"
				"[plugins.\"a.b\".runc]\n"
				"    type = \"x\" # comment\n"
				"    'quoted' = 'y'\n"
				"[plugins.empty]\n"
				"[[list]]\n"
				"  type = \"in the list\"\n";

/* Finds the table whose last key is this one; "": the table without header. */
static bool find_table(const struct str *text, const char *last, struct toml_table *ret)
{
	size_t at = 0;

	while (toml_next_table(text, &at, ret)) {
		const char *key = ret->count ? ret->keys[ret->count - 1] : "";

		if (!strcmp(key, last))
			return true;
		toml_table_fini(ret);
	}
	return false;
}

static void is_value(const char *table, const char *key, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(toml_table_fini) struct toml_table t = {0};
	CLEANUP(free) char *value = NULL;

	str_adds(&text, file);
	value = find_table(&text, table, &t) ? toml_get(&text, &t, key) : NULL;
	is_str(value, want, "%s", name);
}

static void is_edited(const char *table, const char *key, const char *value, const char *from,
		      const char *to, const char *name)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(str_fini) struct str want = {0};
	CLEANUP(toml_table_fini) struct toml_table t = {0};
	const char *at = strstr(file, from);

	str_adds(&text, file);
	str_add(&want, file, (size_t)(at - file));
	str_addf(&want, "%s%s", to, at + strlen(from));
	if (!ok(find_table(&text, table, &t), "the table [%s] is found", table))
		return;
	if (value)
		toml_set(&text, &t, key, value);
	else
		toml_remove(&text, &t, key);
	is_str(text.buf, want.buf, "%s", name);
}

static void test_tables(void)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(toml_table_fini) struct toml_table t = {0};
	size_t at = 0, count = 0;

	str_adds(&text, file);
	for (; toml_next_table(&text, &at, &t); toml_table_fini(&t))
		count++;
	is_int(count, 4, "the file has three headers and the lines before them");
	ok(find_table(&text, "runc", &t), "a table is found by its keys");
	is_int(t.count, 3, "a header has three keys");
	is_str(t.keys[1], "a.b", "a key in quotes may have a dot");
	toml_table_fini(&t);
	str_clear(&text);
	str_adds(&text, "[a.b.c.d.e.f.g.h]\n[a.b.c.d.e.f.g.h.i]\n[a b]\n[a] # comment\n");
	at = count = 0;
	for (; toml_next_table(&text, &at, &t); toml_table_fini(&t))
		count += t.count;
	is_int(count, 9, "a header of nine keys and one with a blank have no keys");
}

int main(void)
{
	test_tables();
	is_value("", "version", "2", "a number before the first header");
	is_value("runc", "type", "x", "a string, without its comment");
	is_value("runc", "quoted", "y", "a key in single quotes");
	is_value("runc", "typ", NULL, "a key that only begins alike");
	is_value("empty", "type", NULL, "a key of the next table");
	is_edited("runc", "type", "new", "\"x\"", "\"new\"", "a value is replaced");
	is_edited("runc", "added", "z", "    type", "    added = \"z\"\n    type",
		  "a new key is indented as the first line");
	is_edited("empty", "added", "z", "[[list]]", "  added = \"z\"\n[[list]]",
		  "a new key of an empty table is indented by two");
	is_edited("", "added", "z", "version", "added = \"z\"\nversion",
		  "a new key before the first header");
	is_edited("runc", "type", NULL, "    type = \"x\" # comment\n", "", "a line is removed");
	is_edited("runc", "none", NULL, "", "", "removal of a missing key changes nothing");
	return tap_done();
}
