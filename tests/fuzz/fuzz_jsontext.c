// SPDX-License-Identifier: Apache-2.0
/* Editing the text of JSON: what is set can be read, and removing it restores the text; the same
 * for JAVA_TOOL_OPTIONS in a specification, and for dfg's runtime in Docker's daemon.json. */
#include "oci/jsontext.h"

#include "fuzz/fuzz.h"
#include "oci/spec.h"
/* For what is static. */
#include "setup/docker.c"

static bool same(const struct str *a, const struct str *b)
{
	return a->len == b->len && memcmp(a->buf, b->buf, a->len) == 0;
}

static void copy(struct str *to, const struct str *from)
{
	str_clear(to);
	str_add(to, from->buf, from->len);
}

/* True if nothing but blanks can be different: a null that was replaced does not come back. */
static bool has_null(const struct str *text)
{
	return strstr(text->buf, "null") != NULL;
}

static void check_member(const struct str *before, const char *const *path)
{
	CLEANUP(str_fini) struct str text = {0};
	struct json_span span;
	int there = json_text_get(before, path, &span);

	copy(&text, before);
	if (json_text_set(&text, path, "[7]") < 0) {
		require(same(&text, before));
		return;
	}
	require(json_text_is_object(&text) && json_text_get(&text, path, &span) == 1);
	require(span.to - span.from == 3 && memcmp(text.buf + span.from, "[7]", 3) == 0);
	require(json_text_remove(&text, path) == 1 && json_text_is_object(&text));
	require(json_text_get(&text, path, &span) <= 0); /* a key with an escape stays */
	if (there == 0 && !path[1] && !has_null(before))
		require(same(&text, before));
}

static void check_element(const struct str *before, const char *const *path)
{
	CLEANUP(str_fini) struct str text = {0};
	struct json_span span;
	int there = json_text_get(before, path, &span);
	size_t n = 0;

	copy(&text, before);
	while (json_text_get_element(before, path, n, &span) == 1)
		n++;
	if (json_text_append(&text, path, "\"end\"") < 0) {
		require(same(&text, before));
		return;
	}
	require(json_text_is_object(&text));
	require(json_text_get_element(&text, path, n, &span) == 1 && span.to - span.from == 5);
	require(json_text_remove_element(&text, path, n) == 1);
	if (there == 1 && !has_null(before))
		require(same(&text, before));
}

static void check_early(const struct str *before)
{
	CLEANUP(str_fini) struct str text = {0};
	struct err err = {0};
	int rc;

	copy(&text, before);
	rc = oci_spec_add_early(&text, &err);
	require(rc >= 0 || (err.msg[0] && same(&text, before)));
	if (rc <= 0)
		return;
	require(oci_spec_is_early(&text) && oci_spec_add_early(&text, &err) == 0);
	require(oci_spec_remove_early(&text, &err) == 1 && json_text_is_object(&text));
}

static void check_docker(const struct str *before, bool opt_in)
{
	struct setup s = {.runtime = "/usr/local/libexec/dfg/dfg-runtime", .opt_in = opt_in};
	CLEANUP(str_fini) struct str text = {0};
	struct err err;

	copy(&text, before);
	if (add_runtime(&text, &s, &err) < 0)
		return;
	require(json_text_is_object(&text) && is_ours(&text) && (opt_in || is_usual(&text)));
	require(remove_runtime(&text, before->len ? before : NULL, &s, &err) == 0);
	require(!text.len || (json_text_is_object(&text) && !is_ours(&text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[][4] = {
		{"k"}, {"hooks"}, {"o", "k"}, {"hooks", "poststop"}, {"process", "env"}};
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *found = NULL;
	struct err err;

	str_add(&text, data, size);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		check_member(&text, paths[i]);
		check_element(&text, paths[i]);
	}
	check_early(&text);
	check_docker(&text, size & 1);
	found = oci_spec_find_hook(&text);
	if (oci_spec_remove_hook(&text, &err) >= 0 && found)
		require(json_text_is_object(&text));
	return 0;
}
