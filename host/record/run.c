// SPDX-License-Identifier: Apache-2.0
#include "record/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/confine.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"
#include "perf/split.h"
#include "record/jvm_poller.h"

#define PROGRESS_MS	500
#define READY_MS	30000 /* until perf has written the file before the first window */
#define SWITCH_MS	15000 /* until it has begun a new file */
#define SWITCH_AGAIN_MS 500   /* after that, the request is repeated */
#define SWITCH_POLL_MS	10
#define SNAPSHOT_MS	500 /* for those at the end of a window */

/* A run's age in windows. */
#define WINDOWS_MAX 150
#define WINDOWS_MIN 10

/* A recording up to this size is drawn with more than the workload's priority. */
#define SHORT_BYTES (64 << 20)
#define SHORT_NICE  (-10)

#define PART	      "perf.split"  /* of the recording, until it is whole */
#define SPLIT_BYTES   (64ull << 20) /* memory for each part, and for the reader */
#define SPLIT_SECONDS 600	    /* of a processor: some GB take 20 */

#define GROWTH_MIN (4u << 20) /* of the snapshots, bytes */

static bool is_stopped(const struct record_run *r)
{
	return r->config.stop && *r->config.stop;
}

/* ---- a recording for each session ---- */

struct split_job {
	int from;
	struct perf_part *parts; /* one for each target */
	size_t count;
};

static void split_job_fini(struct split_job *j)
{
	for (size_t i = 0; i < j->count; i++) {
		cleanup_close_fd(&j->parts[i].fd);
		free((void *)(uintptr_t)j->parts[i].pids);
	}
	cleanup_close_fd(&j->from);
	free(j->parts);
}

static int split_confined(void *arg, void *reply, struct err *err)
{
	const struct split_job *j = arg;
	struct stat st;

	(void)reply;
	if (fstat(j->from, &st) < 0)
		return err_set(err, errno, "size of the recording");
	if (confine_reader(SPLIT_BYTES * (1 + j->count) + (uint64_t)st.st_size, SPLIT_SECONDS,
			   err) < 0)
		return -1;
	return perf_split(j->from, j->parts, j->count, err);
}

static int add_part(struct split_job *j, const struct target *t, struct err *err)
{
	const struct session *s = &t->session;
	struct perf_part *part = &j->parts[j->count];
	pid_t *pids = xcalloc(s->process_count + t->pid_count, sizeof(*pids));

	for (size_t i = 0; i < s->process_count; i++) /* also those that have ended */
		pids[i] = s->processes[i].pid;
	for (size_t i = 0; i < t->pid_count; i++)
		pids[s->process_count + i] = t->pids[i];
	unlinkat(s->dirfd, PART, 0);
	*part = (struct perf_part){.pids = pids, .count = s->process_count + t->pid_count};
	part->fd = fs_create(s->dirfd, PART, 0600, err);
	j->count++;
	return part->fd < 0 ? -1 : 0;
}

/* Splits the recording of all, in the first session, in a process without privileges. */
static int split_recording(const struct targets *t, struct err *err)
{
	struct split_job j = {.parts = xcalloc(t->count, sizeof(*j.parts))};
	int rc = 0;

	log_progress("splitting the recording by its processes");
	j.from = openat(t->list[0].session.dirfd, "perf.data", O_RDONLY | O_CLOEXEC);
	if (j.from < 0)
		rc = err_set(err, errno, "open the recording");
	while (rc == 0 && j.count < t->count)
		rc = add_part(&j, &t->list[j.count], err);
	if (rc == 0)
		rc = child_call(split_confined, &j, NULL, 0, -1, err);
	for (size_t i = 0; rc == 0 && i < t->count; i++) {
		int dirfd = t->list[i].session.dirfd;

		if (renameat(dirfd, PART, dirfd, "perf.data") < 0)
			rc = err_set(err, errno, "rename a part of the recording");
	}
	split_job_fini(&j);
	log_progress("%s", "");
	return rc;
}

/* Makes the recording that belongs to the first session that of all: one file, several links. */
static int share_recording(const struct targets *t, struct err *err)
{
	const struct session *first = &t->list[0].session;

	for (size_t i = 0; i < t->count; i++) {
		struct session *s = &t->list[i].session;

		s->whole_machine = true;
		unlinkat(s->dirfd, PART, 0);
		if (i == 0)
			continue;
		unlinkat(s->dirfd, "perf.data", 0);
		if (session_share(first, s, "perf.data", err) < 0)
			return -1;
	}
	return 0;
}

/* A recording of several targets, or of the whole machine, has the memory of processes that are not
 * a target's: it is split before anyone reads it. */
