/* SPDX-License-Identifier: Apache-2.0 */
/* A recording run: perf, and a poller for each JVM, over one or more containers.
 *
 * dfg-trigger records once, into sessions that are kept. dfg-top records in windows: each window
 * replaces the recording of the sessions before it. Such a run does not go on without limit, since
 * snapshots grow, and perf repeats in each window only the mappings of processes that it began
 * with: after some minutes (record_is_old) another run takes over. */
#ifndef DFG_RECORD_RUN_H
#define DFG_RECORD_RUN_H

#include "record/config.h"
#include "record/perf.h"
#include "record/targets.h"

struct record_run {
	struct record_config config;
	struct targets targets;
	uint64_t us; /* length of the recording, or of the last window */
	/* The rest is private. */
	struct perf perf;
	char *dir;   /* config.window_dir */
	pid_t *pids; /* those that perf began with */
	size_t pid_count;
	unsigned stack_bytes;
	uint64_t began_us;  /* of the recording, or of the window that is being recorded */
	uint64_t snapshots; /* bytes at the beginning */
	unsigned windows;
};

/* Finds the containers, takes the first snapshots, starts perf and returns once it records. After a
 * failure there is nothing to release. The configuration must stay valid. */
MUST_CHECK enum record_result record_start(const struct record_config *c, struct record_run *ret,
					   struct err *err);

/* Records until the time is over, *stop is set or all processes have ended, with its progress on
 * the terminal; takes the last snapshots and writes the sessions. *ret_end: clock_ms() when the
 * recording ended. */
MUST_CHECK int record_finish(struct record_run *r, uint64_t *ret_end, struct err *err);

/* Waits for the end of the window and makes it the recording of all sessions. 1; 0 when there is
 * none, because all processes have ended or *stop is set; -1. */
MUST_CHECK int record_window(struct record_run *r, struct err *err);

/* Ends the window now, else as record_window. */
MUST_CHECK int record_last_window(struct record_run *r, struct err *err);

/* True if a new run should take over. */
bool record_is_old(const struct record_run *r);

/* Ends the run and removes its sessions. */
void record_discard(struct record_run *r);

/* Releases a finished run. Its sessions stay. */
void record_fini(struct record_run *r);

#endif
