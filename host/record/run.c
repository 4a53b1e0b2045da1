// SPDX-License-Identifier: Apache-2.0
#include "record/run_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/proc.h"
#include "common/str.h"
#include "common/turns.h"
#include "record/agent_share.h"
#include "record/budget.h"

#define SHARED		  "shared"
#define PROGRESS_MS	  500
#define LAST_LOOK_MS	  3000 /* before the end of a recording */
#define EXIT_MS		  3000
#define EXIT_POLL_MS	  10
#define TASKS_AT_ONCE	  4	     /* or as many as there are processors */
#define TASK_MS_PER_BYTES (64 << 10) /* more time for a long recording: 1 s for 64 MB */

/* ---- the workers ---- */

struct worker *run_next_alive(const struct record_run *r, size_t i)
{
	while (i < r->count && worker_has_failed(&r->workers[i]))
		i++;
	return i < r->count ? &r->workers[i] : NULL;
}

/* Removes what a worker that was killed has left: its session, unless that was there before, and
 * files in the container's share. */
static void remove_rest(const struct record_run *r, const struct worker *w)
{
	if (w->outdir.path && w->failed.code != EEXIST)
		target_discard_results(&w->outdir);
	agent_share_sweep(r->config.root, w->container.id);
}

int run_settle(struct record_run *r, struct err *err)
{
	for (size_t i = 0; i < r->count; i++) {
		struct worker *w = &r->workers[i];

		if (!worker_has_failed(w) || w->settled)
			continue;
		w->settled = true;
		remove_rest(r, w);
		/* Of windows, none is drawn after a stop: nothing is missing. */
		if (r->count > 1 && !(r->dir && run_is_stopped(r)))
			log_error("%s: %s", w->container.label, w->failed.msg);
	}
	if (run_next_alive(r, 0))
		return 0;
	if (r->count != 1)
		return err_set(err, 0, "nothing is left to record");
	*err = r->workers[0].failed;
	return -1;
}

/* Gives all the same order, and each the number of its samples. */
static void order_with_counts(struct record_run *r, const struct worker_order *o, uint64_t deadline)
{
	struct worker_order own = *o;

	own.in_kernel = r->in_kernel;
	for (size_t i = 0; i < r->count; i++) {
		if (r->in_kernel)
			own.samples = r->kernel.counts[i];
		worker_order(&r->workers[i], &own, deadline);
	}
}

int run_order_all(struct record_run *r, const struct worker_order *o, uint64_t deadline,
		  struct err *err)
{
	order_with_counts(r, o, deadline);
	workers_wait(r->workers, r->count, 0, r->config.stop);
	return run_settle(r, err);
}

/* Makes the directory in which files of several sessions are copied once. Without it each session
 * has its own copies. */
static void share_files(struct record_run *r)
{
	struct err err;

	if (r->count < 2)
		return;
	if (run_open_whole(r, &err) == 0)
		r->shared = fs_make_dir(r->whole, SHARED, 0700, &err);
	if (r->shared < 0 || session_share_kernel(r->shared, &err) < 0)
		log_info("sessions share no files: %s", err.msg);
}

/* Makes the directories of the results, and has the workers take the first snapshots. */
static int prepare(struct record_run *r, struct err *err)
{
	struct worker_order o = {.command = WORKER_PREPARE,
				 .deadline = deadline_after(run_ms(r, RUN_PREPARE_MS, 1)),
				 .in_kernel = run_wants_kernel(r)};
	const bool below = r->config.all || r->count > 1;

	for (size_t i = 0; i < r->count; i++)
		o.jvms += r->workers[i].jvms;
	for (struct worker *w = r->workers; (w = run_next_alive(r, (size_t)(w - r->workers)));
	     w++) {
		struct err why;

		w->shared = r->shared;
		if (target_make_results(&w->container, &r->config, below, &w->outdir, &why) < 0)
			worker_fail(w, &why);
		else
			worker_order(w, &o, o.deadline + RUN_REPLY_MS);
	}
	log_progress("reading the JVMs");
	workers_wait(r->workers, r->count, 0, r->config.stop);
	log_progress("%s", "");
	if (run_is_stopped(r))
		return err_set(err, EINTR, "prepare the recording");
	return run_settle(r, err);
}

