/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, their mappings and the names of their threads, as they change during a recording.
 * Knows no files and no symbols. */
#ifndef DFG_PERF_ADDRESS_SPACE_H
#define DFG_PERF_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPACE_KERNEL (-1) /* the process that has the kernel's mappings */

struct mapping {
	uint64_t start, end; /* [start, end) */
	uint64_t pgoff;	     /* file offset of start */
	uint32_t path;	     /* index for space_path */
	bool exec;
	bool anonymous; /* memory without a file */
};

struct process {
	pid_t pid;
	/* Changes with every change of its mappings; in processes with equal generations an address
	 * means the same. */
	uint32_t generation;
	/* The caller's, inherited by fork. */
	uint64_t root;
	uint32_t code; /* index of its snapshot or perf map; 0, also after exec: none */
	bool wanted;
	bool new; /* created, forked or executed since the caller cleared it */
	struct mappings *maps;
};

struct thread {
	pid_t pid, tid;
	char comm[64]; /* "": unknown; of virtual threads, of which the JVM has the name */
	uint32_t mark; /* the caller's; becomes 0 when comm changes */
	/* The caller's. */
	uint32_t number;
	uint64_t samples, complete;
	bool code; /* seen in code of a JVM */
};

struct space;

struct space *space_new(void);
void space_free(struct space *sp);

/* Find or create; never NULL. Pointers are valid until the next call that may create one. */
struct process *space_process(struct space *sp, pid_t pid);
struct thread *space_thread(struct space *sp, pid_t pid, pid_t tid);

/* All threads, also those that ended; a thread id that is used again is one thread. */
size_t space_thread_count(const struct space *sp);
const struct thread *space_thread_at(const struct space *sp, size_t i);

/* Apply records. A new mapping replaces what it overlaps. */
void space_map(struct space *sp, pid_t pid, uint64_t start, uint64_t len, uint64_t pgoff, bool exec,
	       const char *path);
void space_comm(struct space *sp, pid_t pid, pid_t tid, const char *comm);
void space_exec(struct space *sp, pid_t pid);

/* Gives the process a new generation: its addresses mean something else, with equal mappings. */
void space_touch(struct space *sp, pid_t pid);

/* Adds a thread, or with pid != ppid a process. `copy`: with its parent's mappings. */
void space_fork(struct space *sp, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid, bool copy);

/* Finds the mapping of an address, or NULL. */
const struct mapping *space_find(const struct process *p, uint64_t addr);

const char *space_path(const struct space *sp, uint32_t path);

static inline void cleanup_space_free(struct space **sp)
{
	space_free(*sp);
}

#endif
