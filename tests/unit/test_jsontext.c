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

int main(void)
{
	test_set();
	test_inverse();
	test_remove();
	return tap_done();
}
