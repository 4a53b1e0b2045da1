/* SPDX-License-Identifier: Apache-2.0 */
/* The container: its first process, found and pinned from the host's side, and the only code that
 * works inside its mount namespace.
 *
 * What lies there is the container's: nothing is opened by a path of more than one component, no
 * link is followed, nothing outside the runtime's own tmpfs on /dev is touched. */
#ifndef HOOK_TARGET_H
#define HOOK_TARGET_H

#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "hook/reason.h"

struct hook_target {
	int proc;   /* /proc/PID: the kernel ties it to the process */
	int mnt_ns; /* its mount namespace */
	int root;   /* join: its root directory. Hook: -1, the root is at `path` in the namespace */
	uint64_t start_time;
	uint64_t mnt_ns_inode;
	uid_t root_uid; /* of its root, as the host sees it */
	gid_t root_gid;
};
#define HOOK_TARGET_EMPTY                                                                          \
	{                                                                                          \
		.proc = -1, .mnt_ns = -1, .root = -1                                               \
	}

/* Needs CAP_SYS_PTRACE. `join`: the process is in its own root already. */
enum hook_reason hook_target_open(pid_t pid, bool join, struct hook_target *ret, struct err *err);
void hook_target_close(struct hook_target *t);

/* NONE while the process that was opened is still there, else SKIP_GONE. */
enum hook_reason hook_target_check(const struct hook_target *t);

/* Mounts that are not attached yet, each an fd. */
struct hook_mounts {
	int out, ctl, payload;
};

/* Attaches the mounts at /dev/dfg-out, /dev/dfg-ctl and, last, /dev/dfg, or none of them. `path`:
 * of the root file system, when t->root is -1. In a child process of its own, which keeps only the
 * capabilities and system calls this takes. MOUNTED, or why not. */
enum hook_reason hook_target_mount(const struct hook_target *t, const char *path,
				   const struct hook_mounts *mounts, struct err *err);

static inline void cleanup_hook_target_close(struct hook_target *t)
{
	hook_target_close(t);
}

#endif
