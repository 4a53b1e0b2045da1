// SPDX-License-Identifier: Apache-2.0
#include "discover/engine_facts.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "common/str.h"

#define DOCKER_DIR "/containers/"

/* containerd internal/cri/annotations; CRI-O and Docker's shim of Kubernetes have the kubelet's own
 * labels (kubernetes pkg/kubelet/types/labels.go); nerdctl pkg/labels. */
static const struct {
	const char *name, *pod, *namespace;
	struct {
		const char *key, *value;
	} pause[2];
} keys[KEYS_COUNT] = {
	[KEYS_CRI] = {"io.kubernetes.cri.container-name",
		      "io.kubernetes.cri.sandbox-name",
		      "io.kubernetes.cri.sandbox-namespace",
		      {{"io.kubernetes.cri.container-type", "sandbox"}}},
	[KEYS_KUBELET] = {"io.kubernetes.container.name",
			  "io.kubernetes.pod.name",
			  "io.kubernetes.pod.namespace",
			  {{"io.kubernetes.cri-o.ContainerType", "sandbox"},
			   {"io.kubernetes.docker.type", "podsandbox"}}},
	[KEYS_NERDCTL] = {"nerdctl/name", NULL, "nerdctl/namespace", {{NULL, NULL}}},
};

bool engine_name_is_valid(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len > 255 || !isalnum((unsigned char)text[0]))
		return false;
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	return true;
}

static const char *text_of(const json_t *o, const char *key)
{
	return key ? json_string_value(json_object_get(o, key)) : NULL;
}

static void copy_name(char ret[static 256], const char *text)
{
	if (text && engine_name_is_valid(text))
		memcpy(ret, text, strlen(text) + 1);
}

static void add_claims(struct engine_facts *f, const json_t *annotations)
{
	for (size_t i = 0; i < KEYS_COUNT; i++) {
		struct engine_claims *c = &f->claims[i];

		copy_name(c->name, text_of(annotations, keys[i].name));
		copy_name(c->pod, text_of(annotations, keys[i].pod));
		copy_name(c->namespace, text_of(annotations, keys[i].namespace));
		for (size_t k = 0; k < ARRAY_LEN(keys[i].pause); k++) {
			const char *value = text_of(annotations, keys[i].pause[k].key);

			c->is_pause |= value && !strcmp(value, keys[i].pause[k].value);
		}
	}
}

/* <data>/containers/<id>, beside the directory that its /etc/hostname is mounted from, which is
 * another container's if it shares that one's network. */
static void find_docker_dir(struct engine_facts *f, const json_t *config, const char *id)
{
	json_t *mount;
	size_t i;

	json_array_foreach(json_object_get(config, "mounts"), i, mount)
	{
		const char *to = text_of(mount, "destination"), *from = text_of(mount, "source");
		const char *at = NULL;
		int len;

		if (!to || !from || strcmp(to, "/etc/hostname") != 0 ||
		    !has_suffix(from, "/hostname"))
			continue;
		for (const char *p = from; (p = strstr(p, DOCKER_DIR)); p++)
			at = p;
		len = at ? snprintf(f->docker_dir, sizeof(f->docker_dir), "%.*s" DOCKER_DIR "%s",
				    (int)(at - from), from, id)
			 : 0;
		if (len < 0 || len >= (int)sizeof(f->docker_dir))
			f->docker_dir[0] = '\0';
		return;
	}
}

static void read_state(struct engine_facts *f, const json_t *state)
{
	const char *boot = text_of(state, "boot_id");

	f->pid = (pid_t)json_integer_value(json_object_get(state, "pid"));
	f->start = (uint64_t)json_integer_value(json_object_get(state, "start_time"));
	snprintf(f->boot_id, sizeof(f->boot_id), "%s", boot ? boot : "");
	add_claims(f, json_object_get(state, "annotations"));
}

static void read_docker(struct engine_facts *f, const json_t *known)
{
	const char *name = text_of(known, "Name");

	copy_name(f->name, name && *name == '/' ? name + 1 : name);
	add_claims(f, json_object_get(json_object_get(known, "Config"), "Labels"));
}

static void read_containers(struct engine_facts *f, const json_t *list, const char *id)
{
	json_t *at;
	size_t i;

	json_array_foreach(list, i, at)
	{
		const char *known = text_of(at, "id");

		if (known && !strcmp(known, id))
			copy_name(f->name, json_string_value(json_array_get(
						   json_object_get(at, "names"), 0)));
	}
}

bool engine_facts_parse(enum engine_file file, const char *id, const char *text, size_t len,
			struct engine_facts *ret)
{
	struct engine_facts f = {0};
	/* Limits in config.json are up to 2^64-1, which jansson does not accept as an integer. */
	json_t *json = json_loadb(
		text, len, file == ENGINE_STATE ? JSON_REJECT_DUPLICATES : JSON_DECODE_INT_AS_REAL,
		NULL);

	if (!json)
		return false;
	switch (file) {
	case ENGINE_STATE:
		read_state(&f, json);
		break;
	case ENGINE_CONFIG:
		add_claims(&f, json_object_get(json, "annotations"));
		find_docker_dir(&f, json, id);
		break;
	case ENGINE_DOCKER:
		read_docker(&f, json);
		break;
	case ENGINE_CONTAINERS:
		read_containers(&f, json, id);
		break;
	}
	json_decref(json);
	*ret = f;
	return true;
}
