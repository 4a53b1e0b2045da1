/* SPDX-License-Identifier: Apache-2.0 */
/* The jail of a child that reads bytes of containers: an exploited parser must reach nothing.
 *
 * In it are a user id that no other process has (confine_user), no capability, an empty root
 * directory, no network, the descriptors that are kept, /dev/null as standard input, output and
 * error, and few system calls: no new file, process, program, executable memory, nor a signal to
 * another process. It is the first to be ended when memory is out, and ends with its parent. */
#ifndef DFG_COMMON_JAIL_H
#define DFG_COMMON_JAIL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* The task of the child, which has the rights that this needs and no other. */
enum jail_role {
	JAIL_DRAW,     /* reads recordings: has threads, and receives descriptors */
	JAIL_SPLIT,    /* copies parts of a recording */
	JAIL_ELF,      /* reads ELF files */
	JAIL_DISCOVER, /* reads maps of processes, and what else tells what they are */
	JAIL_TABLES,   /* builds tables for walks: receives descriptors, polls */
	JAIL_MEMORY,   /* reads a process's memory: has process_vm_readv(2) of this one, polls */
};

#define JAIL_ROLES (JAIL_MEMORY + 1)

struct jail {
	enum jail_role role;
	pid_t of;	      /* JAIL_MEMORY: the process that it may read */
	uint64_t memory;      /* bytes of address space (RLIMIT_AS); 0, or under ASan: no limit */
	uint64_t file_bytes;  /* up to which it may write into each file (RLIMIT_FSIZE) */
	unsigned cpu_seconds; /* of all processors (RLIMIT_CPU); 0: no limit */
	const int *keep;      /* descriptors, -1 for none */
	size_t keep_count;
};

/* Prepares the empty root for all jails of this process and its children, which otherwise takes
 * each 1 ms. Best effort, needs CAP_SYS_ADMIN. */
void jail_prepare(void);

/* Closes all descriptors except these and the ones of jail_prepare: confine_files for a process
 * whose children enter jails. */
void jail_close_files(const int *keep, size_t n);

/* Puts the calling process, which has one thread, into the jail. Of a child_call it keeps the
 * reply's descriptor, too. Best effort are what needs root (user id, empty root, no network), and
 * what needs a kernel with close_range(2) (5.9). On failure the process must end. */
MUST_CHECK int jail_enter(const struct jail *j, struct err *err);

#endif
