// SPDX-License-Identifier: Apache-2.0
/* Flags for JVMs from their first moment on, in the environment of a specification. */
#include "oci/jsontext.h"
#include "oci/spec.h"

#define NAME  "JAVA_TOOL_OPTIONS="
#define FLAG  "DebugNonSafepoints"
#define FLAGS "-XX:+UnlockDiagnosticVMOptions -XX:+" FLAG

static const char *const process_path[] = {"process", NULL};
static const char *const env_path[] = {"process", "env", NULL};

/* The variable, when it is there once: of several, runtimes do not agree which counts. Its quotes
 * are in the span. Returns 1, 0 or -1; -1 also for several. */
static int find_variable(const struct str *text, size_t *ret_number, struct json_span *ret)
{
	struct json_span entry;
	size_t found = 0;
	int rc;

	for (size_t i = 0; (rc = json_text_element(text, env_path, i, &entry)) > 0; i++) {
		if (entry.to - entry.from < strlen("\"" NAME "\"") ||
		    memcmp(text->buf + entry.from, "\"" NAME, strlen("\"" NAME)) != 0)
			continue;
		*ret_number = i;
		*ret = entry;
		found++;
	}
	return rc < 0 || found > 1 ? -1 : (int)found;
}

/* Whether it speaks of the flag, for or against it: whoever made the container decided. */
static bool speaks(const struct str *text, const struct json_span *s)
{
	return memmem(text->buf + s->from, s->to - s->from, FLAG, strlen(FLAG));
}

static bool is_empty(const struct json_span *s)
{
	return s->to - s->from == strlen("\"" NAME "\"");
}

int oci_spec_add_early(struct str *text, struct err *err)
{
	struct json_span process, variable = {0};
	size_t number;
	int rc = json_text_get(text, process_path, &process);

	if (rc == 0)
		return 0;
	if (rc > 0)
		rc = find_variable(text, &number, &variable);
	if (rc == 0)
		rc = json_text_append(text, env_path, "\"" NAME FLAGS "\"") < 0 ? -1 : 1;
	else if (rc > 0 && speaks(text, &variable))
		return 0;
	else if (rc > 0)
		json_text_put_in(text, variable.to - 1, is_empty(&variable) ? FLAGS : " " FLAGS);
	return rc < 0 ? err_set(err, 0, "its environment is not understood") : 1;
}

int oci_spec_remove_early(struct str *text, struct err *err)
{
	struct json_span process, variable;
	size_t number;
	int rc = json_text_get(text, process_path, &process);

	if (rc > 0)
		rc = find_variable(text, &number, &variable);
	if (rc > 0 && json_text_is(text, &variable, "\"" NAME FLAGS "\"")) {
		rc = json_text_remove_element(text, env_path, number);
	} else if (rc > 0 && json_text_ends(text, &variable, " " FLAGS)) {
		variable.from = variable.to - 1 - strlen(" " FLAGS);
		variable.to--;
		json_text_cut(text, &variable);
	} else {
		rc = rc < 0 ? -1 : 0;
	}
	return rc < 0 ? err_set(err, 0, "its environment is not understood") : rc;
}

bool oci_spec_is_early(const struct str *text)
{
	struct json_span variable;
	size_t number;

	return find_variable(text, &number, &variable) > 0 &&
	       json_text_ends(text, &variable, FLAGS);
}
