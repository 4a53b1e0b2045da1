// SPDX-License-Identifier: Apache-2.0
#include "record/run_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bpf/recording.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"

#define NEXT	     "perf.next"
#define LOOKS	     4	    /* after a container has begun a program */
#define NEXT_LOOK_MS 2000   /* from one to the next */
#define LOOK_MS	     1000   /* for what one waits for */
#define BUILD_MS     2000   /* for the tables of all containers */
#define COPY	     65528u /* bytes of a stack that is not walked: few are. The kernel's most */

/* One for each worker, also for those that have failed: nothing then. */
static struct kernel_target *targets_of(struct record_run *r)
{
	struct kernel_target *list = xcalloc(r->count, sizeof(*list));

	for (size_t i = 0; i < r->count; i++) {
		struct worker *w = &r->workers[i];

		list[i].builder = TAKE_FD(w->tables);
		if (worker_has_failed(w))
			continue;
		list[i].pids = w->pids;
		list[i].count = w->pid_count;
	}
	return list;
}

static int start_kernel(struct record_run *r, struct err *err)
{
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(free) struct kernel_target *targets = NULL;
	struct kernel_recording_config c = {
		.frequency = r->config.frequency,
		.events = record_events(&r->config),
		.stack_bytes = r->config.stack_bytes ? r->config.stack_bytes : COPY,
		.count = r->count,
		.deadline = deadline_after(run_ms(r, BUILD_MS, 1)),
	};

	if (r->config.perf_event)
		(void)counted_event_find(r->config.perf_event, &c.event);
	if (run_open_whole(r, err) < 0)
		return -1;
	fd = fs_create(r->whole, "perf.data", 0600, err);
	if (fd < 0)
		return -1;
	c.fd = fd;
	c.max_bytes = perf_room_for(r->whole, true);
	c.targets = targets = targets_of(r);
	log_progress("building tables for the kernel");
	if (kernel_recording_start(&c, &r->kernel, err) < 0)
		return err_wrap(err, "record in the kernel");
	log_progress("%s", "");
	r->in_kernel = true;
	r->stack_bytes = c.stack_bytes;
	return 0;
}

/* Removes what a recorder that did not start has left. Sessions that share files keep theirs. */
static void forget_whole(struct record_run *r)
{
	if (r->whole >= 0)
		unlinkat(r->whole, "perf.data", 0);
	if (r->shared >= 0)
		return;
	cleanup_close_fd(&r->whole);
	temp_dir_remove(&r->temp);
}

/* ---- either recorder ---- */

bool run_wants_kernel(const struct record_run *r)
{
	const struct record_config *c = &r->config;
	struct counted_event ignored;

	if (c->perf_event && !counted_event_find(c->perf_event, &ignored))
		return false;
	return c->unwind == RECORD_UNWIND_BPF || (c->unwind == RECORD_UNWIND_AUTO && !c->perf);
}

int run_start_recorder(struct record_run *r, struct err *err)
{
	run_collect_pids(r);
	if (run_wants_kernel(r)) {
		if (start_kernel(r, err) == 0)
			return 0;
		forget_whole(r);
		if (r->config.unwind == RECORD_UNWIND_BPF || !record_by_perf(&r->config))
			return -1;
		log_info("perf records: %s", err->msg);
	}
	if (!record_by_perf(&r->config))
		return err_set(err, 0,
			       "event %s is none of dfg's own, and others are recorded alone",
			       r->config.perf_event ? r->config.perf_event : "");
	return run_start_perf(r, err);
}

/* Pids that do not fit into a message are told the next time; a process may be told twice. */
void run_tell_recorder(struct record_run *r)
{
	pid_t more[KERNEL_RECORDING_MORE];
	bool all = r->in_kernel;

	for (size_t i = 0; r->in_kernel && i < r->count; i++) {
		struct worker *w = &r->workers[i];
		size_t n = 0;

		for (size_t k = 0; k < w->pid_count && n < KERNEL_RECORDING_MORE; k++)
			if (!run_has_pid(r, w->pids[k]))
				more[n++] = w->pids[k];
		all &= n < KERNEL_RECORDING_MORE;
		if (n || w->tables >= 0)
			kernel_recording_add(&r->kernel, i, more, n, TAKE_FD(w->tables));
	}
	if (all)
		run_collect_pids(r);
}

/* Has workers look for JVMs in the containers that have begun programs, a few times for each, and
 * build tables of JVMs whose first snapshot was not there when the recording began. */
static void look_again(struct record_run *r)
{
	struct worker_order o = {.command = WORKER_FOLLOW,
				 .in_kernel = true,
				 .deadline = deadline_after(run_ms(r, LOOK_MS, 1))};

	for (size_t i = 0; i < r->count; i++) {
		struct worker *w = &r->workers[i];
		uint64_t execs = r->kernel.counts[i].execs;

		if (execs != w->execs)
			w->looks = LOOKS;
		w->execs = execs;
		if (w->busy || (!w->looks && !w->jvm_late))
			continue;
		o.looks = w->looks > 0;
		w->looks -= o.looks;
		worker_order(w, &o, UINT64_MAX);
	}
}

void run_follow(struct record_run *r, bool looks)
{
	if (!r->in_kernel)
		return;
	if (workers_receive(r->workers, r->count))
		run_tell_recorder(r);
	if (looks && !deadline_ms_left(r->next_look)) {
		r->next_look = deadline_after(NEXT_LOOK_MS);
		look_again(r);
	}
}

int run_switch_kernel(struct record_run *r, int ms, struct err *err)
{
	CLEANUP(close_fd) int fd = fs_create(r->whole, NEXT, 0600, err);

	return fd < 0 ? -1 : kernel_recording_switch(&r->kernel, fd, deadline_after(ms), err);
}

int run_take_next(const struct record_run *r, struct err *err)
{
	if (!r->in_kernel || renameat(r->whole, NEXT, r->whole, "perf.data") == 0)
		return 0;
	return err_set(err, errno, "rename a recording");
}

bool run_wait_recorder(struct record_run *r, int ms)
{
	return r->in_kernel ? kernel_recording_wait(&r->kernel, ms) : perf_wait(&r->perf, ms);
}

bool run_is_full(const struct record_run *r)
{
	return r->in_kernel ? r->kernel.full : perf_is_full(&r->perf);
}

void run_add_failure(const struct record_run *r, struct str *out)
{
	if (!r->in_kernel)
		perf_add_failure(&r->perf, out);
	else if (r->kernel.control < 0 && !r->kernel.ended)
		str_adds(out, "the recorder in the kernel was ended");
	else if (!r->kernel.full)
		str_adds(out, r->kernel.failed.msg);
}

void run_end_recorder(struct record_run *r)
{
	uint64_t end = clock_us();

	if (r->in_kernel)
		kernel_recording_end(&r->kernel);
	else
		perf_end(&r->perf);
	if (r->in_kernel && r->kernel.end)
		end = r->kernel.end / 1000;
	r->us = end - r->began_us;
}

/* Of a recorder that was killed there is what it has written. */
int run_stop_recorder(struct record_run *r, struct err *err)
{
	struct stat st;

	if (!r->in_kernel)
		return run_stop_perf(r, err);
	if (kernel_recording_stop(&r->kernel, r->deadline - RUN_SPLIT_MS, err) == 0)
		return 0;
	if (fstatat(r->whole, "perf.data", &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size == 0)
		return -1;
	log_warn("%s: its last samples are missing", err->msg);
	return 0;
}

void run_abort_recorder(struct record_run *r)
{
	kernel_recording_abort(&r->kernel);
	perf_abort(&r->perf);
}
