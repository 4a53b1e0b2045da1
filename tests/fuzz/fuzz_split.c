// SPDX-License-Identifier: Apache-2.0
/* A recording that is split by processes: no part has a sample of a process that is neither one of
 * its own nor descends from one, and a part can be split again. */
#include "fuzz/filemap.h"

/* Less memory to be cleared for each part. */
#define PID_MAX (1 << 13)
#include "perf/split.c"

#define FORKS 256

struct forks {
	pid_t parent[FORKS], child[FORKS];
	size_t count;
	bool all; /* there was room for all */
};

static struct perfdata *open_part(int fd)
{
	struct err err;

	return perfdata_open(fd, &err);
}

static void read_forks(int fd, struct forks *ret)
{
	struct perfdata *pd = open_part(fd);
	struct perf_record r;

	ret->count = 0;
	ret->all = true;
	while (pd && perfdata_next(pd, &r)) {
		if (r.type != PERF_RECORD_FORK)
			continue;
		if (ret->count == FORKS) {
			ret->all = false;
			break;
		}
		ret->parent[ret->count] = r.fork.ppid;
		ret->child[ret->count++] = r.pid;
	}
	perfdata_close(pd);
}

/* True if a chain of forks, in any order, leads from one of the pids to this one. */
static bool descends(const struct forks *f, pid_t pid, const pid_t *pids, size_t n)
{
	bool reached[FORKS] = {0}, more = true;

	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	while (more) {
		more = false;
		for (size_t i = 0; i < f->count; i++) {
			bool from = false;

			if (reached[i])
				continue;
			for (size_t k = 0; k < n; k++)
				from |= f->parent[i] == pids[k];
			for (size_t k = 0; k < f->count; k++)
				from |= reached[k] && f->child[k] == f->parent[i];
			reached[i] = from;
			more |= from;
			if (from && f->child[i] == pid)
				return true;
		}
	}
	return false;
}

static void check_part(const struct forks *f, const struct perf_part *part)
{
	struct perfdata *pd = open_part(part->fd);
	struct perf_record r;

	while (pd && f->all && perfdata_next(pd, &r))
		if (r.type == PERF_RECORD_SAMPLE)
			require(descends(f, r.pid, part->pids, part->count));
	perfdata_close(pd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const pid_t pids[] = {7, 42, 4711};
	static struct forks forks;
	int fd = input_file(0, data, size);
	struct perf_part part[] = {{.pids = pids, .count = 2, .fd = input_file(1, "", 0)},
				   {.pids = pids + 2, .count = 1, .fd = input_file(2, "", 0)}};
	struct perf_part again = {.pids = pids, .count = 1};
	struct err err;

	if (perf_split(fd, part, ARRAY_LEN(part), &err) < 0)
		return 0;
	read_forks(fd, &forks);
	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		check_part(&forks, &part[i]);
	again.fd = input_file(3, "", 0);
	if (perf_split(part[0].fd, &again, 1, &err) == 0)
		check_part(&forks, &again);
	return 0;
}
