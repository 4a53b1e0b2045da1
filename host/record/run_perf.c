// SPDX-License-Identifier: Apache-2.0
#include "record/run_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/log.h"
#include "common/str.h"
#include "perf/split.h"

#define PART	      "perf.split"  /* of the recording, until it is whole */
#define SPLIT_BYTES   (64ull << 20) /* memory for each part, and for the reader */
#define SPLIT_SECONDS 600	    /* of a processor: some GB take 20 */

/* ---- perf ---- */

void run_collect_pids(struct record_run *r)
{
	size_t cap = 0;

	free(r->pids);
	r->pids = NULL;
	r->pid_count = 0;
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

/* True if the recording has, or may have, what is not a target's: the recorder in the kernel writes
 * the records of all processes but their samples, and the rest of a copy that is not full; perf
 * opens processes by their pids, and those of ended ones may be others'. */
static bool needs_split(const struct record_run *r)
{
	return r->in_kernel || r->perf.whole_machine || r->count > 1 ||
	       (r->count && r->workers[0].process_ended);
}

int run_open_whole(struct record_run *r, struct err *err)
{
	if (r->whole >= 0)
		return 0;
	if (!r->dir && !r->temp.dir && temp_dir_make(r->config.root, &r->temp, err) < 0)
		return -1;
	r->whole = open(r->dir ? r->dir : r->temp.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r->whole < 0 ? err_set(err, errno, "open a temporary directory") : 0;
}

int run_recording_dirfd(const struct record_run *r)
{
	return r->whole >= 0 ? r->whole : run_next_alive(r, 0)->sessionfd;
}

/* Finds the cgroups of all containers; none where one has none of its own. */
static size_t find_cgroups(const struct record_run *r, char **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (worker_has_failed(&r->workers[i]))
			continue;
		ret[n] = container_perf_cgroup(&r->workers[i].container);
		if (ret[n]) {
			n++;
			continue;
		}
		while (n)
			free(ret[--n]);
		break;
	}
	return n;
}

/* Starts perf: in the directory of the recording, but where it writes windows in one of its own. */
int run_start_perf(struct record_run *r, struct err *err)
{
	CLEANUP(free) char *path = xasprintf("%s/perf", r->dir ? r->dir : "");
	CLEANUP(outdir_close) struct outdir dir = {0};
	struct perf_config pc = {.program = r->config.perf,
				 .frequency = r->config.frequency,
				 .event = r->config.perf_event,
				 .windows = r->dir != NULL,
				 .stop = r->config.stop};
	CLEANUP(free) char **cgroups = xcalloc(r->count, sizeof(*cgroups));
	int rc;

	r->stack_bytes = pc.stack_bytes = choose_stack_bytes(r);
	pc.pids = r->pids;
	pc.count = r->pid_count;
	pc.whole_machine = perf_needs_whole_machine(r->pids, r->pid_count);
	pc.begin_deadline = r->deadline - (uint64_t)run_ms(r, RUN_END_MS + RUN_SPLIT_MS, 2);
	pc.is_split = pc.whole_machine || r->count > 1;
	if (pc.event && perf_event_period(&pc, &pc.period, err) < 0)
		return -1;
	if (pc.whole_machine)
		pc.cgroup_count = find_cgroups(r, cgroups);
	pc.cgroups = cgroups;
	if ((pc.is_split && run_open_whole(r, err) < 0) ||
	    (r->dir && outdir_open(path, 0700, &dir, err) < 0))
		return -1;
	pc.dirfd = r->dir ? dir.fd : run_recording_dirfd(r);
	rc = perf_start(&pc, &r->perf, err);
	for (size_t i = 0; i < pc.cgroup_count; i++)
		free(cgroups[i]);
	return rc;
}

int run_stop_perf(struct record_run *r, struct err *err)
{
	if (perf_stop(&r->perf, r->dir ? deadline_after(RUN_WINDOW_MS) : r->deadline - RUN_SPLIT_MS,
		      err) == 0)
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

int run_split(struct record_run *r, struct err *err)
{
	struct split_job j = {.parts = xcalloc(r->count, sizeof(*j.parts))};
	const int left = deadline_ms_left(r->deadline), dirfd = run_recording_dirfd(r);
	int rc = 0;

	if (!needs_split(r)) {
		free(j.parts);
		return 0;
	}
	log_progress("splitting the recording by its processes");
	j.from = openat(dirfd, "perf.data", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (j.from < 0)
		rc = err_set(err, errno, "open the recording");
	for (struct worker *w = r->workers; (w = run_next_alive(r, (size_t)(w - r->workers))); w++)
		if (rc == 0)
			rc = add_part(&j, w, err);
	if (rc == 0)
		rc = child_call(split_confined, &j, NULL, 0, left, err);
	unlinkat(dirfd, "perf.data", 0); /* also where its only part gets this name */
	for (struct worker *w = r->workers; (w = run_next_alive(r, (size_t)(w - r->workers))); w++)
		if (rc == 0 && renameat(w->sessionfd, PART, w->sessionfd, "perf.data") < 0)
			rc = err_set(err, errno, "rename a part of the recording");
	split_job_fini(&j);
	log_progress("%s", "");
	return rc;
}