/* ---- one recording ---- */

/* The recorder sees a process end a little earlier than /proc has it so. */
static bool any_is_left(const struct record_run *r)
{
	const uint64_t deadline = deadline_after(EXIT_MS);

	for (size_t i = 0; i < r->pid_count; i++)
		while (proc_is_running(r->pids[i])) {
			if (!deadline_ms_left(deadline))
				return true;
			poll(NULL, 0, EXIT_POLL_MS);
		}
	return false;
}

/* Says why the recording ended early; *ret_failure (size): the recorder's failure, or "". */
static void log_early_end(const struct record_run *r, char *ret_failure, size_t size)
{
	double seconds = (double)(clock_us() - r->began_us) / 1e6;
	CLEANUP(str_fini) struct str why = {0};

	run_add_failure(r, &why);
	if (run_is_full(r)) {
		log_warn("the recording ended after %.0f s: the disk of %s is full", seconds,
			 r->whole >= 0 ? r->temp.dir : r->workers[0].outdir.path);
	} else if (why.len) {
		str_addf(&why, ", after %.1f s", seconds);
		log_warn("the recording ended early: %s", why.buf);
		snprintf(ret_failure, size, "%s", why.buf);
	} else {
		log_info("the recording ended early: the %s after %.1f s",
			 any_is_left(r) ? "recorder ended" : "last process exited", seconds);
	}
}

/* Waits until the time is over, or until perf has ended early. */
static void wait_for_end(struct record_run *r, char *ret_failure, size_t size)
{
	uint64_t end = r->began_us + r->config.duration * 1000000ull, now;
	bool ended = false;

	while (!ended && (now = clock_us()) < end && !run_is_stopped(r)) {
		uint64_t left = (end - now) / 1000 + 1;

		log_progress("recording %s: %llu of %u s (^C ends it and draws)",
			     r->count == 1 ? r->workers[0].container.label : "all",
			     (unsigned long long)(now - r->began_us) / 1000000, r->config.duration);
		ended = run_wait_recorder(r, left < PROGRESS_MS ? (int)left : PROGRESS_MS);
		run_follow(r, left > LAST_LOOK_MS);
	}
	log_progress("%s", "");
	if (ended)
		log_early_end(r, ret_failure, size);
}

/* Workers that still look for JVMs answer before they get another order. */
static void wait_for_looks(struct record_run *r, uint64_t deadline)
{
	for (size_t i = 0; i < r->count; i++)
		r->workers[i].deadline = deadline;
	workers_wait(r->workers, r->count, 0, r->config.stop);
}

int record_finish(struct record_run *r, struct err *err)
{
	struct worker_order o = {.command = WORKER_END, .stack_bytes = r->stack_bytes};
	uint64_t end;

	wait_for_end(r, o.failure, sizeof(o.failure));
	o.ended = clock_ms();
	/* The last snapshots are taken while the recorder writes what it has. */
	run_end_recorder(r);
	o.us = r->us;
	r->deadline += r->us / 1000;
	end = deadline_after(run_ms(r, RUN_END_MS, 1));
	if (end > r->deadline)
		end = r->deadline;
	o.deadline = end > RUN_REPLY_MS ? end - RUN_REPLY_MS : 0;
	wait_for_looks(r, end);
	order_with_counts(r, &o, end);
	if (run_stop_recorder(r, err) < 0)
		return -1;
	workers_wait(r->workers, r->count, 0, r->config.stop);
	if (run_settle(r, err) < 0)
		return -1;
	return run_split(r, err);
}

/* ---- tasks ---- */

/* The time at which a task must have ended: later where its own recording is long. */
static uint64_t task_deadline(const struct record_run *r, const struct worker *w, int ms)
{
	uint64_t deadline = ms ? deadline_after(run_ms(r, ms, 1)) : r->deadline;
	struct stat st;

	if (w->sessionfd < 0 || fstatat(w->sessionfd, "perf.data", &st, 0) < 0)
		return deadline;
	return deadline + (uint64_t)st.st_size / TASK_MS_PER_BYTES;
}

