// SPDX-License-Identifier: Apache-2.0
#include "record/run_parts.h"

#include <errno.h>
#include <fcntl.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/str.h"

#define USUAL	3
#define SLOWEST 8

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
		if (worker_start(&found->list[i], &r->config, r->turns, &r->workers[r->count],
				 err) < 0)
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

		if (!worker_has_failed(w) && (r->config.all ? w->jvms == 0 : w->pid_count == 0))
			worker_fini(w);
		else
			r->workers[n++] = *w;
	}
	r->count = n;
}

/* Has the workers look for JVMs. */
static enum record_result look(struct record_run *r, struct err *err)
{
	const uint64_t deadline = deadline_after(run_ms(r, RUN_LOOK_MS, 1));
	const struct worker_order o = {.command = WORKER_LOOK, .deadline = deadline - RUN_REPLY_MS};

	for (size_t i = 0; i < r->count; i++)
		worker_order(&r->workers[i], &o, deadline);
	workers_wait(r->workers, r->count, 0, r->config.stop);
	drop_idle(r);
	if (run_is_stopped(r))
		return err_set(err, EINTR, "prepare the recording"), RECORD_FAILED;
	if (r->count && run_settle(r, err) < 0)
		return RECORD_FAILED;
	if (r->count)
		return RECORD_OK;
	if (r->config.all)
		return err_set(err, 0,
			       "dfg found no container with a JVM; a process of the host: --pid "
			       "PID"),
		       RECORD_NO_JVM;
	return err_set(err, 0,
		       "its processes could not be read: they ended, or may not be inspected"),
	       RECORD_NO_CONTAINER;
}

int run_ms(const struct record_run *r, int ms, unsigned steps)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double each = (double)(RUN_EACH_MS * steps * r->count) / (double)(cpus > 0 ? cpus : 1);

	return (int)((ms + each) * r->slowness);
}

/* Threads that run or wait for a processor (proc_loadavg(5), fourth field), per processor. */
static double runnable_per_processor(void)
{
	CLEANUP(str_fini) struct str text = {0};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double runnable;

	if (fs_read_file(AT_FDCWD, "/proc/loadavg", 128, &text, NULL) < 0 ||
	    sscanf(text.buf, "%*f %*f %*f %lf/", &runnable) != 1)
		return 1;
	return runnable / (double)(cpus > 0 ? cpus : 1);
}

/* Compares the time that work took with its processor time: waiting for files, and for children
 * that parse them, makes up to USUAL of it. Short work may have had luck: so many threads that are
 * runnable will make others wait as often. */
static double slowness_of(uint64_t us, uint64_t cpu_us)
{
	double times = cpu_us ? (double)us / (double)cpu_us / USUAL : 1;
	double waiting = runnable_per_processor();

	times = times < waiting ? waiting : times;
	return times < 1 ? 1 : times > SLOWEST ? SLOWEST : times;
}

enum record_result run_find(struct record_run *r, struct err *err)
{
	const uint64_t began = clock_us(), cpu = clock_cpu_us();
	enum record_result result = find_containers(r, err);

	r->slowness = slowness_of(clock_us() - began, clock_cpu_us() - cpu);
	r->deadline = began / 1000 + (uint64_t)run_ms(r, RECORD_SLACK_MS, RUN_STEPS);
	return result == RECORD_OK ? look(r, err) : result;
}
