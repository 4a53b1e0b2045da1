/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/PID/cgroup (cgroups(7)): lines of "hierarchy-ID:controller-list:path". Pure. */
#ifndef DFG_DISCOVER_CGROUP_H
#define DFG_DISCOVER_CGROUP_H

#include <stdbool.h>

/* Finds the container id of an engine: the last path component of 64 hex digits, bare or wrapped
 * ("docker-<id>.scope", "cri-containerd-<id>.scope", "libpod-<id>"). *ret_nested: above it is
 * another container's, which made this cgroup for a container of its own, or to look like one. */
bool cgroup_container_id(const char *cgroup, char ret[static 65], bool *ret_nested);

/* Finds the container id of a runtime that was started without an engine: the last component of the
 * longest path, as runc and crun make it ("/web", or by systemd "runc-web.scope"). Paths of other
 * systemd units have none. Only a first process of a pid namespace should be looked up: other
 * processes have cgroups of any name. */
bool cgroup_runtime_id(const char *cgroup, char ret[static 256]);

/* The hierarchy's field and path of the line with the longest path, "0::/a/b" without the leading
 * number: ":/a/b" or "memory:/a/b". The path ends with the component that the runtime named after
 * the container, if there is one: below it are cgroups that the container made itself, as systemd
 * does for its services. Owned; NULL when all paths are "/". */
char *cgroup_own_line(const char *cgroup, const char *id);

/* The path of the container's cgroup in the hierarchy of a controller of v1, else, and with NULL,
 * in v2's; it ends as cgroup_own_line's. Owned; NULL when it is "/". */
char *cgroup_path(const char *cgroup, const char *id, const char *controller, bool *ret_v1);

/* True if `own` (from cgroup_own_line) is the cgroup of this text or above it. */
bool cgroup_is_below(const char *cgroup, const char *own);

#endif
