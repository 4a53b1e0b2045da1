// SPDX-License-Identifier: Apache-2.0
#include "record/perf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/proc.h"

#define STOP_MS	      10000
#define LOG_MAX	      (256u << 10)
#define STACK_MOST    32768u
#define STACK_LEAST   16384u
#define OTHER_FILES   128 /* perf's own */
#define YOUNG_SECONDS 2
#define OTHERS_BYTES  (256ull << 20)

/* BPF programs have their names from kallsyms and the kernel's KSYMBOL records. With events of its
 * own perf ends up to a second later: their thread looks each second whether it is to end (linux
 * 6.1, tools/perf/util/sideband_evlist.c). perf 5.1. */
#define NO_BPF_EVENT "--no-bpf-event"

static size_t thread_count(const pid_t *pids, size_t count)
{
	size_t threads = 0;

	for (size_t i = 0; i < count; i++) {
		CLEANUP(close_fd) int procfd = -1;
		struct proc_status st;
		struct err err;

		procfd = proc_open(pids[i], &err);
		if (procfd >= 0 && proc_read_status(procfd, &st, &err) == 0)
			threads += st.threads;
	}
	return threads;
}

void record_count_events(const pid_t *pids, size_t count, struct record_events *ret)
{
	struct rlimit files = {.rlim_max = 1024};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	getrlimit(RLIMIT_NOFILE, &files);
	ret->threads = thread_count(pids, count);
	ret->cpus = cpus > 0 ? (size_t)cpus : 1;
	ret->files = ret->threads * ret->cpus + OTHER_FILES;
	ret->limit = files.rlim_max;
}

static bool too_many_events(const struct record_options *o)
{
	struct record_events e;

	record_count_events(o->pids, o->count, &e);
	return e.files > e.limit;
}

/* perf -p lists the threads, and then opens their events, which new threads inherit: those that are
 * made in between by threads not opened yet are missed, with all that they make themselves. A JVM
 * makes its main thread, and that one all others, in its first moments. */
static bool any_is_young(const struct record_options *o)
{
	double second = (double)sysconf(_SC_CLK_TCK);
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	for (size_t i = 0; i < o->count; i++) {
		CLEANUP(close_fd) int procfd = -1;
		struct err err;
		uint64_t ticks;

		procfd = proc_open(o->pids[i], &err);
		if (procfd >= 0 && proc_start_time(procfd, &ticks, &err) == 0 &&
		    (double)now.tv_sec - (double)ticks / second < YOUNG_SECONDS)
			return true;
	}
	return false;
}

unsigned record_stack_bytes(size_t cpus, unsigned frequency, unsigned seconds)
{
	uint64_t samples = (uint64_t)cpus * frequency * seconds;
	unsigned bytes = STACK_MOST;

	while (bytes > STACK_LEAST && samples * bytes > RECORD_BYTES)
		bytes /= 2;
	return bytes;
}

/* What the disk has room for. Snapshots, libraries and pictures come to it, too. 0: unknown. */
static uint64_t room_for(const char *dir)
{
	struct statvfs fs;
	uint64_t bytes;

	if (statvfs(dir, &fs) < 0)
		return 0;
	bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	return bytes > 2 * OTHERS_BYTES ? bytes - OTHERS_BYTES : bytes / 2;
}