void record_each(struct record_run *r, worker_task *task, void *arg, int ms)
{
	const struct worker_order o = {.command = WORKER_TASK, .task = task, .arg = arg};
	const sig_atomic_t before = r->config.stop ? *r->config.stop : 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most = cpus > TASKS_AT_ONCE ? (size_t)cpus : TASKS_AT_ONCE;
	struct err interrupted;

	err_set(&interrupted, 0, "interrupted");
	for (size_t i = 0; i < r->count; i++) {
		struct worker *w = &r->workers[i];

		workers_wait(r->workers, r->count, most - 1, r->config.stop);
		if (r->config.stop && *r->config.stop != before)
			worker_fail(w, &interrupted);
		else
			worker_order(w, &o, task_deadline(r, w, ms));
	}
	workers_wait(r->workers, r->count, 0, r->config.stop);
}

/* ---- begin and end ---- */

/* Sessions of windows are made in the run's own directory. */
static int make_directory(struct record_run *r, struct err *err)
{
	if (!r->config.window_dir)
		return 0;
	r->dir = xstrdup(r->config.window_dir);
	r->config.window_dir = r->config.output = r->dir;
	return mkdir(r->dir, 0700) < 0 ? err_set(err, errno, "make %s", r->dir) : 0;
}

/* Has files copied that need no snapshot while perf records already, or starts to. */
static int begin(struct record_run *r, struct err *err)
{
	struct worker_order o = {.command = WORKER_COPY};
	uint64_t ms = budget_max(BUDGET_COPY_MS);

	if (run_start_recorder(r, err) < 0)
		return -1;
	r->began_us = r->in_kernel ? r->kernel.began / 1000 : clock_us();
	o.began_us = r->began_us;
	if (!r->dir && ms > r->config.duration * 1000ull + RUN_END_MS / 2)
		ms = r->config.duration * 1000ull + RUN_END_MS / 2;
	o.deadline = deadline_after((int)ms);
	if (run_order_all(r, &o, deadline_after(run_ms(r, RUN_WINDOW_MS, 1)), err) < 0)
		return -1;
	if (r->dir && run_wait_until_ready(r, err) < 0)
		return -1;
	if (r->dir)
		r->began_us = clock_us();
	r->snapshots = run_snapshot_bytes(r);
	return 0;
}

enum record_result record_start(const struct record_config *c, struct record_run *ret,
				struct err *err)
{
	struct record_run r = {.config = *c,
			       .slowness = 1,
			       .whole = -1,
			       .shared = -1,
			       .turns = turns_make(),
			       .kernel = {.child = {-1, -1}, .control = -1}};
	enum record_result result = RECORD_FAILED;

	if (make_directory(&r, err) == 0)
		result = run_find(&r, err);
	if (result == RECORD_OK)
		share_files(&r);
	if (result == RECORD_OK && (prepare(&r, err) < 0 || begin(&r, err) < 0))
		result = RECORD_FAILED;
	if (result == RECORD_OK)
		*ret = r;
	else
		record_discard(&r);
	return result;
}

void record_fini(struct record_run *r)
{
	run_abort_recorder(r);
	for (size_t i = 0; i < r->count; i++)
		worker_fini(&r->workers[i]);
	cleanup_close_fd(&r->shared);
	cleanup_close_fd(&r->whole);
	cleanup_close_fd(&r->turns);
	temp_dir_remove(&r->temp);
	free(r->workers);
	free(r->pids);
	free(r->dir);
	*r = (struct record_run){.whole = -1, .shared = -1, .turns = -1};
}

void record_discard(struct record_run *r)
{
	run_abort_recorder(r);
	for (size_t i = 0; i < r->count; i++) {
		struct err unwanted;

		err_set(&unwanted, 0, "discarded");
		worker_fail(&r->workers[i], &unwanted);
		remove_rest(r, &r->workers[i]);
	}
	if (r->dir)
		fs_remove_tree(AT_FDCWD, r->dir);
	record_fini(r);
}