static int give_recording(struct record_run *r, struct err *err)
{
	const struct targets *t = &r->targets;

	for (size_t i = 0; i < t->count; i++) {
		t->list[i].session.duration = (double)r->us / 1e6;
		t->list[i].session.stack_bytes = r->stack_bytes;
	}
	if ((!r->perf.whole_machine && t->count == 1) || split_recording(t, err) == 0)
		return 0;
	log_warn("perf.data keeps processes of others: %s", err->msg);
	return share_recording(t, err);
}

static int stop_perf(struct record_run *r, struct err *err)
{
	if (perf_stop(&r->perf, err) == 0)
		return 0;
	if (r->config.explain)
		r->config.explain(r->config.root, err);
	return -1;
}

/* ---- one recording ---- */

static void log_early_end(const struct record_run *r)
{
	if (perf_is_full(&r->perf))
		log_warn("the recording ended after %llu s: the disk of %s is full",
			 (unsigned long long)(clock_us() - r->began_us) / 1000000,
			 r->targets.list[0].session.dir);
	else
		log_info("the recording ended early: no process is left, or perf failed");
}

/* Waits until the time is over, or until perf has ended early. */
static void wait_for_end(struct record_run *r)
{
	const struct targets *t = &r->targets;
	uint64_t end = r->began_us + r->config.duration * 1000000ull, now;
	bool ended = false;

	while (!ended && (now = clock_us()) < end && !is_stopped(r)) {
		uint64_t left = (end - now) / 1000 + 1;

		log_progress("recording %s: %llu of %u s (^C ends it and draws)",
			     t->count == 1 ? t->list[0].container.label : "all",
			     (unsigned long long)(now - r->began_us) / 1000000, r->config.duration);
		ended = perf_wait(&r->perf, left < PROGRESS_MS ? (int)left : PROGRESS_MS);
	}
	log_progress("%s", "");
	if (ended)
		log_early_end(r);
}

/* Raises the priority until the end of the command where little is left to do: beside a JVM that
 * keeps all processors busy, each of many short steps would wait for its turn. From the end to the
 * graph, by turns, medians of 7: 136 ms without, 95 ms with (bench/Load.java, 8 s). */
static void raise_priority(const struct record_run *r)
{
	struct stat st;

	if (fstatat(r->targets.list[0].session.dirfd, "perf.data", &st, 0) == 0 &&
	    st.st_size <= SHORT_BYTES)
		(void)setpriority(PRIO_PROCESS, 0, SHORT_NICE);
}

int record_finish(struct record_run *r, uint64_t *ret_end, struct err *err)
{
	wait_for_end(r);
	*ret_end = clock_ms();
	r->us = clock_us() - r->began_us;
	raise_priority(r);
	/* The last snapshots are taken while perf writes what it has. */
	perf_end(&r->perf);
	if (pollers_end(&r->targets, &r->config, err) < 0 || stop_perf(r, err) < 0 ||
	    give_recording(r, err) < 0)
		return -1;
	for (size_t i = 0; i < r->targets.count; i++)
		if (session_write(&r->targets.list[i].session, err) < 0)
			return -1;
	return 0;
}

/* ---- windows ---- */

/* Waits until perf goes on in a new file. 1, 0 when there is no further window, -1. */
static int switch_file(struct record_run *r, int ms, struct err *err)
{
	CLEANUP(free) char *path = xasprintf("%s/perf.data", r->targets.list[0].session.dir);
	uint64_t now = clock_ms(), deadline = now + (uint64_t)ms, again = now;

	for (; now < deadline && !is_stopped(r); now = clock_ms()) {
		bool ended = perf_wait(&r->perf, 0);
		int rc = perf_next_window(&r->perf, path, err);

		if (rc != 0 || ended)
			return rc;
		if (now >= again) {
			perf_switch(&r->perf);
			again = now + SWITCH_AGAIN_MS;
		}
		sleep_ms(SWITCH_POLL_MS);
	}
	if (is_stopped(r))
		return 0;
	return err_set(err, ETIMEDOUT, "perf does not record: waited %d s", ms / 1000);
}

/* Discards the first file: it is of the time before perf was ready. */
static int wait_until_ready(struct record_run *r, struct err *err)
{
	int rc = switch_file(r, READY_MS, err);

	if (rc == 0 && is_stopped(r))
		return err_set(err, EINTR, "start perf");
	return rc == 0 ? stop_perf(r, err) : rc < 0 ? -1 : 0;
}

/* False also for a recording of the whole machine whose targets have ended. */
static bool any_is_left(const struct record_run *r)
{
	for (size_t i = 0; i < r->targets.count; i++)
		for (size_t k = 0; k < r->targets.list[i].pid_count; k++)
			if (kill(r->targets.list[i].pids[k], 0) == 0)
				return true;
	return false;
}

