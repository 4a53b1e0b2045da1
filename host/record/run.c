// SPDX-License-Identifier: Apache-2.0
#include "record/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/log.h"
#include "common/str.h"
#include "perf/split.h"
#include "record/agent_share.h"
#include "record/budget.h"

#define PROGRESS_MS	500
#define READY_MS	30000 /* until perf has written the file before the first window */
#define SWITCH_MS	15000 /* until it has begun a new file */
#define SWITCH_AGAIN_MS 500   /* after that, the request is repeated */
#define SWITCH_POLL_MS	10
#define WINDOW_MS	10000 /* for a worker, to take snapshots and to do its task */

/* Of RECORD_SLACK_MS, the most that each step before the recording may take, and the last snapshots
 * after it. What is left is for perf, for splitting and for the tasks. A Tomcat of 140 threads on
 * two processors at a load of 40 needs 2 s for its first snapshot by the host, 8 s by the agent. */
#define LOOK_MS	   3500
#define PREPARE_MS 2000
#define REPLY_MS   1000 /* for ending children that a file system blocks */
#define END_MS	   4500
#define SPLIT_MS   3000

#define TASKS_AT_ONCE	  4	     /* or as many as there are processors */
#define TASK_MS_PER_BYTES (64 << 10) /* more time for a long recording: 1 s for 64 MB */

/* A run's age in windows. */
#define WINDOWS_MAX 150
#define WINDOWS_MIN 10

#define PART	      "perf.split"  /* of the recording, until it is whole */
#define SPLIT_BYTES   (64ull << 20) /* memory for each part, and for the reader */
#define SPLIT_SECONDS 600	    /* of a processor: some GB take 20 */

#define GROWTH_MIN (4u << 20) /* of the snapshots, bytes */

static bool is_stopped(const struct record_run *r)
{
	return r->config.stop && *r->config.stop;
}

/* ---- the workers ---- */

/* The first worker from number `i` on that has not failed, or NULL. */
static struct worker *next_alive(const struct record_run *r, size_t i)
{
	while (i < r->count && worker_has_failed(&r->workers[i]))
		i++;
	return i < r->count ? &r->workers[i] : NULL;
}

/* Removes what a worker that was killed has left: its session, and files in the container's share.
 */
static void remove_rest(const struct record_run *r, const struct worker *w)
{
	if (w->outdir.path)
		target_discard_results(&w->outdir);
	agent_share_sweep(r->config.root, w->container.id);
}

/* Tells which workers have failed, and removes what they have left. Fails if none is left: where
 * there was but one with its reason. */
static int settle(struct record_run *r, struct err *err)
{
	for (size_t i = 0; i < r->count; i++) {
		struct worker *w = &r->workers[i];

		if (!worker_has_failed(w) || w->settled)
			continue;
		w->settled = true;
		remove_rest(r, w);
		if (r->count > 1)
			log_error("%s: %s", w->container.label, w->failed.msg);
	}
	if (next_alive(r, 0))
		return 0;
	if (r->count != 1)
		return err_set(err, 0, "nothing is left to record");
	*err = r->workers[0].failed;
	return -1;
}

/* Gives all the same order and waits for the replies. */
static int order_all(struct record_run *r, const struct worker_order *o, uint64_t deadline,
		     struct err *err)
{
	for (size_t i = 0; i < r->count; i++)
		worker_order(&r->workers[i], o, deadline);
	workers_wait(r->workers, r->count, 0, r->config.stop);
	return settle(r, err);
}

/* ---- finding the containers ---- */

static bool is_known(const struct record_run *r, const struct container *c)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->workers[i].container.id, c->id) &&
		    !strcmp(r->workers[i].container.namespace, c->namespace))
			return true;
	return false;
}

/* Starts a worker for each container that has none. */
static int start_workers(struct record_run *r, struct containers *found, size_t name,
			 struct err *err)
{
	for (size_t i = 0; i < found->count; i++) {
		if (is_known(r, &found->list[i]))
			continue;
		r->workers = grow(r->workers, r->count, &r->cap, sizeof(*r->workers));
		if (worker_start(&found->list[i], &r->config, &r->workers[r->count], err) < 0)
			return -1;
		r->workers[r->count++].name = name;
	}
	return 0;
}

/* Finds the containers that a name stands for. */
static int find_named(const struct record_config *c, const char *name, struct containers *ret,
		      struct err *err)
{
	int pid = 0;

	if (!c->by_pid)
		return containers_find(c->root, name, ret, err) == CONTAINER_FOUND ? 0 : -1;
	ret->list = grow(NULL, 0, &ret->cap, sizeof(*ret->list));
	if (!parse_pid(name, &pid) || container_of_pid(c->root, pid, ret->list, err) < 0)
		return -1;
	ret->count = 1;
	return 0;
}

