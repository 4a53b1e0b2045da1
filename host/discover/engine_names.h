/* SPDX-License-Identifier: Apache-2.0 */
/* The names that an engine and Kubernetes give a container, without asking the engine: from the
 * process of its own that it keeps beside each container, and the files which that process has.
 *
 *	containerd, Docker  containerd-shim-runc-v2 -namespace NS -id ID, in the bundle of ID or of
 *	                    its pod (containerd pkg/shim: Command, 1.2 and later); the bundles of a
 *	                    namespace lie side by side
 *	podman, CRI-O       conmon -c ID -n NAME -b BUNDLE (conmon(8))
 *
 * The bundle's config.json has annotations by Kubernetes' engines and nerdctl. Docker's names are
 *in its data directory (config.v2.json), which the bundle's mount of /etc/hostname tells; podman's
 * after a rename in containers.json beside the bundles. All of this belongs to root: what does not
 * is not looked at, so that no user names a container. */
#ifndef DFG_DISCOVER_ENGINE_NAMES_H
#define DFG_DISCOVER_ENGINE_NAMES_H

#include <stdbool.h>
#include <sys/types.h>

struct json_t; /* jansson.h */

/* "" where there is none. Each is a plain word: letters, digits, '.', '_', '-'. */
struct names {
	char name[256];	 /* the engine's, or the one in its pod */
	char pod[256];	 /* Kubernetes' name of the pod */
	char space[256]; /* the pod's namespace, else containerd's */
	bool is_pause;	 /* holds a pod's namespaces, and runs nothing */
};

/* Of the container with this id, one of whose processes is pid. */
void names_of(pid_t pid, const char *id, struct names *ret);

/* The id of the container whose first process pid is, by the shim that started it; false where none
 * did, or that of a pod, whose containers have ids of their own. */
bool names_shim_id(pid_t pid, char ret[static 256]);

/* Adds what annotations, or Docker's labels, tell. Pure; notes may be anything. */
void names_add_notes(struct names *n, const struct json_t *notes);

/* Whether the text is such a word. */
bool names_valid(const char *text);

#endif