int record_start(const struct record_options *o, struct recording *ret, struct err *err)
{
	CLEANUP(free) char *data = xasprintf("%s/perf.data", o->dir);
	CLEANUP(free) char *logname = xasprintf("%s/perf.log", o->dir);
	CLEANUP(close_fd) int log = open(logname, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CLEANUP(str_fini) struct str pids = {0};
	CLEANUP(free) char *freq = xasprintf("%u", o->frequency);
	CLEANUP(free)
	char *unwind = o->stack_bytes ? xasprintf("dwarf,%u", o->stack_bytes) : xstrdup("fp");
	CLEANUP(free) char *most = NULL;
	struct recording r = {.most = o->windows ? 0 : room_for(o->dir),
			      .whole_machine = too_many_events(o) || any_is_young(o)};
	char *argv[25] = {(char *)"perf", (char *)"record",	  (char *)"-q",	  (char *)"-B",
			  (char *)"-N",	  (char *)"--call-graph", unwind,	  (char *)"-F",
			  freq,		  (char *)"-k",		  (char *)"mono", (char *)"-o",
			  data,		  (char *)NO_BPF_EVENT};
	size_t n = 14;

	if (log < 0)
		return err_set(err, errno, "create %s", logname);
	if (o->count == 0)
		return err_set(err, ESRCH, "nothing to record: no process is left");
	for (size_t i = 0; i < o->count; i++)
		str_addf(&pids, "%s%d", i ? "," : "", (int)o->pids[i]);
	if (o->stack_bytes) {
		argv[n++] = (char *)"-m";
		argv[n++] = (char *)RECORD_BUFFER;
	}
	if (o->windows)
		argv[n++] = (char *)"--switch-output"; /* at SIGUSR2 */
	if (r.most) {				       /* perf 5.5 */
		most = xasprintf("--max-size=%lluK", (unsigned long long)r.most >> 10);
		argv[n++] = most;
	}
	argv[n++] = (char *)(r.whole_machine ? "-a" : "-p");
	argv[n] = r.whole_machine ? NULL : pids.buf;
	if (child_start(argv, NULL, (struct child_io){-1, log, log}, &r.perf, err) < 0) {
		if (err->code == ENOENT)
			return err_set(
				err, 0,
				"perf is not installed; on Debian: apt-get install linux-perf");
		return -1;
	}
	r.dir = xstrdup(o->dir);
	*ret = r;
	return 0;
}

int record_wait(struct recording *r, int ms)
{
	int status;

	return r->perf.pid <= 0 || child_wait(&r->perf, ms, &status);
}

bool record_has_begun(const struct recording *r)
{
	CLEANUP(free) char *data = xasprintf("%s/perf.data", r->dir);
	struct stat st;

	return stat(data, &st) == 0 && st.st_size > 0;
}

bool record_is_full(const struct recording *r)
{
	CLEANUP(free) char *data = xasprintf("%s/perf.data", r->dir);
	struct stat st;

	return r->most && stat(data, &st) == 0 && (uint64_t)st.st_size >= r->most / 1024 * 1024;
}

void record_abort(struct recording *r)
{
	child_stop(&r->perf);
	free(TAKE_PTR(r->dir));
}

/* perf's first line that is not its progress, for the one-line error. */
static void perf_words(const char *dir, struct str *ret)
{
	CLEANUP(close_fd) int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(str_fini) struct str text = {0};
	char *save = NULL;
	struct err err;

	if (fs_read_file(dirfd, "perf.log", LOG_MAX, &text, &err) < 0 || !text.buf)
		return;
	for (char *l = strtok_r(text.buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		if (has_prefix(l, "Error:") || !*l || has_prefix(l, "[ perf") ||
		    has_prefix(l, "WARNING"))
			continue;
		str_add_clean(ret, l, strlen(l));
		return;
	}
}

void record_end(struct recording *r)
{
	if (r->perf.pid > 0 && !r->ended)
		child_signal(&r->perf, SIGINT);
	r->ended = true;
}

/* Where perf has no handler yet, the signal would end it. */
void record_switch(struct recording *r)
{
	CLEANUP(close_fd) int procfd = -1;
	struct proc_status st;
	struct err err;

	if (r->perf.pid <= 0)
		return;
	procfd = proc_open(r->perf.pid, &err);
	if (procfd >= 0 && proc_read_status(procfd, &st, &err) == 0 &&
	    (st.sigcgt & 1ull << (SIGUSR2 - 1)))
		child_signal(&r->perf, SIGUSR2);
}

/* perf names what is whole perf.data.<time>, with the time from the year on. */
static char *oldest_window(const char *dir)
{
	DIR *d = opendir(dir);
	char *oldest = NULL;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (!has_prefix(e->d_name, "perf.data.") ||
		    (oldest && strcmp(oldest, e->d_name) < 0))
			continue;
		free(oldest);
		oldest = xstrdup(e->d_name);
	}
	if (d)
		closedir(d);
	return oldest;
}

int record_take(struct recording *r, const char *path, struct err *err)
{
	CLEANUP(free) char *name = oldest_window(r->dir);
	CLEANUP(free) char *from = name ? xasprintf("%s/%s", r->dir, name) : NULL;

	if (!name)
		return 0;
	return rename(from, path) == 0 ? 1 : err_set(err, errno, "rename %s", from);
}

int record_stop(struct recording *r, struct err *err)
{
	CLEANUP(free) char *data = xasprintf("%s/perf.data", r->dir);
	CLEANUP(str_fini) struct str words = {0};
	uint64_t deadline = clock_ms() + STOP_MS;
	struct stat st;

	record_end(r);
	while (r->perf.pid > 0 && clock_ms() < deadline)
		record_wait(r, 100);
	child_stop(&r->perf);
	if (stat(data, &st) < 0 || st.st_size == 0) {
		perf_words(r->dir, &words);
		return err_set(err, 0, "perf recorded nothing: %s",
			       words.buf ? words.buf : "it gave no reason");
	}
	free(TAKE_PTR(r->dir));
	return 0;
}
