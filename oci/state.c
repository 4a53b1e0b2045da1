// SPDX-License-Identifier: Apache-2.0
#include "oci/state.h"

#include <limits.h>

#include "common/str.h"

#define PID_LIMIT (1 << 22) /* PID_MAX_LIMIT of 64-bit kernels */

bool oci_id_valid(const char *id)
{
	static const char first[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t len = strlen(id);

	if (len == 0 || len > OCI_ID_MAX || !strchr(first, id[0]))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!strchr(first, id[i]) && !strchr("_.+-", id[i]))
			return false;
	return true;
}

bool oci_path_valid(const char *path)
{
	size_t len = strlen(path);

	if (path[0] != '/' || len >= PATH_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return false;
	return true;
}

/* Only strings are kept: the annotations go into state.json as they are. */
static json_t *take_notes(const json_t *notes)
{
	json_t *copy = json_is_object(notes) ? json_object() : NULL;
	const char *key;
	json_t *value;

	if (!copy)
		return NULL;
	json_object_foreach((json_t *)notes, key, value) if (json_is_string(value))
		json_object_set(copy, key, value);
	return copy;
}

static enum hook_reason take_pid(const json_t *pid, struct oci_state *s, struct err *err)
{
	json_int_t n;

	if (s->stopped)
		return HOOK_NONE;
	n = json_integer_value(pid); /* 0 for anything that is no integer */
	if (n <= 1 || n > PID_LIMIT) {
		err_set(err, 0, "the state has no pid of a container");
		return HOOK_SKIP_STATE;
	}
	s->pid = (pid_t)n;
	return HOOK_NONE;
}

static enum hook_reason take_bundle(const json_t *bundle, bool need, struct oci_state *s,
				    struct err *err)
{
	const char *path = json_string_value(bundle);

	if (path && oci_path_valid(path)) {
		s->bundle = xstrdup(path);
	} else if (path || (need && !s->stopped)) {
		err_set(err, 0, "the state has no bundle");
		return HOOK_SKIP_STATE;
	}
	return HOOK_NONE;
}

static enum hook_reason take_state(const json_t *o, bool need_bundle, struct oci_state *s,
				   struct err *err)
{
	const char *id = json_string_value(json_object_get(o, "id"));
	const char *status = json_string_value(json_object_get(o, "status"));
	enum hook_reason reason;

	if (!id || !oci_id_valid(id)) {
		err_set(err, 0, "the state has no usable id");
		return HOOK_SKIP_ID;
	}
	strcpy(s->id, id);
	s->stopped = status && !strcmp(status, "stopped");
	reason = take_pid(json_object_get(o, "pid"), s, err);
	if (reason == HOOK_NONE)
		reason = take_bundle(json_object_get(o, "bundle"), need_bundle, s, err);
	if (reason == HOOK_NONE)
		s->notes = take_notes(json_object_get(o, "annotations"));
	return reason;
}

enum hook_reason oci_state_parse(const char *text, size_t len, bool need_bundle,
				 struct oci_state *ret, struct err *err)
{
	json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	enum hook_reason reason;

	*ret = (struct oci_state){0};
	if (!json_is_object(o)) {
		json_decref(o);
		err_set(err, 0, "the state is not a JSON object");
		return HOOK_SKIP_STATE;
	}
	reason = take_state(o, need_bundle, ret, err);
	json_decref(o);
	return reason;
}

void oci_state_fini(struct oci_state *s)
{
	free(s->bundle);
	json_decref(s->notes);
	*s = (struct oci_state){0};
}
