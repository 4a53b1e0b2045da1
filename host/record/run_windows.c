// SPDX-License-Identifier: Apache-2.0
#include "record/run_parts.h"

#include <errno.h>

#include "common/clock.h"
#include "common/proc.h"

#define READY_MS	30000 /* until perf has written the file before the first window */
#define SWITCH_MS	15000 /* until it has begun a new file */
#define SWITCH_AGAIN_MS 500   /* after that, the request is repeated */
#define SWITCH_POLL_MS	10
#define REFRESH_MS	1500 /* for the snapshots at a window's end, and for new processes */

/* A run's age in windows. */
#define WINDOWS_MAX 150
#define WINDOWS_MIN 10

#define GROWTH_MIN (4u << 20) /* of the snapshots, bytes */

/* Waits until perf goes on in a new file. 1, 0 when there is no further window, -1. */
static int switch_file(struct record_run *r, int ms, struct err *err)
{
	uint64_t now = clock_ms(), deadline = now + (uint64_t)ms, again = now;

	if (r->in_kernel)
		return run_switch_kernel(r, ms, err);
	for (; now < deadline && !run_is_stopped(r); now = clock_ms()) {
		bool ended = perf_wait(&r->perf, 0);
		int rc = perf_next_window(&r->perf, run_recording_dirfd(r), err);

		if (rc != 0 || ended)
			return rc;
		if (now >= again) {
			perf_switch(&r->perf);
			again = now + SWITCH_AGAIN_MS;
		}
		sleep_ms(SWITCH_POLL_MS);
	}
	if (run_is_stopped(r))
		return 0;
	return err_set(err, ETIMEDOUT, "perf does not record: waited %d s", ms / 1000);
}

int run_wait_until_ready(struct record_run *r, struct err *err)
{
	int rc = r->in_kernel ? 1 : switch_file(r, READY_MS, err);

	if (rc == 0 && run_is_stopped(r))
		return err_set(err, EINTR, "start perf");
	return rc == 0 ? run_stop_recorder(r, err) : rc < 0 ? -1 : 0;
}

/* False also for a recording of the whole machine whose targets have ended. */
static bool any_is_left(const struct record_run *r)
{
	for (size_t i = 0; i < r->count; i++)
		for (size_t k = 0; k < r->workers[i].pid_count; k++)
			if (proc_is_running(r->workers[i].pids[k]))
				return true;
	return false;
}

int record_last_window(struct record_run *r, struct err *err)
{
	int rc = any_is_left(r) ? switch_file(r, SWITCH_MS, err) : 0;
	uint64_t now = clock_us();
	struct worker_order o = {.command = WORKER_WINDOW, .stack_bytes = r->stack_bytes};

	if (rc <= 0)
		return rc;
	o.us = r->us = now - r->began_us;
	r->began_us = now;
	r->windows++;
	o.deadline = deadline_after(run_ms(r, REFRESH_MS, 1));
	if (run_order_all(r, &o, deadline_after(run_ms(r, RUN_WINDOW_MS, 1)), err) < 0)
		return -1;
	run_tell_recorder(r);
	r->deadline = deadline_after(run_ms(r, RUN_WINDOW_MS, 1));
	return run_split(r, err) < 0 || run_take_next(r, err) < 0 ? -1 : 1;
}

int record_window(struct record_run *r, struct err *err)
{
	uint64_t end = r->began_us + r->config.duration * 1000000ull;
	uint64_t now;

	while (!run_is_stopped(r) && (now = clock_us()) < end &&
	       !run_wait_recorder(r, (int)((end - now) / 1000) + 1))
		;
	return record_last_window(r, err);
}

bool run_has_pid(const struct record_run *r, pid_t pid)
{
	for (size_t i = 0; i < r->pid_count; i++)
		if (r->pids[i] == pid)
			return true;
	return false;
}

/* A perf that records the whole machine knows all processes; the recorder in the kernel is told. */
static bool has_new_process(const struct record_run *r)
{
	const bool knows = r->in_kernel || r->perf.whole_machine;

	for (size_t i = 0; i < r->count && !knows; i++)
		for (size_t k = 0; k < r->workers[i].pid_count; k++)
			if (!run_has_pid(r, r->workers[i].pids[k]))
				return true;
	return false;
}

static bool any_jvm_ended(const struct record_run *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->workers[i].jvm_ended || worker_has_failed(&r->workers[i]))
			return true;
	return false;
}

uint64_t run_snapshot_bytes(const struct record_run *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->count; i++)
		sum += r->workers[i].snapshot_bytes;
	return sum;
}

bool record_is_old(const struct record_run *r)
{
	if (r->windows < WINDOWS_MIN)
		return false;
	return r->windows >= WINDOWS_MAX || has_new_process(r) || any_jvm_ended(r) ||
	       run_snapshot_bytes(r) > 2 * r->snapshots + GROWTH_MIN;
}