static enum record_result find_containers(struct record_run *r, struct err *err)
{
	const struct record_config *c = &r->config;

	for (size_t i = 0; i < (c->all ? 1 : c->name_count); i++) {
		CLEANUP(containers_fini) struct containers found = {0};

		if (c->all && containers_list(c->root, &found, err) < 0)
			return RECORD_FAILED;
		if (!c->all && find_named(c, c->names[i], &found, err) < 0)
			return RECORD_NO_CONTAINER;
		if (start_workers(r, &found, i, err) < 0)
			return RECORD_FAILED;
	}
	return RECORD_OK;
}

/* Ends the workers that have nothing to record: of all containers those without a JVM, and those
 * whose container has ended. */
static void drop_idle(struct record_run *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct worker *w = &r->workers[i];

		if (r->config.all ? w->jvms == 0 : w->pid_count == 0)
			worker_fini(w);
		else
			r->workers[n++] = *w;
	}
	r->count = n;
}

/* Has the workers look for JVMs. */
static enum record_result look(struct record_run *r, struct err *err)
{
	const struct worker_order o = {.command = WORKER_LOOK};

	for (size_t i = 0; i < r->count; i++)
		worker_order(&r->workers[i], &o, deadline_after(LOOK_MS));
	workers_wait(r->workers, r->count, 0, r->config.stop);
	drop_idle(r);
	if (is_stopped(r))
		return err_set(err, EINTR, "prepare the recording"), RECORD_FAILED;
	if (r->count && settle(r, err) < 0)
		return RECORD_FAILED;
	if (r->count)
		return RECORD_OK;
	if (r->config.all)
		return err_set(err, 0, "no container with a JVM runs on this host"), RECORD_NO_JVM;
	return err_set(err, 0, "the container ended before its processes could be read"),
	       RECORD_NO_CONTAINER;
}

/* Makes the directories of the results, and has the workers take the first snapshots. */
static int prepare(struct record_run *r, struct err *err)
{
	struct worker_order o = {.command = WORKER_PREPARE, .deadline = deadline_after(PREPARE_MS)};
	const bool below = r->config.all || r->count > 1;

	for (struct worker *w = r->workers; (w = next_alive(r, (size_t)(w - r->workers))); w++) {
		struct err why;

		if (target_make_results(&w->container, &r->config, below, &w->outdir, &why) < 0)
			worker_fail(w, &why);
		else
			worker_order(w, &o, o.deadline + REPLY_MS);
	}
	log_progress("reading the JVMs");
	workers_wait(r->workers, r->count, 0, r->config.stop);
	log_progress("%s", "");
	if (is_stopped(r))
		return err_set(err, EINTR, "prepare the recording");
	return settle(r, err);
}

/* ---- perf ---- */

/* Collects the pids that perf begins with. */
static void collect_pids(struct record_run *r)
{
	size_t cap = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct worker *w = &r->workers[i];

		for (size_t k = 0; k < w->pid_count && !worker_has_failed(w); k++) {
			r->pids = grow(r->pids, r->pid_count, &cap, sizeof(*r->pids));
			r->pids[r->pid_count++] = w->pids[k];
		}
	}
}

/* Bytes of the stack to copy with each sample; 0 for frame pointers. */
static unsigned choose_stack_bytes(const struct record_run *r)
{
	const struct record_config *c = &r->config;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	bool keep_fp = true;

	for (size_t i = 0; i < r->count; i++)
		keep_fp &= worker_has_failed(&r->workers[i]) || r->workers[i].keeps_fp;
	if (c->unwind == RECORD_UNWIND_FP || (c->unwind == RECORD_UNWIND_AUTO && keep_fp))
		return 0;
	return c->stack_bytes
		       ? c->stack_bytes
		       : perf_stack_bytes(cpus > 0 ? (size_t)cpus : 1, c->frequency, c->duration);
}

/* True if the recording has, or may have, the memory of processes that are not a target's: perf
 * opens processes by their pids, and those of ended ones may be others'. */
static bool needs_split(const struct record_run *r)
{
	return r->perf.whole_machine || r->count > 1 || (r->count && r->workers[0].process_ended);
}

