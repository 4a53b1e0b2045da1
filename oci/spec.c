// SPDX-License-Identifier: Apache-2.0
#include "oci/spec.h"

#include "oci/conf.h"
#include "oci/jsontext.h"

#define PROGRAM "/dfg-hook"
#define NAME	"JAVA_TOOL_OPTIONS="
#define FLAG	"DebugNonSafepoints"
#define FLAGS	"-XX:+UnlockDiagnosticVMOptions -XX:+" FLAG

/* Seconds, longer than any budget: a hook that reaches it stops the container. */
#define TIMEOUT ((int)(CONF_BUDGET_MS_MAX / 1000) + 30)
#define NONE (-1)

/* Members are inserted at the front: the last of these comes first in a text without hooks. */
static const char *const ours[] = {"poststop", "createRuntime"};
static const char *const stages[] = {"prestart",       "createRuntime", "createContainer",
				     "startContainer", "poststart",	"poststop"};
static const char *const hooks_path[] = {"hooks", NULL};
static const char *const env_path[] = {"process", "env", NULL};

/* ---- hooks ---- */

char *oci_spec_hook(const char *program, const char *root)
{
	json_t *args = json_pack(root ? "[sss]" : "[s]", "dfg-hook", "--root", root), *hook;
	char *text;

	/* The environment must not be empty: without one, runtimes give the hook theirs, or even
	 * the container's (runc before 1.3). */
	hook = json_pack("{s:s, s:o, s:[s], s:i}", "path", program, "args", args, "env", "DFG=1",
			 "timeout", TIMEOUT);
	text = json_dumps(hook, JSON_COMPACT);
	json_decref(hook);
	return text;
}

static bool all_objects(const json_t *list)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (!json_is_object(entry))
			return false;
	}
	return true;
}

/* True if it has nothing but hooks where hooks are. */
static bool is_valid(const json_t *spec)
{
	bool valid = spec;

	for (size_t i = 0; valid && i < ARRAY_LEN(stages); i++)
		valid = all_objects(json_object_get(json_object_get(spec, "hooks"), stages[i]));
	return valid;
}

/* Returns the index of the stage's first entry with this program (NULL: any dfg-hook), or NONE. */
static int find_entry(const json_t *spec, const char *stage, const char *program)
{
	const json_t *list = json_object_get(json_object_get(spec, "hooks"), stage), *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		const char *path = json_string_value(json_object_get(entry, "path"));

		if (path && (program ? !strcmp(path, program) : has_suffix(path, PROGRAM)))
			return (int)i;
	}
	return NONE;
}

int oci_spec_add_hook(struct str *text, const char *program, const char *root, struct err *err)
{
	CLEANUP(json_decref) json_t *spec = json_text_parse(text);
	CLEANUP(free) char *hook = oci_spec_hook(program, root);
	CLEANUP(str_fini) struct str t = {0};
	bool good = is_valid(spec), added = false;

	if (!hook)
		return err_set(err, 0, "a path of the hook is not UTF-8");
	str_add(&t, text->buf ? text->buf : "", text->len);
	for (size_t i = 0; good && i < ARRAY_LEN(ours); i++) {
		const char *const path[] = {"hooks", ours[i], NULL};

		if (find_entry(spec, ours[i], program) != NONE)
			continue;
		good = json_text_append(&t, path, hook) == 0;
		added = true;
	}
	if (!good)
		return err_set(err, 0, "unexpected JSON at hooks");
	if (added) {
		struct str old = *text;

		*text = t;
		t = old;
	}
	return added;
}

/* Removes one dfg-hook. */
static int remove_entry(struct str *text, const char *stage)
{
	CLEANUP(json_decref) json_t *spec = json_text_parse(text);
	const char *const path[] = {"hooks", stage, NULL};
	int entry = find_entry(spec, stage, NULL);

	if (entry == NONE)
		return is_valid(spec) ? 0 : -1;
	if (json_text_remove_element(text, path, (size_t)entry) < 0 ||
	    json_text_remove_empty(text, path) < 0)
		return -1;
	return 1;
}

