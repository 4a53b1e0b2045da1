/* SPDX-License-Identifier: Apache-2.0 */
/* A recording run over one or more containers: perf, and a worker for each container (worker.h).
 *
 * dfg-trigger records once, into sessions that are kept. dfg-top records in windows: each window
 * replaces the recording of the sessions before it. Such a run does not go on without limit, since
 * snapshots grow, and perf repeats in each window only the mappings of processes that it began
 * with: after some minutes (record_is_old) another run takes over.
 *
 * Whatever a container does, a run ends within RECORD_SLACK_MS after its duration (more for dozens
 * of containers, and on a machine that is overloaded: run_ms of run_parts.h), and a container
 * that fails costs the others nothing: its worker says why (worker.failed), which is logged where
 * there are others. */
#ifndef DFG_RECORD_RUN_H
#define DFG_RECORD_RUN_H

#include "bpf/recording.h"
#include "record/config.h"
#include "record/perf.h"
#include "record/temp_dir.h"
#include "record/worker.h"

#define RECORD_SLACK_MS 15000

enum record_result {
	RECORD_OK,
	RECORD_FAILED,
	RECORD_NO_CONTAINER,
	RECORD_NO_JVM,
};

struct record_run {
	struct record_config config;
	struct worker *workers;
	size_t count, cap;
	uint64_t us; /* length of the recording, or of the last window */
	/* The rest is private. */
	bool in_kernel; /* recorded by `kernel`, else by perf */
	struct kernel_recording kernel;
	uint64_t next_look; /* for JVMs that were started, clock_ms() */
	struct perf perf;
	char *dir;	      /* config.window_dir */
	struct temp_dir temp; /* of a recording that is going to be split, not in windows */
	int whole;	      /* the directory of such a recording, or -1 */
	int shared;	      /* a directory in it: what several sessions have in common; or -1 */
	int turns;	      /* of readers (common/turns.h), or -1 */
	pid_t *pids;	      /* those that perf began with */
	size_t pid_count;
	unsigned stack_bytes;
	double slowness;    /* of the machine: times that a step takes as long as usual */
	uint64_t deadline;  /* of the whole run, clock_ms() */
	uint64_t began_us;  /* of the recording, or of the window that is being recorded */
	uint64_t snapshots; /* bytes at the beginning */
	unsigned windows;
};

/* Finds the containers, takes the first snapshots, starts perf and returns once it records. After a
 * failure there is nothing to release. The configuration must stay valid. */
MUST_CHECK enum record_result record_start(const struct record_config *c, struct record_run *ret,
					   struct err *err);

/* Records until the time is over, *stop is set or all processes have ended, with its progress on
 * the terminal; takes the last snapshots and writes the sessions. Fails where no container has a
 * recording. */
MUST_CHECK int record_finish(struct record_run *r, struct err *err);

/* Has each worker do the task, side by side; the worker has its product or the reason why it
 * failed. One that does not end in time is killed: at the end of the run, or where `ms` is not 0,
 * after that time. */
void record_each(struct record_run *r, worker_task *task, void *arg, int ms);

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