int record_last_window(struct record_run *r, struct err *err)
{
	int rc = any_is_left(r) ? switch_file(r, SWITCH_MS, err) : 0;
	uint64_t now = clock_us();

	if (rc <= 0)
		return rc;
	r->us = now - r->began_us;
	r->began_us = now;
	r->windows++;
	if (give_recording(r, err) < 0 ||
	    pollers_refresh(&r->targets, &r->config, SNAPSHOT_MS, err) < 0)
		return -1;
	return 1;
}

int record_window(struct record_run *r, struct err *err)
{
	uint64_t end = r->began_us + r->config.duration * 1000000ull;
	uint64_t now;

	while (!is_stopped(r) && (now = clock_us()) < end &&
	       !perf_wait(&r->perf, (int)((end - now) / 1000) + 1))
		;
	return record_last_window(r, err);
}

static bool has_pid(const struct record_run *r, pid_t pid)
{
	for (size_t i = 0; i < r->pid_count; i++)
		if (r->pids[i] == pid)
			return true;
	return false;
}

/* A perf that records the whole machine knows all processes. */
static bool has_new_process(const struct record_run *r)
{
	for (size_t i = 0; i < r->targets.count && !r->perf.whole_machine; i++)
		for (size_t k = 0; k < r->targets.list[i].pid_count; k++)
			if (!has_pid(r, r->targets.list[i].pids[k]))
				return true;
	return false;
}

bool record_is_old(const struct record_run *r)
{
	if (r->windows < WINDOWS_MIN)
		return false;
	return r->windows >= WINDOWS_MAX || has_new_process(r) || pollers_any_ended(&r->targets) ||
	       pollers_bytes(&r->targets) > 2 * r->snapshots + GROWTH_MIN;
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

/* Starts perf, in a directory of its own where it writes windows. */
static int start_perf(struct record_run *r, struct err *err)
{
	CLEANUP(free)
	char *dir = r->dir ? xasprintf("%s/perf", r->dir) : xstrdup(r->targets.list[0].session.dir);
	struct perf_config pc = {.program = r->config.perf,
				 .dir = dir,
				 .frequency = r->config.frequency,
				 .is_split = r->targets.count > 1,
				 .windows = r->dir != NULL,
				 .stop = r->config.stop};

	if (r->dir && mkdir(dir, 0700) < 0)
		return err_set(err, errno, "make %s", dir);
	r->stack_bytes = pc.stack_bytes = targets_stack_bytes(&r->targets, &r->config);
	targets_pids(&r->targets, &r->pids, &r->pid_count);
	pc.pids = r->pids;
	pc.count = r->pid_count;
	return perf_start(&pc, &r->perf, err);
}

/* Copies the files that need no snapshot while perf records already, or starts to. */
static int begin(struct record_run *r, struct err *err)
{
	if (start_perf(r, err) < 0)
		return -1;
	if (!r->dir) {
		r->began_us = clock_us();
		return targets_copy_files(&r->targets, err);
	}
	if (targets_copy_files(&r->targets, err) < 0 || wait_until_ready(r, err) < 0)
		return -1;
	r->began_us = clock_us();
	r->snapshots = pollers_bytes(&r->targets);
	return 0;
}

static int check_stop(const struct record_run *r, struct err *err)
{
	return is_stopped(r) ? err_set(err, EINTR, "prepare the recording") : 0;
}

enum record_result record_start(const struct record_config *c, struct record_run *ret,
				struct err *err)
{
	struct record_run r = {.config = *c};
	enum record_result result = RECORD_FAILED;

	if (make_directory(&r, err) == 0)
		result = targets_find(&r.config, &r.targets, err);
	if (result == RECORD_OK && (targets_prepare(&r.targets, &r.config, err) < 0 ||
				    pollers_start(&r.targets, &r.config, err) < 0 ||
				    check_stop(&r, err) < 0 || begin(&r, err) < 0))
		result = RECORD_FAILED;
	if (result == RECORD_OK)
		*ret = r;
	else
		record_discard(&r);
	return result;
}

void record_fini(struct record_run *r)
{
	perf_abort(&r->perf);
	pollers_abort(&r->targets, r->config.root);
	targets_fini(&r->targets);
	free(r->pids);
	free(r->dir);
	*r = (struct record_run){0};
}

void record_discard(struct record_run *r)
{
	perf_abort(&r->perf);
	pollers_abort(&r->targets, r->config.root);
	for (size_t i = 0; i < r->targets.count; i++)
		target_discard(&r->targets.list[i]);
	if (r->dir)
		fs_remove_tree(AT_FDCWD, r->dir);
	record_fini(r);
}
