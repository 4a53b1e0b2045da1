/* SPDX-License-Identifier: Apache-2.0 */
/* Copies into the session what is needed to name addresses later: the executables and libraries
 * that the processes have mapped (mapped_files.h), the symbols of their separate debug files, the
 * perf maps that runtimes write, the vdso and the kernel's symbols. This process parses nothing
 * that a container wrote. */
#ifndef DFG_RECORD_SESSION_FILES_H
#define DFG_RECORD_SESSION_FILES_H

#include <stddef.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/err.h"
#include "discover/handle.h"
#include "session/session.h"

/* Adds the processes and the files they have mapped executable. May be called again for processes
 * and files that came later; a file is copied once. A file that cannot be copied is skipped: its
 * frames will have no names, and are counted. What budgets (budget.h) or the deadline (clock_ms)
 * cut is noted in the session. */
void session_copy_files(struct session *s, const struct handles *processes, uint64_t deadline);

/* The same in a child process, whose files the session has after session_copy_end: that waits for
 * it, and after its deadline ends it. */
struct session_copy {
	struct child child;
	int list;
	struct cut_counts *cut; /* NULL: none runs */
};

MUST_CHECK int session_copy_begin(struct session *s, const struct handles *processes,
				  uint64_t deadline, struct session_copy *ret, struct err *err);
void session_copy_end(struct session_copy *c, struct session *s, uint64_t deadline);

/* Copies /proc/kallsyms into a directory of the run, for all its sessions: the kernel takes 40 ms
 * to write it, a copy 2 ms. */
MUST_CHECK int session_share_kernel(int shared, struct err *err);

/* Copies the kernel's symbols, from that directory where they are in it (-1: there is none), and
 * this kernel's vdso. */
MUST_CHECK int session_copy_kernel(struct session *s, int shared, struct err *err);

/* Copies the perf maps /tmp/perf-<pid>.map (linux tools/perf/Documentation/jit-interface.txt) of
 * these processes, except of JVMs that have a snapshot: node --perf-basic-prof, OpenJ9
 * -Xjit:perfTool, HotSpot's jcmd Compiler.perfmap, Python -X perf, .NET and others write them.
 * A later copy replaces an earlier one. A map must belong to the process's user and be a regular
 * file, reached without links, named after the pid that the process sees; one is cut at
 * its first hole and at the limits of budget.h. Best effort, up to the deadline, since the file
 * system may be the container's. */
void session_copy_perf_maps(struct session *s, const struct handles *processes, uint64_t deadline);

/* Sets the source of JVMs that have no snapshot, but a perf map of their own. */
void session_note_maps(struct session *s);

/* Registers the maps that agents have dumped (AGENT_MAP). Files that are empty or cut, of a poller
 * that was stopped, are refused when they are read. */
void session_register_agent_maps(struct session *s);

#endif
