/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a recording run, in the order in which they act; run.c puts them together. */
#ifndef DFG_RECORD_RUN_PARTS_H
#define DFG_RECORD_RUN_PARTS_H

#include "record/run.h"

#define RUN_WINDOW_MS 10000 /* for a worker, to take snapshots and to do its task */

/* Of RECORD_SLACK_MS, the most that each step before the recording may take, and the last snapshots
 * after it. What is left is for perf, for splitting and for the tasks. A Tomcat of 140 threads on
 * two processors at a load of 40 needs 2 s for its first snapshot by the host, 8 s by the agent:
 * then it is taken while perf records. */
#define RUN_LOOK_MS    3500
#define RUN_PREPARE_MS 2000
#define RUN_REPLY_MS   1000 /* for ending children that a file system blocks */
#define RUN_END_MS     4500
#define RUN_SPLIT_MS   3000
#define RUN_EACH_MS    150 /* of a processor, that a step takes for each container */
#define RUN_STEPS      4

/* The time for some steps, given that for one container on a machine that is not overloaded: more
 * for many containers, and up to eight times as much where the coordinator found that threads wait
 * for the processors. A container that keeps them all busy gains time, but at most that. */
int run_ms(const struct record_run *r, int ms, unsigned steps);

static inline bool run_is_stopped(const struct record_run *r)
{
	return r->config.stop && *r->config.stop;
}

/* ---- the workers ---- */

/* The first worker from number `i` on that has not failed, or NULL. */
struct worker *run_next_alive(const struct record_run *r, size_t i);

/* Tells which workers have failed, and removes what they have left. Fails if none is left: where
 * there was but one with its reason. */
MUST_CHECK int run_settle(struct record_run *r, struct err *err);

/* Gives all the same order and waits for the replies, then settles. */
MUST_CHECK int run_order_all(struct record_run *r, const struct worker_order *o, uint64_t deadline,
			     struct err *err);

/* ---- run_find.c ---- */

/* Finds the containers that the configuration names, starts a worker for each, and has it look for
 * JVMs. Those with nothing to record are dropped. */
MUST_CHECK enum record_result run_find(struct record_run *r, struct err *err);

/* ---- run_kernel.c ---- */

/* True if the recorder in the kernel is to be tried: not, unasked, where a perf is given. */
bool run_wants_kernel(const struct record_run *r);

/* Starts the recorder in the kernel, with what the workers' builders have by then, or perf. */
MUST_CHECK int run_start_recorder(struct record_run *r, struct err *err);

/* Of the recorder that runs; as the functions of perf.h and recording.h. */
/* True if the recorder has been told of the process. */
bool run_has_pid(const struct record_run *r, pid_t pid);

/* Tells the recorder in the kernel of processes that were found meanwhile, and of the builders of
 * JVMs among them. */
void run_tell_recorder(struct record_run *r);

/* Of a recording in the kernel, in one piece: notes what workers have found, tells the recorder,
 * and has them look again for JVMs that were started, if `looks`. */
void run_follow(struct record_run *r, bool looks);

/* Of a recording in windows: has the recorder in the kernel go on in another file. 1; 0 when it has
 * ended; -1. */
MUST_CHECK int run_switch_kernel(struct record_run *r, int ms, struct err *err);
/* After the file before has been split. */
MUST_CHECK int run_take_next(const struct record_run *r, struct err *err);
bool run_wait_recorder(struct record_run *r, int ms);
bool run_is_full(const struct record_run *r);
/* Appends how the recorder failed, if it ended by itself and did. */
void run_add_failure(const struct record_run *r, struct str *out);
/* Tells it to end; `us` is known then. */
void run_end_recorder(struct record_run *r);
MUST_CHECK int run_stop_recorder(struct record_run *r, struct err *err);
void run_abort_recorder(struct record_run *r);

/* ---- run_perf.c ---- */

/* Collects the pids that a recorder begins with. */
void run_collect_pids(struct record_run *r);

MUST_CHECK int run_start_perf(struct record_run *r, struct err *err);
MUST_CHECK int run_stop_perf(struct record_run *r, struct err *err);

/* Opens the directory of a recording, before it is split, of all; once. */
MUST_CHECK int run_open_whole(struct record_run *r, struct err *err);

/* The directory of perf.data as the recorder has written it: the only session, or that of all. */
int run_recording_dirfd(const struct record_run *r);

/* Splits the recording in a process without privileges, so that each session gets what is its own;
 * not where it is of one target alone. */
MUST_CHECK int run_split(struct record_run *r, struct err *err);

/* ---- run_windows.c ---- */

/* Discards the first file: it is of the time before perf was ready. */
MUST_CHECK int run_wait_until_ready(struct record_run *r, struct err *err);

/* Bytes of all snapshots. */
uint64_t run_snapshot_bytes(const struct record_run *r);

#endif
