// SPDX-License-Identifier: Apache-2.0
/* Changes in the text of JSON: what is put in, where, and that it comes out without a trace. */
#include "lib/tap.h"
#include "oci/jsontext.h"

#define PATH(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_set(const char *text, const char *const *path, const char *want)
{
	CLEANUP(str_fini) struct str s = {0};

	str_adds(&s, text);
	is_int(json_text_set(&s, path, "7"), want ? 0 : -1, "%s", text);
	is_str(s.buf, want ? want : text, "as it should be");
}

static void check_nul(void)
{
	static const char text[] = "{\"a\":true\0}";
	CLEANUP(str_fini) struct str s = {0};

	str_add(&s, text, sizeof(text) - 1);
	ok(json_text_set(&s, PATH("k"), "7") < 0 && s.len == sizeof(text) - 1,
	   "a text with a NUL is none, although jansson reads it");
}

static void test_set(void)
{
	check_set("{}", PATH("k"), "{\"k\":7}");
	check_set("{\"a\":1}", PATH("k"), "{\"k\":7,\"a\":1}");
	check_set("{\n  \"a\": 1\n}\n", PATH("k"), "{\n  \"k\": 7,\n  \"a\": 1\n}\n");
	check_set("{\"k\" : \"old\"}", PATH("k"), "{\"k\" : 7}");
	check_set("{\"o\":null}", PATH("o", "k"), "{\"o\":{\"k\":7}}");
	check_set("{\"o\":{\"a\":{}}}", PATH("o", "p", "k"), "{\"o\":{\"p\":{\"k\":7},\"a\":{}}}");
	check_set("{\"a\\\"b\":1}", PATH("k"), NULL);
	check_set("{\"k\":1,\"k\":2}", PATH("k"), NULL);
	check_set("{\"o\":[]}", PATH("o", "k"), NULL);
	check_set("[]", PATH("k"), NULL);
	check_set("{} {}", PATH("k"), NULL);
	check_nul();
	check_set("{\"a\":1,}", PATH("k"), NULL);
}

static void check_member(const char *text, const char *const *path)
{
	CLEANUP(str_fini) struct str s = {0};
	struct json_span span;

	str_adds(&s, text);
	if (json_text_set(&s, path, "{\"x\": [1, {}]}") < 0 ||
	    json_text_get(&s, path, &span) != 1 || json_text_remove(&s, path) != 1)
		abort();
	is_str(s.buf, text, "set and removed");
	is_int(json_text_remove(&s, path), 0, "and gone");
}

static void check_element(const char *text, const char *const *path, size_t number)
{
	CLEANUP(str_fini) struct str s = {0};
	struct json_span span;

	str_adds(&s, text);
	if (json_text_append(&s, path, "\"end\"") < 0 ||
	    json_text_get_element(&s, path, number, &span) != 1)
		abort();
	ok(span.to - span.from == 5 && !memcmp(s.buf + span.from, "\"end\"", 5),
	   "the appended element is the last one");
	if (json_text_remove_element(&s, path, number) != 1)
		abort();
	is_str(s.buf, text, "appended and removed");
}

static void test_inverse(void)
{
	check_member("{}", PATH("k"));
	check_member("{ \n}", PATH("k"));
	check_member("{\"a\":1}", PATH("k"));
	check_member("{ \"a\" : 1 , \"b\":2 }", PATH("k"));
	check_member("{\n\t\"o\": {\n\t\t\"a\": {}\n\t}\n}\n", PATH("o", "k"));
	check_element("{\"l\":[]}", PATH("l"), 0);
	check_element("{\"l\":[ ]}", PATH("l"), 0);
	check_element("{\"l\":[1,\"a\"]}", PATH("l"), 2);
	check_element("{\"l\": [\n  1,\n  [2]\n ]}", PATH("l"), 2);
}

static void test_remove(void)
{
	CLEANUP(str_fini) struct str s = {0};

	str_adds(&s, "{\"a\":1, \"l\":[1, 2, 3], \"e\":[ ], \"z\":{}}");
	is_int(json_text_remove_element(&s, PATH("l"), 0), 1, "the first element");
	is_int(json_text_remove_element(&s, PATH("l"), 1), 1, "the last one");
	is_int(json_text_remove_element(&s, PATH("l"), 1), 0, "one that is not there");
	is_str(s.buf, "{\"a\":1, \"l\":[ 2], \"e\":[ ], \"z\":{}}",
	       "two of three elements are removed");
	is_int(json_text_remove_empty(&s, PATH("l")), 0, "not empty");
	is_int(json_text_remove_empty(&s, PATH("e")), 1, "empty");
	is_int(json_text_remove(&s, PATH("z")), 1, "the last member");
	is_str(s.buf, "{\"a\":1, \"l\":[ 2]}", "the empty list and the last member are removed");
	is_int(json_text_remove(&s, PATH("a", "b")), -1, "below a number");
	is_int(json_text_remove(&s, PATH("b", "c")), 0, "below nothing");
}

/* The text at a path, "" if it is missing, or NULL. */
static char *text_at(const struct str *s, const char *const *path)
{
	struct json_span span = {7, 7};
	int rc = json_text_get(s, path, &span);

	if (rc <= 0 && (span.from != 7 || span.to != 7))
		abort();
	return rc < 0 ? NULL : xstrndup(s->buf + span.from, rc ? span.to - span.from : 0);
}

