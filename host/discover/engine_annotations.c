// SPDX-License-Identifier: Apache-2.0
/* What engines and Kubernetes write beside a container, as keys and values. */
#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "dfg/compiler.h"
#include "discover/engine_names.h"

/* containerd internal/cri/annotations; CRI-O and Docker's shim of Kubernetes have the kubelet's own
 * labels (kubernetes pkg/kubelet/types/labels.go); nerdctl pkg/labels. */
static const char *const name_keys[] = {
	"io.kubernetes.cri.container-name",
	"io.kubernetes.container.name",
	"nerdctl/name",
};
static const char *const pod_keys[] = {
	"io.kubernetes.cri.sandbox-name",
	"io.kubernetes.pod.name",
};
static const char *const space_keys[] = {
	"io.kubernetes.cri.sandbox-namespace",
	"io.kubernetes.pod.namespace",
	"nerdctl/namespace",
};
static const struct {
	const char *key, *value;
} pause_notes[] = {
	{"io.kubernetes.cri.container-type", "sandbox"},
	{"io.kubernetes.cri-o.ContainerType", "sandbox"},
	{"io.kubernetes.docker.type", "podsandbox"},
};

bool names_valid(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len > 255 || !isalnum((unsigned char)text[0]))
		return false;
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	return true;
}

static void take(const json_t *notes, const char *const *keys, size_t n, char *ret, size_t size)
{
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_object_get(notes, keys[i]));

		if (text && names_valid(text)) {
			memcpy(ret, text, strlen(text) + 1 < size ? strlen(text) + 1 : size);
			return;
		}
	}
}

void names_add_notes(struct names *n, const json_t *notes)
{
	take(notes, name_keys, ARRAY_LEN(name_keys), n->name, sizeof(n->name));
	take(notes, pod_keys, ARRAY_LEN(pod_keys), n->pod, sizeof(n->pod));
	take(notes, space_keys, ARRAY_LEN(space_keys), n->space, sizeof(n->space));
	for (size_t i = 0; i < ARRAY_LEN(pause_notes); i++) {
		const char *is = json_string_value(json_object_get(notes, pause_notes[i].key));

		n->is_pause |= is && !strcmp(is, pause_notes[i].value);
	}
}