/* Opens the directory of the recording, before it is split, of all. */
static int open_whole(struct record_run *r, struct err *err)
{
	if (!r->dir && temp_dir_make(r->config.root, &r->temp, err) < 0)
		return -1;
	r->whole = open(r->dir ? r->dir : r->temp.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r->whole < 0 ? err_set(err, errno, "open a temporary directory") : 0;
}

/* The directory of perf.data as perf has written it: the only session, or that of all. */
static int recording_dirfd(const struct record_run *r)
{
	return r->whole >= 0 ? r->whole : next_alive(r, 0)->sessionfd;
}

/* Starts perf: in the directory of the recording, but where it writes windows in one of its own. */
static int start_perf(struct record_run *r, struct err *err)
{
	CLEANUP(free) char *path = xasprintf("%s/perf", r->dir ? r->dir : "");
	CLEANUP(outdir_close) struct outdir dir = {0};
	struct perf_config pc = {.program = r->config.perf,
				 .frequency = r->config.frequency,
				 .windows = r->dir != NULL,
				 .stop = r->config.stop};

	collect_pids(r);
	r->stack_bytes = pc.stack_bytes = choose_stack_bytes(r);
	pc.pids = r->pids;
	pc.count = r->pid_count;
	pc.whole_machine = perf_needs_whole_machine(r->pids, r->pid_count);
	pc.begin_deadline = r->deadline - END_MS - SPLIT_MS;
	pc.is_split = pc.whole_machine || r->count > 1;
	if ((pc.is_split && open_whole(r, err) < 0) ||
	    (r->dir && outdir_open(path, 0700, &dir, err) < 0))
		return -1;
	pc.dirfd = r->dir ? dir.fd : recording_dirfd(r);
	return perf_start(&pc, &r->perf, err);
}

static int stop_perf(struct record_run *r, struct err *err)
{
	if (perf_stop(&r->perf, r->dir ? deadline_after(SWITCH_MS) : r->deadline - SPLIT_MS, err) ==
	    0)
		return 0;
	if (r->config.explain)
		r->config.explain(r->config.root, err);
	return -1;
}

/* ---- a recording for each session ---- */

struct split_job {
	int from;
	struct perf_part *parts; /* one for each worker that is left */
	size_t count;
};

static void split_job_fini(struct split_job *j)
{
	for (size_t i = 0; i < j->count; i++)
		cleanup_close_fd(&j->parts[i].fd);
	cleanup_close_fd(&j->from);
	free(j->parts);
}

static int split_confined(void *arg, void *reply, struct err *err)
{
	const struct split_job *j = arg;
	CLEANUP(free) int *keep = xcalloc(1 + j->count, sizeof(*keep));
	struct jail jail = {.role = JAIL_SPLIT,
			    .cpu_seconds = SPLIT_SECONDS,
			    .keep = keep,
			    .keep_count = 1 + j->count};
	struct stat st;

	(void)reply;
	if (fstat(j->from, &st) < 0)
		return err_set(err, errno, "size of the recording");
	jail.memory = SPLIT_BYTES * (1 + j->count) + (uint64_t)st.st_size;
	jail.file_bytes = SPLIT_BYTES + (uint64_t)st.st_size;
	keep[0] = j->from;
	for (size_t i = 0; i < j->count; i++)
		keep[1 + i] = j->parts[i].fd;
	if (jail_enter(&jail, err) < 0)
		return -1;
	return perf_split(j->from, j->parts, j->count, err);
}

static int add_part(struct split_job *j, const struct worker *w, struct err *err)
{
	struct perf_part *part = &j->parts[j->count++];

	unlinkat(w->sessionfd, PART, 0);
	*part = (struct perf_part){.pids = w->pids, .count = w->pid_count};
	part->fd = fs_create(w->sessionfd, PART, 0600, err);
	return part->fd < 0 ? -1 : 0;
}

/* Splits the recording in a process without privileges: each session gets what is its own. */
static int split_recording(const struct record_run *r, struct err *err)
{
	struct split_job j = {.parts = xcalloc(r->count, sizeof(*j.parts))};
	const int left = deadline_ms_left(r->deadline), dirfd = recording_dirfd(r);
	int rc = 0;

	log_progress("splitting the recording by its processes");
	j.from = openat(dirfd, "perf.data", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (j.from < 0)
		rc = err_set(err, errno, "open the recording");
	for (struct worker *w = r->workers; (w = next_alive(r, (size_t)(w - r->workers))); w++)
		if (rc == 0)
			rc = add_part(&j, w, err);
	if (rc == 0)
		rc = child_call(split_confined, &j, NULL, 0, left, err);
	unlinkat(dirfd, "perf.data", 0); /* also where its only part gets this name */
	for (struct worker *w = r->workers; (w = next_alive(r, (size_t)(w - r->workers))); w++)
		if (rc == 0 && renameat(w->sessionfd, PART, w->sessionfd, "perf.data") < 0)
			rc = err_set(err, errno, "rename a part of the recording");
	split_job_fini(&j);
	log_progress("%s", "");
	return rc;
}

/* ---- one recording ---- */

static void log_early_end(const struct record_run *r)
{
	if (perf_is_full(&r->perf))
		log_warn("the recording ended after %llu s: the disk of %s is full",
			 (unsigned long long)(clock_us() - r->began_us) / 1000000,
			 r->whole >= 0 ? r->temp.dir : r->workers[0].outdir.path);
	else
		log_info("the recording ended early: no process is left, or perf failed");
}

/* Waits until the time is over, or until perf has ended early. */
static void wait_for_end(struct record_run *r)
{
	uint64_t end = r->began_us + r->config.duration * 1000000ull, now;
	bool ended = false;

	while (!ended && (now = clock_us()) < end && !is_stopped(r)) {
		uint64_t left = (end - now) / 1000 + 1;

		log_progress("recording %s: %llu of %u s (^C ends it and draws)",
			     r->count == 1 ? r->workers[0].container.label : "all",
			     (unsigned long long)(now - r->began_us) / 1000000, r->config.duration);
		ended = perf_wait(&r->perf, left < PROGRESS_MS ? (int)left : PROGRESS_MS);
	}
	log_progress("%s", "");
	if (ended)
		log_early_end(r);
}

int record_finish(struct record_run *r, struct err *err)
{
	struct worker_order o = {.command = WORKER_END, .stack_bytes = r->stack_bytes};
	uint64_t end;

	wait_for_end(r);
	o.ended = clock_ms();
	o.us = r->us = clock_us() - r->began_us;
	r->deadline += r->us / 1000;
	end = deadline_after(END_MS);
	if (end > r->deadline)
		end = r->deadline;
	o.deadline = end > REPLY_MS ? end - REPLY_MS : 0;
	/* The last snapshots are taken while perf writes what it has. */
	perf_end(&r->perf);
	for (size_t i = 0; i < r->count; i++)
		worker_order(&r->workers[i], &o, end);
	if (stop_perf(r, err) < 0)
		return -1;
	workers_wait(r->workers, r->count, 0, r->config.stop);
	if (settle(r, err) < 0)
		return -1;
	return needs_split(r) ? split_recording(r, err) : 0;
}

/* ---- tasks ---- */

/* The time at which a task must have ended: later where its own recording is long. */
static uint64_t task_deadline(const struct record_run *r, const struct worker *w, int ms)
{
	uint64_t deadline = ms ? deadline_after(ms) : r->deadline;
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

/* ---- windows ---- */

/* Waits until perf goes on in a new file. 1, 0 when there is no further window, -1. */
static int switch_file(struct record_run *r, int ms, struct err *err)
{
	uint64_t now = clock_ms(), deadline = now + (uint64_t)ms, again = now;

	for (; now < deadline && !is_stopped(r); now = clock_ms()) {
		bool ended = perf_wait(&r->perf, 0);
		int rc = perf_next_window(&r->perf, recording_dirfd(r), err);

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
	for (size_t i = 0; i < r->count; i++)
		for (size_t k = 0; k < r->workers[i].pid_count; k++)
			if (kill(r->workers[i].pids[k], 0) == 0)
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
	if (order_all(r, &o, deadline_after(WINDOW_MS), err) < 0)
		return -1;
	r->deadline = deadline_after(WINDOW_MS);
	return needs_split(r) && split_recording(r, err) < 0 ? -1 : 1;
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
	for (size_t i = 0; i < r->count && !r->perf.whole_machine; i++)
		for (size_t k = 0; k < r->workers[i].pid_count; k++)
			if (!has_pid(r, r->workers[i].pids[k]))
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

static uint64_t snapshot_bytes(const struct record_run *r)
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
	       snapshot_bytes(r) > 2 * r->snapshots + GROWTH_MIN;
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

	if (start_perf(r, err) < 0)
		return -1;
	r->began_us = clock_us();
	if (!r->dir && ms > r->config.duration * 1000ull + END_MS / 2)
		ms = r->config.duration * 1000ull + END_MS / 2;
	o.deadline = deadline_after((int)ms);
	if (order_all(r, &o, deadline_after(WINDOW_MS), err) < 0)
		return -1;
	if (r->dir && wait_until_ready(r, err) < 0)
		return -1;
	if (r->dir)
		r->began_us = clock_us();
	r->snapshots = snapshot_bytes(r);
	return 0;
}

enum record_result record_start(const struct record_config *c, struct record_run *ret,
				struct err *err)
{
	struct record_run r = {
		.config = *c, .deadline = deadline_after(RECORD_SLACK_MS), .whole = -1};
	enum record_result result = RECORD_FAILED;

	if (make_directory(&r, err) == 0)
		result = find_containers(&r, err);
	if (result == RECORD_OK)
		result = look(&r, err);
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
	perf_abort(&r->perf);
	for (size_t i = 0; i < r->count; i++)
		worker_fini(&r->workers[i]);
	cleanup_close_fd(&r->whole);
	temp_dir_remove(&r->temp);
	free(r->workers);
	free(r->pids);
	free(r->dir);
	*r = (struct record_run){.whole = -1};
}

void record_discard(struct record_run *r)
{
	perf_abort(&r->perf);
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
