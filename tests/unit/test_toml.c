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

/* "keys=text|" of each table, its lines without the header. */
static void check_split(const char *toml, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(str_fini) struct str got = {0};
	struct toml_table t;
	size_t at = 0;

	str_adds(&text, toml);
	str_adds(&got, "");
	for (; toml_next_table(&text, &at, &t); toml_table_fini(&t)) {
		for (size_t i = 0; i < t.count; i++)
			str_addf(&got, "%s%s", i ? "." : "", t.keys[i]);
		str_addc(&got, '=');
		str_add(&got, text.buf + t.from, t.to - t.from);
		str_addc(&got, '|');
		t.header = t.from = t.to = 0;
	}
	is_str(got.buf, want, "%s", name);
}

static void test_headers(void)
{
	check_split("", "", "an empty file has no table");
	check_split("x", "=x|", "a line without an end is one of the first table");
	check_split("[a]", "a=|", "a header may be the last line, without an end");
	check_split("[a]\n[b]", "a=|b=|", "a table may have no lines");
	check_split("  [a]\nx\n\t[b]\ny\n", "a=x\n|b=y\n|", "headers may be indented");
	check_split("[ a . b ]\n", "a.b=|", "blanks around keys are no part of them");
	check_split("[a] \t# x\ny\n", "a=y\n|", "a comment may follow a header");
	check_split("[a]\r\ny\r\n", "a=y\r\n|", "lines may end as on DOS");
	check_split("[a]x\ny\n", "=[a]x\ny\n|", "text after the bracket makes it no header");
	check_split("[a\n\ny\n", "=[a\n\ny\n|", "a bracket that is not closed is no header");
	check_split("[a\n", "=[a\n|", "nor is one in the last line");
	check_split("[\"a\n", "=[\"a\n|", "nor one with a quote that is not closed");
	check_split("[\"a'\"]\n", "a'=|", "a quote of the other sort is a part of the key");
	check_split("['a\"']\n", "a\"=|", "and the other way round");
	check_split("[\"a\\\\b\"]\n", "=[\"a\\\\b\"]\n|", "a key with an escape is no key");
	check_split("[]\nx\n", "=x\n|", "a header without keys is one");
	check_split("x = [\n [1, 2],\n [3]]\n[b]\n", "=x = [\n [1, 2],\n [3]]\n|b=|",
		    "a line of an array is no header");
	check_split("x\n[[l]]\ny\n[b]\n", "=x\n|=y\n|b=|", "a list ends the table before it");
	check_split("[a]\n[[l]\ny\n", "a=[[l]\ny\n|", "half a list does not");
	check_split("[a]\nx = [\n[[1],\n[2]]]\ny\n", "a=x = [\n[[1],\n[2]]]\ny\n|",
		    "nor an array in an array that ends on a later line");
}

static void check_get(const char *toml, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(toml_table_fini) struct toml_table t = {0};
	CLEANUP(free) char *got = NULL;
	size_t at = 0;

	str_adds(&text, toml);
	if (!toml_next_table(&text, &at, &t))
		abort();
	got = toml_get(&text, &t, "k");
	is_str(got, want, "%s", name);
}

static void test_values(void)
{
	check_get("k=1", "1", "a number may end the file");
	check_get("k = 1 # x\n", "1", "a comment ends a number");
	check_get("k\t=\t1\t\n", "1", "tabs are blanks");
	check_get("k = 1\r\n", "1", "a line may end as on DOS");
	check_get("k = \"\"\n", "", "a string may be empty");
	check_get("k = \"a # 'b\" # x\n", "a # 'b", "a string may have the sign of a comment");
	check_get("k = 'a \"b'\n", "a \"b", "a string may have the other quote");
	check_get("\"k\" = 1\n", "1", "a key may be in quotes");
	check_get("  k = 1\n", "1", "a line may be indented");
	check_get("k.x = 1\nk = 2\n", "2", "a dotted key is another key");
	check_get("# k = 1\nk = 2\n", "2", "a comment has no key");
	check_get("k 1\nk = 2\n", "2", "a key has a sign after it");
	check_get("k = 1\nk = 2\n", "1", "the first of two counts");
	check_get("[t]\nk = 1\n", "1", "a table with a header has its keys");
	check_get("x = 1\n[t]\nk = 1\n", NULL, "a key of the next table is not of this one");
	check_get("k = \"a", NULL, "a string without an end is no value");
	check_get("k = \"a\n[b]\n", NULL, "nor is one that would end on a later line");
	check_get("k =", "", "a file that ends before a value has an empty one");
}

static void test_set_at_end(void)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(toml_table_fini) struct toml_table t = {0};
	size_t at = 0;

	str_adds(&text, "[a]");
	if (!toml_next_table(&text, &at, &t))
		abort();
	toml_set(&text, &t, "k", "v");
	is_str(text.buf, "[a]\n  k = \"v\"\n", "a key after a header without an end has its line");
}

/* A text that is a part of a longer one. */
static void test_end(void)
{
	struct str text = {.buf = (char *)"a = 1\n[b]\n", .len = 4};
	struct toml_table t = {0};
	size_t at = 0;

	ok(toml_next_table(&text, &at, &t), "a part of a text has its first table");
	is_int((int64_t)t.to, 4, "which ends where the part ends");
	ok(!toml_next_table(&text, &at, &t), "nothing is read after it");
	is_int((int64_t)t.to, 4, "the last table is untouched then");
	toml_table_fini(&t);
	is_int((int64_t)(t.count + t.to), 0, "a freed table is empty");
}

int main(void)
{
	test_headers();
	test_values();
	test_set_at_end();
	test_end();
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
