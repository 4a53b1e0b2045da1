/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/PID/cgroup (cgroups(7)): lines of "hierarchy-ID:controller-list:path". Pure. */
#ifndef DFG_DISCOVER_CGROUP_H
#define DFG_DISCOVER_CGROUP_H

#include <stdbool.h>

/* Finds the container id of an engine: the last path component of 64 hex digits, bare or wrapped
 * ("docker-<id>.scope", "cri-containerd-<id>.scope", "libpod-<id>"). */
bool cgroup_container_id(const char *cgroup, char ret[static 65]);

/* Finds the container id of a runtime that was started without an engine: the last component of the
 * longest path, as runc and crun make it ("/web", or by systemd "runc-web.scope"). Paths of other
 * systemd units have none. Only a first process of a pid namespace should be looked up: other
 * processes have cgroups of any name. */
bool cgroup_runtime_id(const char *cgroup, char ret[static 256]);

/* The hierarchy's field and path of the line with the longest path, "0::/a/b" without the leading
 * number: ":/a/b" or "memory:/a/b". Owned; NULL when all paths are "/". */
char *cgroup_own_line(const char *cgroup);

/* True if `own` (from cgroup_own_line) is the cgroup of this text or above it. */
bool cgroup_is_below(const char *cgroup, const char *own);

#endif
