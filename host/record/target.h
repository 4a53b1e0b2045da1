/* SPDX-License-Identifier: Apache-2.0 */
/* A container of a recording run: its processes and JVMs, and the directory of its results. */
#ifndef DFG_RECORD_TARGET_H
#define DFG_RECORD_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/recording.h"
#include "common/child.h"
#include "common/err.h"
#include "common/outdir.h"
#include "discover/container.h"
#include "discover/handle.h"
#include "discover/jvm.h"
#include "record/config.h"
#include "record/session_files.h"
#include "session/session.h"

#define TARGET_BUILDERS 16 /* each for the JVMs that are found at the same time */

/* A container as its worker (worker.h) knows it. */
struct target {
	struct container container;
	struct handles processes;
	struct jvms jvms;
	struct outdir outdir; /* of the graphs */
	int shared;	      /* directory of files that sessions of the run share; -1: none */
	int turns;	      /* of the run's readers (common/turns.h); borrowed; -1: none */
	struct session session;
	bool has_session;
	struct session_copy copy; /* of files */
	uint64_t ended;		  /* clock_ms() at the end of the recording */
	size_t all_jvms;	  /* of the run, when it began */
	struct poller *pollers;	  /* of its JVMs (jvm_poller.h) */
	size_t poller_count, poller_cap;
	struct child builders[TARGET_BUILDERS]; /* of the kernel's tables (bpf/builder.h) */
	size_t builder_count;
	int tables; /* socket of the last one, until it is the coordinator's; -1: none */
};

/* Makes the target of a container, which it takes over. */
void target_init(struct target *ret, struct container *c);
void target_fini(struct target *t);

/* Finds its processes, and its JVMs up to the deadline (clock_ms); none where the container has
 * ended. */
void target_look(struct target *t, uint64_t deadline);

/* Forgets the processes that have ended. True if there were any: a program that opened them by
 * their pids since target_look may have opened others'. */
bool target_drop_ended(struct target *t);

/* Makes a session in the directory of the results, with the kernel's symbols. */
MUST_CHECK int target_prepare(struct target *t, const struct record_config *c, struct err *err);

/* Says when the recording began: clock_us(). */
void target_mark_start(struct target *t, uint64_t began_us);

/* Begins to copy all mapped files into the session, which may take until the deadline (clock_ms).
 */
MUST_CHECK int target_copy_files(struct target *t, uint64_t deadline, struct err *err);

/* Waits for these copies, adds processes and JVMs that were started since, and copies the files
 * they have mapped. What is not done by the deadline is left out. */
void target_refresh(struct target *t, uint64_t deadline);

/* True if it has JVMs and all of them keep frame pointers. */
bool target_keeps_fp(const struct target *t);

/* ---- results ---- */

/* Makes the directory of a container's results: the configured output directory, with `below` one
 * in it that is named after the container, else a new one next to the container's other results. */
MUST_CHECK int target_make_results(const struct container *container, const struct record_config *c,
				   bool below, struct outdir *ret, struct err *err);

/* Makes a directory, named after the time, for graphs of the container with that id: in the
 * configured output directory, or next to its other results. */
MUST_CHECK int target_new_graphs(const struct record_config *c, const char *id, struct outdir *ret,
				 struct err *err);

/* Links "latest", beside dfg's own directory of the results, to it. Best effort. */
void target_link_latest(const struct outdir *results);

/* Removes the session in the directory of the results, and the directory if nothing else is in it.
 */
void target_discard_results(const struct outdir *outdir);

/* Says in the session which events are missing. */
void target_say_events(struct target *t, const struct kernel_counts *c);

#endif
