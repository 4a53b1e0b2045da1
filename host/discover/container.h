/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that run on this host, whatever started them: from the hook's records, from the
 * cgroups of the running processes, and from what the engines' own processes hold. */
#ifndef DFG_DISCOVER_CONTAINER_H
#define DFG_DISCOVER_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "discover/engine_names.h"

struct container {
	char *id;	/* as the runtime knows it; for a process outside any container "pid-<n>" */
	char *name;	/* the engine's, or the one in its pod; the id where there is no other */
	char *pod;	/* Kubernetes' name of its pod; "": in none */
	char *space;	/* the pod's namespace, else containerd's; "": in none */
	char *label;	/* as people know it: "web", "shop/web-1/app" */
	pid_t pid;	/* its first process, host pid; 0: it has ended */
	bool is_pause;	/* holds a pod's namespaces, and runs nothing */
	bool hooked;	/* the hook has a record of it for this very process */
	bool is_single; /* --pid of a process outside any container: this process and its threads */
};

struct containers {
	struct container *list;
	size_t count;
	size_t cap;
};

/* Result of a search by name. */
enum container_match {
	CONTAINER_FOUND,
	CONTAINER_NONE,
	CONTAINER_AMBIGUOUS, /* err names the candidates */
};

/* All containers of the host with a running process. `root` is dfg's directory. */
MUST_CHECK int containers_list(const char *root, struct containers *ret, struct err *err);
void containers_fini(struct containers *c);
void container_fini(struct container *c);

static inline void cleanup_containers_fini(struct containers *c)
{
	containers_fini(c);
}

/* By its id; by a name: that of the engine or of containerd's namespace ("web", "default/web"), of
 * a pod ("web-1", "shop/web-1"), which means all its containers but the pause container, or of a
 * container in a pod ("app", "shop/web-1/app"); by a part of its cgroup's path; by the beginning of
 * its id. The first of these four that meets counts; where it meets more than one container, or
 * pod, nothing is taken. */
MUST_CHECK enum container_match containers_find(const char *root, const char *wanted,
						struct containers *ret, struct err *err);

/* The same among those listed, but for the cgroups' paths. Moves what it finds. */
MUST_CHECK enum container_match containers_select(struct containers *all, const char *wanted,
						  struct containers *ret, struct err *err);

/* Gives the container these names, and the label that they make. */
void container_set_names(struct container *c, const struct names *names);

/* The label as a file's name: "shop.web-1.app". Owned by the caller. */
char *container_file_name(const struct container *c);

/* The container a process is in, or the process alone where it is in none. */
MUST_CHECK int container_of_pid(const char *root, pid_t pid, struct container *ret,
				struct err *err);

/* Host pids of its processes: those in the cgroup of its first process or below, or, where that
 * cgroup is not its own, those in its pid namespace. Freed by the caller. */
MUST_CHECK int container_pids(const struct container *c, pid_t **ret, size_t *ret_count,
			      struct err *err);

/* The container id in the text of /proc/PID/cgroup: the last path component of 64 hex digits, bare
 * or as engines wrap it ("docker-<id>.scope", "cri-containerd-<id>.scope", "libpod-<id>"). Pure.
 * False when there is none. */
bool cgroup_container_id(const char *cgroup, char ret[static 65]);

/* The line of /proc/PID/cgroup that tells the process's own cgroup apart best: the longest path.
 * ret has the hierarchy's field and path, "0::/a/b" without the leading number: ":/a/b" or
 * "memory:/a/b". Owned by the caller; NULL when all paths are "/". Pure. */
char *cgroup_own_line(const char *cgroup);

/* Whether the process with this cgroup text is in `own` (from cgroup_own_line) or below. Pure. */
bool cgroup_is_below(const char *cgroup, const char *own);

#endif
