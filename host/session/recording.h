/* SPDX-License-Identifier: Apache-2.0 */
/* The open files of a recorded session and what is known of its processes: what the reading half
 * works on. It opens nothing itself. */
#ifndef DFG_SESSION_RECORDING_H
#define DFG_SESSION_RECORDING_H

#include "session/session.h"

struct recording {
	int perf_fd;	 /* perf.data, a regular file */
	int kallsyms_fd; /* copy of /proc/kallsyms, or -1 */
	/* Lines of request.h (a trailer and zeros may follow) or snapshots (dfg/snapshot.h). Where
	 * two maps of a process disagree, the one of the higher order wins. */
	const struct session_map *maps;
	size_t map_count;
	const struct session_elf *elfs;
	size_t elf_count;
	const struct session_process *processes;
	size_t process_count;
	const struct session_thread *threads;
	size_t thread_count;
	bool only_processes; /* samples of other processes do not count, but of their children */
	uint64_t began;	     /* CLOCK_MONOTONIC, ns; 0: not known */
	bool by_period;	     /* samples count as many as their period says */
	unsigned event;	 /* the one that is read, as perf/perfwrite.h counts them; 0: the first */
	bool has_tasks;	 /* compilations or safepoints are among its events */
	uint32_t origin; /* number of samples.h, where samples are kept */
	size_t parts;	 /* read in parallel, each by a thread; 0: as many as pay */
};

#endif
