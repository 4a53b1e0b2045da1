/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of processes. A pid is a number that another process may have once this one has ended; a
 * handle stays with its process, from the listing of a container to the end of a recording. */
#ifndef DFG_DISCOVER_HANDLE_H
#define DFG_DISCOVER_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* Handles in one list. More processes of a container than this, or than half of the descriptors
 * that RLIMIT_NOFILE allows, are left out. */
#define HANDLES_MAX 4096

struct handle {
	pid_t pid;	/* host */
	int procfd;	/* its /proc directory (common/proc.h); also a pidfd for
			   pidfd_send_signal(2), Linux 5.1 */
	uint64_t start; /* clock ticks since boot, proc(5) */
};

struct handles {
	struct handle *list;
	size_t count;
	size_t cap;
	bool is_cut; /* there are more */
};

MUST_CHECK int handle_open(pid_t pid, struct handle *ret, struct err *err);
void handle_close(struct handle *p);

/* True while the pid is this process's own: until it has ended and its parent knows. */
bool handle_is_alive(const struct handle *p);

/* Adds a handle, which it takes over. False: the list is full; *p is closed, `is_cut` set. */
bool handles_add(struct handles *list, struct handle *p);
void handles_fini(struct handles *list);

/* The pids, freed by the caller. */
pid_t *handles_pids(const struct handles *list);

/* Removes the processes that have ended. *ret, freed by the caller: their pids. After a program has
 * opened processes by their pids (perf record -p), it may have opened others by these; what it
 * opened by the remaining ones is theirs. */
void handles_remove_ended(struct handles *list, pid_t **ret, size_t *ret_count);

static inline void cleanup_handle_close(struct handle *p)
{
	handle_close(p);
}

static inline void cleanup_handles_fini(struct handles *list)
{
	handles_fini(list);
}

#endif
