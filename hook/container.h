/* SPDX-License-Identifier: Apache-2.0 */
/* The container: opens its first process from the host's side, and holds the only code that works
 * inside its mount namespace.
 *
 * Its files are the container's own: no path of more than one component is opened, no symbolic link
 * followed, and nothing changed outside the runtime's own tmpfs on /dev. */
#ifndef HOOK_CONTAINER_H
#define HOOK_CONTAINER_H

#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "hook/mounts.h"
#include "hook/state.h"

struct hook_container {
	int proc;   /* /proc/PID: the kernel ties it to the process */
	int mnt_ns; /* its mount namespace */
	int root;   /* join: its root directory. Hook: -1, the root is at a path in the namespace */
	uint64_t start_time;
	uint64_t mnt_ns_inode;
	uid_t root_uid; /* of its root, as the host sees it */
	gid_t root_gid;
};
#define HOOK_CONTAINER_EMPTY                                                                       \
	{                                                                                          \
		.proc = -1, .mnt_ns = -1, .root = -1                                               \
	}

/* Needs CAP_SYS_PTRACE. `join`: the process has entered its own root already. */
enum hook_status hook_container_open(pid_t pid, bool join, struct hook_container *ret,
				     struct err *err);
void hook_container_close(struct hook_container *c);

/* NONE while the opened process still runs, else SKIP_GONE. */
enum hook_status hook_container_check(const struct hook_container *c, struct err *err);

/* Attaches the mounts at /dev/dfg-out, /dev/dfg-ctl and, last, /dev/dfg, or none of them. `path`:
 * of the root file system, when c->root is -1. Works in a child process that keeps only the
 * capabilities and system calls it needs. Returns MOUNTED or the reason. */
enum hook_status hook_container_mount(const struct hook_container *c, const char *path,
				      const struct hook_mounts *mounts, struct err *err);

/* Finds the host's id of id 0 in a /proc/PID/uid_map or gid_map (user_namespaces(7)); false if 0 is
 * not mapped or the text is no such map. */
bool idmap_root(const char *text, uint32_t *ret);

/* True for the one line that maps all ids to themselves: the initial user namespace. */
bool idmap_is_full(const char *text);

#endif
