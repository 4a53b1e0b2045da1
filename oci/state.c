// SPDX-License-Identifier: Apache-2.0
#include "oci/state.h"

#include <limits.h>

#include "oci/jsontext.h"

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

/* Copies the strings only: the annotations go into state.json. */
static json_t *copy_annotations(const json_t *annotations)
{
	json_t *copy = json_is_object(annotations) ? json_object() : NULL;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)annotations, key, value) if (json_is_string(value))
		json_object_set(copy, key, value);
	return copy;
}

static enum oci_state_result read_state(const json_t *o, bool need_bundle, struct oci_state *s,
					struct err *err)
{
	const char *id = json_string_value(json_object_get(o, "id"));
	const char *status = json_string_value(json_object_get(o, "status"));
	const char *bundle = json_string_value(json_object_get(o, "bundle"));
	json_int_t pid = json_integer_value(json_object_get(o, "pid")); /* 0: no integer */
	json_int_t start = json_integer_value(json_object_get(o, "start_time"));
	bool stopped = status && !strcmp(status, "stopped");

	if (!id || !oci_id_valid(id)) {
		err_set(err, 0, "the state has no valid id");
		return OCI_STATE_INVALID_ID;
	}
	strcpy(s->id, id);
	if (!stopped && (pid <= 1 || pid > PID_LIMIT)) {
		err_set(err, 0, "the state has no pid of a container");
		return OCI_STATE_INVALID;
	}
	if (bundle ? !oci_path_valid(bundle) : need_bundle && !stopped) {
		err_set(err, 0, "the state has no bundle");
		return OCI_STATE_INVALID;
	}
	s->stopped = stopped;
	s->pid = stopped ? 0 : (pid_t)pid;
	s->start_time = stopped ? 0 : (uint64_t)start;
	s->bundle = bundle ? xstrdup(bundle) : NULL;
	s->annotations = copy_annotations(json_object_get(o, "annotations"));
	return OCI_STATE_OK;
}

enum oci_state_result oci_state_parse(const char *text, size_t len, bool need_bundle,
				      struct oci_state *ret, struct err *err)
{
	CLEANUP(json_decref) json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);

	*ret = (struct oci_state){0};
	if (json_is_object(o))
		return read_state(o, need_bundle, ret, err);
	err_set(err, 0, "the state is not a JSON object");
	return OCI_STATE_INVALID;
}

void oci_state_fini(struct oci_state *s)
{
	free(s->bundle);
	json_decref(s->annotations);
	*s = (struct oci_state){0};
}
