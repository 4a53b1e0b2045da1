/* SPDX-License-Identifier: Apache-2.0 */
/* The names that an engine and Kubernetes give a container, found without a request to the engine:
 * from the process that monitors the container, and the files of that process.
 *
 *	containerd, Docker  containerd-shim-runc-v2 -namespace NS -id ID, in the bundle of ID or of
 *	                    its pod (containerd pkg/shim: Command, 1.2 and later); the bundles of a
 *	                    namespace are in one directory
 *	podman, CRI-O       conmon -c ID -n NAME -b BUNDLE (conmon(8))
 *
 * The bundle's config.json has annotations by Kubernetes' engines and nerdctl. Docker's names are
 * in its data directory (config.v2.json), which is found by the bundle's mount of /etc/hostname;
 * podman's after a rename in containers.json beside the bundles. Files that do not belong to root
 * are ignored, so that no user names a container. */
#ifndef DFG_DISCOVER_ENGINE_NAMES_H
#define DFG_DISCOVER_ENGINE_NAMES_H

#include <stdbool.h>
#include <sys/types.h>

struct json_t; /* jansson.h */

/* "" for an unknown name. Each is a plain word: letters, digits, '.', '_', '-'. */
struct engine_names {
	char name[256];	     /* the engine's, or the one in its pod */
	char pod[256];	     /* Kubernetes' name of the pod */
	char namespace[256]; /* the pod's, else containerd's */
	bool is_pause;	     /* holds a pod's namespaces, and runs nothing */
};

/* Finds the names of the container with this id, one of whose processes is pid. */
void engine_names_find(pid_t pid, const char *id, struct engine_names *ret);

/* Adds the names in annotations or in Docker's labels. Pure; the JSON may be anything. */
void engine_names_add_annotations(struct engine_names *n, const struct json_t *annotations);

/* Finds the id of the container whose first process is pid, by the shim that started it. False for
 * other processes, and for the shim of a pod, whose containers have ids of their own. */
bool engine_shim_id(pid_t pid, char ret[static 256]);

/* True for a plain word. */
bool engine_name_is_valid(const char *text);

#endif
