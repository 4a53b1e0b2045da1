// SPDX-License-Identifier: Apache-2.0
#include "oci/spec.h"

#include <jansson.h>

#include "oci/jsontext.h"

/* Members go in at the front: the last of these is the first in a text without hooks. */
static const char *const ours[] = {"poststop", "createRuntime"};
static const char *const stages[] = {"prestart",       "createRuntime", "createContainer",
				     "startContainer", "poststart",	"poststop"};

char *oci_spec_hook(const char *program, const char *root)
{
	json_t *args = json_pack("[s]", "dfg-hook"), *hook;
	char *text;

	if (root) {
		json_array_append_new(args, json_string("--root"));
		json_array_append_new(args, json_string(root));
	}
	/* The environment must not be empty: without one, runtimes give the hook theirs, or even
	 * the container's (runc before 1.3). The time limit is a last resort: a hook that runs into
	 * it stops the container; ours ends by itself long before. */
	hook = json_pack("{s:s, s:o, s:[s], s:i}", "path", program, "args", args, "env", "DFG=1",
			 "timeout", 5);
	text = json_dumps(hook, JSON_COMPACT);
	json_decref(hook);
	return text ? text : xstrdup("null");
}

/* The number of the stage's first entry whose program is this one, or ends like this. Returns 1, 0
 * or -1. */
static int find_entry(const struct str *text, const char *stage, const char *program,
		      const char *end, size_t *ret, struct json_span *ret_path)
{
	const char *const path[] = {"hooks", stage, NULL};
	struct json_span entry, value;
	int rc;

	for (size_t i = 0; (rc = json_text_element(text, path, i, &entry)) > 0; i++) {
		int has = json_text_member(text, &entry, "path", &value);

		if (has < 0)
			return -1;
		if (has && (program ? json_text_is(text, &value, program)
				    : json_text_ends(text, &value, end))) {
			*ret = i;
			*ret_path = value;
			return 1;
		}
	}
	return rc;
}

static int add_to_stage(struct str *text, const char *stage, const char *program, const char *hook)
{
	struct json_span path;
	size_t number;
	int rc = find_entry(text, stage, program, NULL, &number, &path);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return json_text_append(text, (const char *const[]){"hooks", stage, NULL}, hook) < 0 ? -1
											     : 1;
}

int oci_spec_add_hook(struct str *text, const char *program, const char *root, struct err *err)
{
	CLEANUP(free) char *hook = oci_spec_hook(program, root);
	json_t *string = json_string(program);
	CLEANUP(free) char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
	CLEANUP(str_fini) struct str t = {0};
	int added = 0, rc = quoted ? 0 : -1;

	json_decref(string);
	str_add(&t, text->buf ? text->buf : "", text->len);
	for (size_t i = 0; rc >= 0 && i < ARRAY_LEN(ours); i++) {
		rc = add_to_stage(&t, ours[i], quoted, hook);
		added |= rc;
	}
	if (rc < 0)
		return err_set(err, 0, "its hooks are not understood");
	if (added) {
		struct str old = *text;

		*text = t;
		t = old;
	}
	return added;
}

static int remove_from_stage(struct str *text, const char *stage)
{
	const char *const path[] = {"hooks", stage, NULL};
	struct json_span value;
	size_t number;
	int removed = 0, rc;

	while ((rc = find_entry(text, stage, NULL, "/dfg-hook", &number, &value)) > 0) {
		if (json_text_remove_element(text, path, number) < 0)
			return -1;
		removed = 1;
	}
	if (rc == 0 && removed)
		rc = json_text_remove_empty(text, path);
	return rc < 0 ? -1 : removed;
}

int oci_spec_remove_hook(struct str *text, struct err *err)
{
	const char *const hooks[] = {"hooks", NULL};
	int removed = 0, rc = 0;

	for (size_t i = 0; rc >= 0 && i < ARRAY_LEN(stages); i++) {
		rc = remove_from_stage(text, stages[i]);
		removed |= rc;
	}
	if (rc >= 0 && removed)
		rc = json_text_remove_empty(text, hooks);
	return rc < 0 ? err_set(err, 0, "its hooks are not understood") : removed;
}

char *oci_spec_find_hook(const struct str *text)
{
	struct json_span path;
	size_t number;

	for (size_t i = 0; i < ARRAY_LEN(stages); i++)
		if (find_entry(text, stages[i], NULL, "/dfg-hook", &number, &path) > 0)
			return json_text_string(text, &path);
	return NULL;
}