static void test_get(void)
{
#define VALUES                                                                                     \
	" { \"n\" : -1.5e3 ,\"t\":true,\"s\":\"a,]}\\\"\\\\\",\"o\":{\"a\":[1,{\"x\":\"]\"}]},"    \
	"\"l\":[ 1 ,\"b\"\t, null ] ,\"z\":null } "
	static const struct {
		const char *const path[4];
		const char *value;
	} rows[] = {
		{{NULL},
		 "{ \"n\" : -1.5e3 ,\"t\":true,\"s\":\"a,]}\\\"\\\\\",\"o\":{\"a\":[1,{"
		 "\"x\":\"]\"}]},\"l\":[ 1 ,\"b\"\t, null ] ,\"z\":null }"},
		{{"n"}, "-1.5e3"},
		{{"t"}, "true"},
		{{"s"}, "\"a,]}\\\"\\\\\""},
		{{"o"}, "{\"a\":[1,{\"x\":\"]\"}]}"},
		{{"o", "a"}, "[1,{\"x\":\"]\"}]"},
		{{"z"}, "null"},
		{{"z", "a"}, ""},
		{{"a"}, ""},
		{{"o", "n"}, ""},
		{{"x", "y", "z"}, ""},
		{{"t", "a"}, NULL},
		{{"o", "a", "x"}, NULL},
	};
	static const char *const elements[] = {"1", "\"b\"", "null", ""};
	CLEANUP(str_fini) struct str s = {0};

	str_adds(&s, VALUES);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *got = text_at(&s, rows[i].path);

		is_str(got, rows[i].value, "path %zu leads to its value", i);
	}
	for (size_t i = 0; i < ARRAY_LEN(elements); i++) {
		struct json_span span = {0};
		int rc = json_text_get_element(&s, PATH("l"), i, &span);
		CLEANUP(free) char *got = xstrndup(s.buf + span.from, span.to - span.from);

		is_int(rc, elements[i][0] != '\0', "element %zu is %s", i,
		       elements[i][0] ? "found" : "missing");
		is_str(got, elements[i], "element %zu is right", i);
	}
	{
		struct json_span span;

		is_int(json_text_get_element(&s, PATH("z"), 0, &span), 0, "null has no element");
		is_int(json_text_get_element(&s, PATH("q"), 0, &span), 0,
		       "what is missing has none");
		is_int(json_text_get_element(&s, PATH("o"), 0, &span), -1, "an object has none");
		is_int(json_text_get_element(&s, PATH("n"), 0, &span), -1, "a number has none");
	}
}

static void test_string(void)
{
	CLEANUP(str_fini) struct str s = {0};
	struct json_span span;

	str_adds(&s, "{\"a\":\"x\\\"y\",\"b\":7,\"e\":\"\"}");
	ok(json_text_get(&s, PATH("a"), &span) == 1, "a string is found");
	CLEANUP(free) char *a = json_text_string(&s, &span);
	is_str(a, "x\\\"y", "it comes without quotes, with its escapes");
	ok(json_text_get(&s, PATH("e"), &span) == 1, "an empty string is found");
	CLEANUP(free) char *e = json_text_string(&s, &span);
	is_str(e, "", "it is empty");
	ok(json_text_get(&s, PATH("b"), &span) == 1 && !json_text_string(&s, &span),
	   "a number is no string");
}

static void test_append(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"{}", "{\"l\":[7]}"},
		{"{\"l\":null}", "{\"l\":[7]}"},
		{"{\"l\":[]}", "{\"l\":[7]}"},
		{"{\"l\":[ ]}", "{\"l\":[7 ]}"},
		{"{\"l\":[1]}", "{\"l\":[1,7]}"},
		{"{\"l\":[1, 2]}", "{\"l\":[1, 2, 7]}"},
		{"{\"l\":[\n 1,\n 2\n]}", "{\"l\":[\n 1,\n 2,\n 7\n]}"},
		{"{\"l\":{}}", NULL},
		{"{\"l\":1}", NULL},
		{"[]", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(str_fini) struct str s = {0};

		str_adds(&s, rows[i].text);
		is_int(json_text_append(&s, PATH("l"), "7"), rows[i].want ? 0 : -1,
		       "an element is %s, text %zu", rows[i].want ? "appended" : "refused", i);
		is_str(s.buf, rows[i].want ? rows[i].want : rows[i].text, "the text is right");
	}
}

static void test_cut(void)
{
	static const struct {
		const char *key, *want;
	} rows[] = {
		{"a", "{ \"b\" : [ ] , \"c\":{\n} }"},
		{"b", "{ \"a\" : 1 , \"c\":{\n} }"},
		{"c", "{ \"a\" : 1 , \"b\" : [ ]  }"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(str_fini) struct str s = {0};

		str_adds(&s, "{ \"a\" : 1 , \"b\" : [ ] , \"c\":{\n} }");
		is_int(json_text_remove_empty(&s, PATH(rows[i].key)), i > 0, "member %s is %s",
		       rows[i].key, i ? "empty" : "not empty");
		if (i == 0)
			is_int(json_text_remove(&s, PATH("a")), 1, "it is removed all the same");
		is_str(s.buf, rows[i].want, "the text is right without %s", rows[i].key);
	}
}

static void test_object(void)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {{"{}", true},
		    {" {\"a\":18446744073709551616} ", true},
		    {"[]", false},
		    {"7", false},
		    {"", false},
		    {"{\"a\":1,\"a\":2}", false},
		    {"{\"a\\u0000\":\"\\u0000\"}", false},
		    {"{\"a\":\"\\u0000\"}", true}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(str_fini) struct str s = {0};

		str_adds(&s, rows[i].text);
		is_int(json_text_is_object(&s), rows[i].good, "'%s' is %s", rows[i].text,
		       rows[i].good ? "an object" : "none");
	}
}

int main(void)
{
	test_get();
	test_string();
	test_append();
	test_cut();
	test_object();
	test_set();
	test_inverse();
	test_remove();
	return tap_done();
}
