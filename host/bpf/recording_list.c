// SPDX-License-Identifier: Apache-2.0
#include "bpf/recording_parts.h"

#include <fcntl.h>
#include <string.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/proc.h"
#include "common/str.h"

#define MS	     10000
#define CPU_SECONDS  30
#define MEMORY_MAX   (1ull << 30)
#define FILE_MAX     (1ull << 30) /* where there is no other limit */
#define NAME_MAX_LEN 15		  /* of a thread: TASK_COMM_LEN of linux/sched.h */

struct list_job {
	struct perf_writer *writer;
	int fd;
	uint64_t max_bytes;
	const pid_t *pids;
	size_t count;
	int *maps; /* by process, -1: it has ended */
};

/* ---- mappings ---- */

struct map_target {
	struct perf_writer *writer;
	pid_t pid;
};

static int write_map(const struct proc_map *m, void *arg)
{
	const struct map_target *to = arg;

	if (m->exec)
		perf_writer_map(to->writer, to->pid, m);
	return 0;
}

/* In a jail: paths of maps are the container's. */
static int write_maps(void *arg, void *reply, struct err *err)
{
	const struct list_job *j = arg;
	CLEANUP(free) int *keep = xcalloc(j->count + 1, sizeof(*keep));
	const struct jail jail = {.role = JAIL_DISCOVER,
				  .memory = MEMORY_MAX,
				  .file_bytes = j->max_bytes ? j->max_bytes : FILE_MAX,
				  .cpu_seconds = CPU_SECONDS,
				  .keep = keep,
				  .keep_count = j->count + 1};

	(void)reply;
	memcpy(keep, j->maps, j->count * sizeof(*keep));
	keep[j->count] = j->fd;
	if (jail_enter(&jail, err) < 0)
		return -1;
	for (size_t i = 0; i < j->count; i++) {
		struct map_target to = {j->writer, j->pids[i]};
		struct err ended;

		if (j->maps[i] >= 0)
			(void)proc_each_map_in(j->maps[i], write_map, &to, &ended);
	}
	return perf_writer_flush(j->writer, err);
}

/* ---- names ---- */

struct thread_names {
	struct perf_writer *writer;
	pid_t pid;
	int procfd;
};

static void write_name(pid_t tid, pid_t nstid, void *arg)
{
	const struct thread_names *t = arg;
	CLEANUP(str_fini) struct str text = {0};
	char path[48];

	(void)nstid;
	snprintf(path, sizeof(path), "task/%d/comm", (int)tid);
	if (fs_read_file(t->procfd, path, 64, &text, NULL) < 0 || !text.len)
		return;
	if (text.buf[text.len - 1] == '\n') /* the kernel's; others are the name's */
		text.buf[text.len - 1] = '\0';
	text.buf[strnlen(text.buf, NAME_MAX_LEN)] = '\0';
	perf_writer_comm(t->writer, t->pid, tid, text.buf);
}

/* ---- both ---- */

int recording_list(struct perf_writer *w, int fd, uint64_t max_bytes, const pid_t *pids, size_t n,
		   struct err *err)
{
	struct list_job job = {.writer = w,
			       .fd = fd,
			       .max_bytes = max_bytes,
			       .pids = pids,
			       .count = n,
			       .maps = xcalloc(n + 1, sizeof(int))};
	int rc;

	for (size_t i = 0; i < n; i++) {
		struct thread_names t = {.writer = w, .pid = pids[i]};
		struct err ended;

		job.maps[i] = -1;
		t.procfd = proc_open(t.pid, &ended);
		if (t.procfd < 0)
			continue;
		proc_each_thread(t.procfd, write_name, &t);
		job.maps[i] = openat(t.procfd, "maps", O_RDONLY | O_CLOEXEC);
		close(t.procfd);
	}
	rc = perf_writer_flush(w, err);
	if (rc == 0)
		rc = child_call(write_maps, &job, NULL, 0, MS, err);
	for (size_t i = 0; i < n; i++)
		cleanup_close_fd(&job.maps[i]);
	free(job.maps);
	return rc < 0 ? -1 : perf_writer_resume(w, err);
}