int oci_spec_remove_hook(struct str *text, struct err *err)
{
	int removed = 0, rc = 0;

	for (size_t i = 0; rc >= 0 && i < ARRAY_LEN(stages); i++)
		while ((rc = remove_entry(text, stages[i])) > 0)
			removed = 1;
	if (rc >= 0 && removed)
		rc = json_text_remove_empty(text, hooks_path);
	return rc < 0 ? err_set(err, 0, "unexpected JSON at hooks") : removed;
}

char *oci_spec_find_hook(const struct str *text)
{
	CLEANUP(json_decref) json_t *spec = json_text_parse(text);
	const json_t *hooks = json_object_get(spec, "hooks");

	for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
		int entry = find_entry(spec, stages[i], NULL);
		const json_t *list = json_object_get(hooks, stages[i]);

		if (entry >= 0)
			return xstrdup(json_string_value(
				json_object_get(json_array_get(list, (size_t)entry), "path")));
	}
	return NULL;
}

/* ---- flags for JVMs, from their start ---- */

/* Finds JAVA_TOOL_OPTIONS: 1, 0 without process or variable, -1. Two of them are an error too,
 * since runtimes differ in which one they use. */
static int find_variable(const struct str *text, size_t *ret_index, struct json_span *ret)
{
	CLEANUP(json_decref) json_t *spec = json_text_parse(text);
	const json_t *env = json_object_get(json_object_get(spec, "process"), "env"), *entry;
	int found = 0;
	size_t i;

	json_array_foreach(env, i, entry)
	{
		const char *value = json_string_value(entry);

		if (value && has_prefix(value, NAME)) {
			*ret_index = i;
			found++;
		}
	}
	if (!spec || found > 1)
		return -1;
	return found ? json_text_get_element(text, env_path, *ret_index, ret) : 0;
}

static bool has_process(const struct str *text)
{
	CLEANUP(json_decref) json_t *spec = json_text_parse(text);

	return !spec || json_object_get(spec, "process");
}

static bool ends_with(const struct str *text, const struct json_span *span, const char *end)
{
	size_t len = strlen(end);

	return span->to - span->from >= len && !memcmp(text->buf + span->to - len, end, len);
}

int oci_spec_add_early(struct str *text, struct err *err)
{
	struct json_span variable;
	size_t index;
	int rc = find_variable(text, &index, &variable);

	if (!has_process(text))
		return 0;
	if (rc == 0) {
		rc = json_text_append(text, env_path, "\"" NAME FLAGS "\"") < 0 ? -1 : 1;
	} else if (rc > 0) {
		size_t end = variable.to - 1;

		/* Whoever made the container decided on the flag. */
		if (memmem(text->buf + variable.from, end - variable.from, FLAG, strlen(FLAG)))
			return 0;
		/* With a space also after nothing: an empty variable is not one of ours. */
		json_text_replace(text, (struct json_span){end, end}, " " FLAGS);
	}
	return rc < 0 ? err_set(err, 0, "unexpected JSON at process.env") : rc;
}

int oci_spec_remove_early(struct str *text, struct err *err)
{
	static const char end[] = " " FLAGS "\"";
	struct json_span variable;
	size_t index;
	int rc = find_variable(text, &index, &variable);

	if (rc > 0 && ends_with(text, &variable, "\"" NAME FLAGS "\"")) {
		rc = json_text_remove_element(text, env_path, index);
	} else if (rc > 0 && ends_with(text, &variable, end)) {
		json_text_replace(
			text, (struct json_span){variable.to - strlen(end), variable.to - 1}, "");
	} else if (rc > 0) {
		rc = 0;
	}
	return rc < 0 ? err_set(err, 0, "unexpected JSON at process.env") : rc;
}

bool oci_spec_is_early(const struct str *text)
{
	struct json_span variable;
	size_t index;

	return find_variable(text, &index, &variable) > 0 && ends_with(text, &variable, FLAGS "\"");
}
