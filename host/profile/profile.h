/* SPDX-License-Identifier: Apache-2.0 */
/* A recording and what was kept beside it -> named stacks. Pure: reads the descriptors it is given,
 * opens nothing, and needs no privilege. */
#ifndef DFG_PROFILE_PROFILE_H
#define DFG_PROFILE_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "calltree/calltree.h"
#include "calltree/samples.h"
#include "common/err.h"

/* Map of a JVM's compiled code: lines of request.h (a trailer and zeros may follow), or a snapshot
 * (dfg/snapshot.h), which is told by how it begins. Samples with registers and a copy of the stack
 * are unwound; through Java code that takes a snapshot. */
struct profile_map {
	pid_t pid; /* host pid, as in perf.data */
	int fd;
	int order; /* later snapshots have higher numbers; where two disagree, the later one wins */
};

/* A copy of an ELF file as a process had it mapped. */
struct profile_elf {
	uint64_t root;	  /* the mount namespace it was seen in; same number, same files */
	const char *path; /* as in the process's maps */
	int fd;
	int debug_fd; /* the symbols of its separate debug file, or -1 */
};

/* Which mount namespace a process is in. Children of fork inherit it. */
struct profile_process {
	pid_t pid;
	uint64_t root;
};

/* A thread of a JVM, by perf's numbers and by the one its snapshots have. */
struct profile_thread {
	pid_t pid, tid;
	pid_t nstid;
};

struct profile_input {
	int perf_fd;	 /* perf.data, a regular file */
	int kallsyms_fd; /* copy of /proc/kallsyms, or -1 */
	const struct profile_map *maps;
	size_t map_count;
	const struct profile_elf *elfs;
	size_t elf_count;
	const struct profile_process *processes;
	size_t process_count;
	const struct profile_thread *threads;
	size_t thread_count;
	/* Only samples of these and their children count; 0: all of the recording (a recording of
	 * the whole machine is cut down to the container this way). */
	const pid_t *only;
	size_t only_count;
	uint32_t origin; /* number of samples.h, where samples are kept */
	size_t parts;	 /* read at the same time, each by a thread; 0: as it is worth it */
};

/* Adds the recording to the profile. A damaged end of it is not an error: what was whole before it
 * is used. */
MUST_CHECK int profile_read(const struct profile_input *in, struct profile *profile,
			    struct err *err);

#endif
