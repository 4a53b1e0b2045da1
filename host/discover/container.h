/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that run on this host, whatever started them: found by the hook's records, by the
 * cgroups of the running processes, and by the engines' own processes. */
#ifndef DFG_DISCOVER_CONTAINER_H
#define DFG_DISCOVER_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "discover/engine_names.h"
#include "discover/handle.h"

struct container {
	char *id;	 /* the runtime's; of a process outside any container "pid-<n>" */
	char *name;	 /* the engine's, or the one in its pod; else the id */
	char *pod;	 /* Kubernetes' name of its pod; "": in none */
	char *namespace; /* the pod's, else containerd's; "": in none */
	char *label;	 /* container_label of session.h */
	pid_t pid;	 /* its first process, host pid; 0: it has ended */
	char *cgroup;	 /* line of its cgroup (cgroup.h); NULL: it has none of its own */
	uint64_t start;	 /* of that process, clock ticks since boot: not of a later one's */
	bool is_forged;	 /* its annotations or labels claim that it is another one */
	bool is_pause;	 /* holds a pod's namespaces, and runs nothing */
	bool hooked;	 /* the hook has a record of this very process */
	unsigned doubt;	 /* 0: an engine's monitor runs it; 1: none does; 2: its id is of a cgroup
			    below another container's, which may have made it */
	bool is_single;	 /* --pid of a process outside any container: this process alone */
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

/* Lists all containers of the host with a running process. `root` is dfg's directory. */
MUST_CHECK int containers_list(const char *root, struct containers *ret, struct err *err);
void containers_fini(struct containers *c);
void container_fini(struct container *c);

static inline void cleanup_containers_fini(struct containers *c)
{
	containers_fini(c);
}

/* Finds a container by, in this order: its id; a name, which is that of the engine or of
 * containerd's namespace ("web", "default/web"), of a pod ("web-1", "shop/web-1": all its
 * containers but the pause container), or of a container in a pod ("app", "shop/web-1/app"); a
 * component of its cgroup's path; the beginning of its id. The first rule that matches counts; if
 * it matches more than one container or pod, the result is CONTAINER_AMBIGUOUS. */
MUST_CHECK enum container_match containers_find(const char *root, const char *wanted,
						struct containers *ret, struct err *err);

/* The same among `all`, whose matches are moved; by_cgroup: also by the cgroups on this host. */
MUST_CHECK enum container_match containers_select(struct containers *all, const char *wanted,
						  bool by_cgroup, struct containers *ret,
						  struct err *err);

/* Sets the names, and builds the label. */
void container_set_names(struct container *c, const struct engine_names *names);

/* The label as a file name: "shop.web-1.app". Owned by the caller. */
char *container_file_name(const struct container *c);

/* The container of a process, or the process alone where it is in none. */
MUST_CHECK int container_of_pid(const char *root, pid_t pid, struct container *ret,
				struct err *err);

/* The cgroup in which perf can record all its processes, and those alone (cgroup_path). Owned;
 * NULL: there is none, or it is not mounted here. */
char *container_perf_cgroup(const struct container *c);

/* Opens the directory of its cgroup, or of the process's that stands for it, in the hierarchy of a
 * controller of v1, else, and with NULL, of v2. -1: it is the root, or not mounted here. */
int container_open_cgroup(const struct container *c, const char *controller, bool *ret_v1);

/* The line of a container's cgroup, by one of its processes; NULL if dfg runs in it, too (a runtime
 * that was told to make none). Owned. Asked when the container is found: later dfg's processes move
 * into cgroups of their own. */
char *container_own_cgroup(int procfd, const char *id);

/* Its processes: those in its cgroup or below, or, if it has none of its own, those in its pid
 * namespace. More than HANDLES_MAX are left out, with a warning. Fails
 * when its first process has ended, also when another one has its pid. */
MUST_CHECK int container_processes(const struct container *c, struct handles *ret, struct err *err);

#endif
