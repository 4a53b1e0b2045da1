// SPDX-License-Identifier: Apache-2.0
#include "oci/select.h"

#include <string.h>

/* "*" stands for any text. Each star only ever has to be tried again from the last one on, so the
 * time is bounded by the product of the lengths. */
static bool is_like(const char *text, const char *pattern)
{
	const char *star = NULL, *behind = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			behind = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++behind;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool matches(const struct hook_rule *r, const json_t *notes)
{
	const char *value = json_string_value(json_object_get(notes, r->key));

	return value && is_like(value, r->pattern);
}

/* Whether a "never" speaks against it, or there are "only"s and none speaks for it. */
static const struct hook_rule *find_obstacle(const struct hook_conf *conf, const json_t *notes)
{
	const struct hook_rule *missed = NULL;
	bool met = false;

	for (unsigned i = 0; i < conf->rule_count; i++) {
		const struct hook_rule *r = &conf->rules[i];
		bool is = matches(r, notes);

		if (r->never && is)
			return r;
		if (!r->never && !is)
			missed = r;
		met |= !r->never && is;
	}
	return met ? NULL : missed;
}

enum hook_reason hook_select(const struct hook_conf *conf, bool asked, const json_t *notes,
			     struct err *err)
{
	const char *note = json_string_value(json_object_get(notes, "dfg.io/inject"));
	const struct hook_rule *rule = find_obstacle(conf, notes);

	if (note && !strcmp(note, "false"))
		err_set(err, 0, "annotation dfg.io/inject is false");
	else if (rule)
		err_set(err, 0, "%s = %s=%s in dfg.conf", rule->never ? "never" : "only", rule->key,
			rule->pattern);
	else if (conf->inject == HOOK_INJECT_NONE || (conf->inject == HOOK_INJECT_ANNOTATED &&
						      !asked && (!note || strcmp(note, "true"))))
		err_set(err, 0, "inject in dfg.conf");
	else
		return HOOK_NONE;
	return HOOK_SKIP_OPTOUT;
}
