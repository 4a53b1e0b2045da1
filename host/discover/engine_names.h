/* SPDX-License-Identifier: Apache-2.0 */
/* The names that an engine and Kubernetes give a container, found without a request to the engine:
 * from the process that monitors the container, and the files of that process.
 *
 *	containerd, Docker  containerd-shim-runc-v2 -namespace NS -id ID, in the bundle of ID or of
 *	                    its pod (containerd pkg/shim: Command, 1.2 and later); the bundles of a
 *	                    namespace are in one directory
 *	podman, CRI-O       conmon -c ID -n NAME -b BUNDLE (conmon(8)); podman's has --exit-command
 *
 * Each engine is believed what it alone decides, and nothing that it passes on from users:
 *
 * - containerd's CRI (namespace k8s.io): the annotations io.kubernetes.cri.* of config.json, which
 *   it adds after the pod's (internal/cri/server/container_create.go).
 * - nerdctl, ctr (without those): nerdctl/name there, which nerdctl adds after the labels of the
 *   image and of its caller.
 * - Docker: the name in its data directory (config.v2.json), found by the bundle's mount of
 *   /etc/hostname; labels are the image's and the caller's.
 * - CRI-O: conmon's NAME; it adds the pod's annotations after its own
 *   (internal/factory/container/container.go, 1.28).
 * - podman: conmon's NAME, after a rename the one in containers.json beside the bundles; its caller
 *   may set every annotation (pkg/specgen/generate/container.go, 5.0).
 *
 * The kubelet's containers have names k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT in Docker and CRI-O,
 * whose parts have no '_'; CONTAINER is POD for the pause container. A container without a monitor
 * has no names. Files that do not belong to root are ignored, so that no user names a container. */
#ifndef DFG_DISCOVER_ENGINE_NAMES_H
#define DFG_DISCOVER_ENGINE_NAMES_H

#include <stdbool.h>
#include <sys/types.h>

#include "discover/engine_facts.h"

/* "" for an unknown name. Each is a plain word. */
struct engine_names {
	char name[256];	     /* the engine's, or the one in its pod */
	char pod[256];	     /* Kubernetes' name of the pod */
	char namespace[256]; /* the pod's, else containerd's */
	bool is_pause;	     /* holds a pod's namespaces, and runs nothing */
	bool is_monitored;   /* a process of an engine of this host runs it */
	bool is_forged;	     /* its annotations or labels claim other names than these */
};

/* Finds the names of the container with this id, one of whose processes is pid. */
void engine_names_find(struct engine_reader *r, pid_t pid, const char *id,
		       struct engine_names *ret);

/* Opens a file and parses it. False if it is no JSON, or if others than root can write it. */
bool engine_file_read(struct engine_reader *r, enum engine_file file, const char *id, int dirfd,
		      const char *path, struct engine_facts *ret);

/* Sets is_forged if a claim contradicts the names. */
void engine_names_compare(struct engine_names *n, const struct engine_facts *facts);

/* Finds the id of the container whose first process is pid, by the shim that started it. False for
 * other processes, and for the shim of a pod, whose containers have ids of their own. */
bool engine_shim_id(pid_t pid, char ret[static 256]);

#endif
