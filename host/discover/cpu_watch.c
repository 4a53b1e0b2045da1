// SPDX-License-Identifier: Apache-2.0
#include "discover/cpu_watch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/str.h"

#define FILE_MAX 65536u
#define LEVELS	 64 /* of control groups that are looked at */

/* ---- texts ---- */

/* Parses a number in decimal at the start of the text; -1: there is none. */
static int64_t number(const char *text)
{
	char *end;
	long long n;

	if (*text < '0' || *text > '9')
		return -1;
	n = strtoll(text, &end, 10);
	return *end && !strchr(" \n", *end) ? -1 : n;
}

/* The limit of a quota and a period in µs. */
static double limit_of(int64_t quota, int64_t period)
{
	return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

double cpu_limit_parse(const char *max)
{
	const char *period = strchr(max, ' ');

	if (!period)
		return -1;
	return limit_of(number(max), number(period + 1));
}

int64_t cpu_counter_parse(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ' ')
			return number(line + len + 1);
	}
	return -1;
}

int64_t cpu_pressure_parse(const char *text)
{
	static const char total[] = " total=";
	const char *at = has_prefix(text, "some ") ? strstr(text, total) : NULL;

	return at ? number(at + strlen(total)) : -1;
}

/* user nice system idle iowait irq softirq steal; guest times are in the first two. */
void cpu_machine_parse(const char *text, struct cpu_counters *ret)
{
	enum { STEAL = 7, FIELDS };
	int64_t sum = 0, n = -1;
	const char *at = text;

	ret->machine = ret->stolen = -1;
	if (!has_prefix(text, "cpu "))
		return;
	for (int i = 0; i < FIELDS; i++) {
		at = strchr(at, ' ');
		while (at && *at == ' ')
			at++;
		n = at ? number(at) : -1;
		if (n < 0)
			return;
		sum += n;
	}
	ret->stolen = n;
	ret->machine = sum;
}

/* ---- counters ---- */

static bool read_text(int dirfd, const char *name, struct str *ret)
{
	CLEANUP(close_fd)
	int fd = dirfd >= 0 ? openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;

	str_clear(ret);
	str_adds(ret, "");
	return fd >= 0 && fs_read_all(fd, FILE_MAX, ret, NULL) == 0;
}

static int64_t read_number(int dirfd, const char *name)
{
	CLEANUP(str_fini) struct str text = {0};

	return read_text(dirfd, name, &text) ? number(text.buf) : -1;
}

static double limit_at(int dirfd, bool v1)
{
	CLEANUP(str_fini) struct str text = {0};

	if (v1)
		return limit_of(read_number(dirfd, "cpu.cfs_quota_us"),
				read_number(dirfd, "cpu.cfs_period_us"));
	return read_text(dirfd, "cpu.max", &text) ? cpu_limit_parse(text.buf) : 0;
}

static int64_t micro(int64_t ns)
{
	return ns < 0 ? ns : ns / 1000;
}

static void read_counters(const struct cpu_watch *w, struct cpu_counters *ret)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(close_fd) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	*ret = (struct cpu_counters){
		.at = clock_us(), .used = -1, .periods = -1, .pressure_us = -1};
	if (w->v1)
		ret->used = micro(read_number(w->usage, "cpuacct.usage"));
	else if (read_text(w->usage, "cpu.stat", &text))
		ret->used = cpu_counter_parse(text.buf, "usage_usec");
	if (w->limit > 0 && read_text(w->limited, "cpu.stat", &text)) {
		ret->periods = cpu_counter_parse(text.buf, "nr_periods");
		ret->throttled = cpu_counter_parse(text.buf, "nr_throttled");
		ret->throttled_us = w->v1 ? micro(cpu_counter_parse(text.buf, "throttled_time"))
					  : cpu_counter_parse(text.buf, "throttled_usec");
	}
	if (read_text(w->pressure, "cpu.pressure", &text))
		ret->pressure_us = cpu_pressure_parse(text.buf);
	(void)read_text(proc, "stat", &text);
	cpu_machine_parse(text.buf, ret);
}

/* (end - begin) / whole; below 0 where that is not known. */
static double rate(int64_t begin, int64_t end, int64_t whole)
{
	return begin >= 0 && end >= begin && whole > 0 ? (double)(end - begin) / (double)whole : -1;
}

void cpu_difference(const struct cpu_counters *begin, const struct cpu_counters *end,
		    struct session_cpu *ret)
{
	int64_t us = (int64_t)(end->at - begin->at);

	ret->used = rate(begin->used, end->used, us);
	ret->pressure = rate(begin->pressure_us, end->pressure_us, us);
	ret->steal = rate(begin->stolen, end->stolen, end->machine - begin->machine);
	if (begin->periods < 0 || end->periods < begin->periods)
		return;
	ret->throttled_seconds = rate(begin->throttled_us, end->throttled_us, 1000000);
	ret->throttled_periods =
		end->periods == begin->periods
			? 0
			: rate(begin->throttled, end->throttled, end->periods - begin->periods);
}

/* ---- control groups ---- */

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static bool is_on(int dirfd, int other)
{
	struct stat x, y;

	return fstat(dirfd, &x) == 0 && fstat(other, &y) == 0 && x.st_dev == y.st_dev;
}

/* Finds the lowest limit from the group on upwards, as far as its file system goes. */
static void find_limit(struct cpu_watch *w, int group)
{
	CLEANUP(close_fd) int at = fcntl(group, F_DUPFD_CLOEXEC, 0);

	w->limit = at < 0 ? -1 : 0;
	for (int i = 0; at >= 0 && i < LEVELS; i++) {
		double limit = limit_at(at, w->v1);
		int above = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (limit > 0 && (w->limit == 0 || limit < w->limit)) {
			w->limit = limit;
			cleanup_close_fd(&w->limited);
			w->limited = fcntl(at, F_DUPFD_CLOEXEC, 0);
		}
		if (above >= 0 && (!is_on(above, group) || is_same(above, at)))
			cleanup_close_fd(&above);
		cleanup_close_fd(&at);
		at = above;
	}
}

void cpu_watch_begin(const struct container *c, struct cpu_watch *w)
{
	CLEANUP(close_fd) int group = -1;
	bool v1;

	cpu_watch_fini(w);
	w->limit = -1;
	group = container_open_cgroup(c, "cpu", &w->v1);
	w->pressure = container_open_cgroup(c, NULL, &v1);
	if (group >= 0)
		find_limit(w, group);
	/* A process alone is not all of its group. */
	if (!c->is_single)
		w->usage = w->v1 ? container_open_cgroup(c, "cpuacct", &v1)
				 : fcntl(group, F_DUPFD_CLOEXEC, 0);
	read_counters(w, &w->begin);
}

void cpu_watch_read(const struct cpu_watch *w, struct session_cpu *ret)
{
	struct cpu_counters end;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	*ret = SESSION_CPU_UNKNOWN;
	if (!w->begin.at)
		return;
	read_counters(w, &end);
	cpu_difference(&w->begin, &end, ret);
	ret->limit = w->limit;
	ret->processors = processors > 0 ? (double)processors : -1;
}

void cpu_watch_fini(struct cpu_watch *w)
{
	cleanup_close_fd(&w->usage);
	cleanup_close_fd(&w->limited);
	cleanup_close_fd(&w->pressure);
	*w = CPU_WATCH_NONE;
}
