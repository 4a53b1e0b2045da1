// SPDX-License-Identifier: Apache-2.0
#include "record/perf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/proc.h"

#define DATA	      "perf.data"
#define DISABLE_MS    2000
#define BEGIN_POLL_MS 2
#define HANGUP_MS     1000
#define AGAIN_MAX     5
#define LOG_MAX	      (256u << 10)
#define STACK_MAX     32768u
#define STACK_MIN     16384u
#define OTHER_FILES   128 /* perf's own */
#define YOUNG_SECONDS 2
#define OTHERS_BYTES  (256ull << 20)

/* No events of its own for BPF programs, which are named by kallsyms and the kernel's KSYMBOL
 * records: perf's thread for these events checks only once a second whether it is to end
 * (linux 6.1, tools/perf/util/sideband_evlist.c). perf 5.1. */
#define NO_BPF_EVENT "--no-bpf-event"

/* perf answers a command once it has enabled its events (linux 6.1, tools/perf/builtin-record.c),
 * here on its stdin, a socket. Not with -D -1: perf would open every event twice. perf 5.9. */
#define CONTROL "--control=fd:0,0"

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

void perf_count_events(const pid_t *pids, size_t count, struct perf_events *ret)
{
	struct rlimit files = {.rlim_max = 1024};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	getrlimit(RLIMIT_NOFILE, &files);
	ret->threads = thread_count(pids, count);
	ret->cpus = cpus > 0 ? (size_t)cpus : 1;
	ret->files = ret->threads * ret->cpus + OTHER_FILES;
	ret->limit = files.rlim_max;
}

static bool too_many_events(const pid_t *pids, size_t count)
{
	struct perf_events e;

	perf_count_events(pids, count, &e);
	return e.files > e.limit;
}

/* perf -p lists the threads and then opens their events, which new threads inherit. It misses
 * threads that are made in between by threads not opened yet, with all their descendants. A JVM
 * starts its main thread, and that one all others, in its first moments. */
static bool any_is_young(const pid_t *pids, size_t count)
{
	double second = (double)sysconf(_SC_CLK_TCK);
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	for (size_t i = 0; i < count; i++) {
		CLEANUP(close_fd) int procfd = -1;
		struct err err;
		uint64_t ticks;

		procfd = proc_open(pids[i], &err);
		if (procfd >= 0 && proc_start_time(procfd, &ticks, &err) == 0 &&
		    (double)now.tv_sec - (double)ticks / second < YOUNG_SECONDS)
			return true;
	}
	return false;
}

bool perf_needs_whole_machine(const pid_t *pids, size_t count)
{
	return too_many_events(pids, count) || any_is_young(pids, count);
}

unsigned perf_stack_bytes(size_t cpus, unsigned frequency, unsigned seconds)
{
	uint64_t samples = (uint64_t)cpus * frequency * seconds;
	unsigned bytes = STACK_MAX;

	while (bytes > STACK_MIN && samples * bytes > PERF_BYTES)
		bytes /= 2;
	return bytes;
}

uint64_t perf_room_for(int dirfd, bool is_split)
{
	struct statvfs fs;
	uint64_t bytes;

	if (fstatvfs(dirfd, &fs) < 0)
		return 0;
	bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	bytes = bytes > 2 * OTHERS_BYTES ? bytes - OTHERS_BYTES : bytes / 2;
	return is_split ? bytes / 2 : bytes;
}

/* perf opens by name, and follows links. It gets the names of our descriptors: of the file, where
 * there is one only, so that nobody who can write to the directory leads it elsewhere. */
static int open_data(struct perf *p, bool windows, struct err *err)
{
	if (windows) {
		p->path = xasprintf("/proc/%d/fd/%d/" DATA, (int)getpid(), p->dirfd);
		return 0;
	}
	p->data = fs_create(p->dirfd, DATA, 0600, err);
	if (p->data < 0)
		return -1;
	p->path = xasprintf("/proc/%d/fd/%d", (int)getpid(), p->data);
	return 0;
}

/* Arguments of perf. */
struct arguments {
	const char **list;
	size_t count, cap;
};

static void cleanup_arguments(struct arguments *a)
{
	free(a->list);
}

static void add(struct arguments *a, const char *one, const char *two)
{
	const char *both[] = {one, two};

	for (size_t i = 0; i < ARRAY_LEN(both) && both[i]; i++) {
		a->list = grow(a->list, a->count, &a->cap, sizeof(*a->list));
		a->list[a->count++] = both[i];
	}
}

/* An attempt to start perf: it may not know a part of this, or a control group or a process may be
 * gone. */
struct attempt {
	struct str pids;
	int log;
	int control; /* a socket for its stdin, or -1 */
	bool cgroups;
	unsigned again; /* attempts that failed for want of a process */
};

/* An event of its own for each control group, by default the one that perf uses without. */
static void add_targets(struct arguments *a, const struct perf_config *c, const struct attempt *t)
{
	for (size_t i = 0; i < c->cgroup_count && t->cgroups; i++) {
		add(a, "-e", c->event ? c->event : "cycles:P");
		add(a, "-G", c->cgroups[i]);
	}
	if (c->event && !(c->cgroup_count && t->cgroups))
		add(a, "-e", c->event);
	add(a, c->whole_machine ? "-a" : "-p", c->whole_machine ? NULL : t->pids.buf);
}

static int start(const struct perf_config *c, struct perf *p, const struct attempt *t,
		 struct err *err)
{
	CLEANUP(free) char *freq = xasprintf("%u", c->frequency);
	CLEANUP(free) char *period = xasprintf("%llu", (unsigned long long)c->period);
	CLEANUP(free) char *bytes = xasprintf("dwarf,%u", c->stack_bytes);
	CLEANUP(free)
	char *max = xasprintf("--max-size=%lluK", /* perf 5.5 */
			      (unsigned long long)p->max_bytes >> 10);
	CLEANUP(arguments) struct arguments a = {0};

	add(&a, c->program ? c->program : "perf", "record");
	add(&a, "-B", "-N");
	if (!t->again)
		add(&a, "-q", NULL); /* which hides most errors, too */
	add(&a, "--call-graph", c->stack_bytes ? bytes : "fp");
	add(&a, c->event ? "-c" : "-F", c->event ? period : freq);
	add(&a, "-k", "mono");
	add(&a, "-o", p->path);
	add(&a, NO_BPF_EVENT, NULL);
	if (c->stack_bytes)
		add(&a, "-m", PERF_BUFFER);
	if (c->windows)
		add(&a, "--switch-output", NULL); /* at SIGUSR2 */
	if (p->max_bytes)
		add(&a, max, NULL);
	if (t->control >= 0)
		add(&a, CONTROL, NULL);
	add_targets(&a, c, t);
	a.list = grow(a.list, a.count, &a.cap, sizeof(*a.list));
	a.list[a.count] = NULL;
	if (child_start((char *const *)(uintptr_t)a.list, NULL,
			(struct child_io){t->control, t->log, t->log}, &p->child, err) == 0)
		return 0;
	if (err->code == ENOENT)
		err_set(err, 0, "perf is not installed; on Debian: apt-get install linux-perf");
	return -1;
}

/* Bytes of perf.data, 0 where there is none. */
static uint64_t data_size(const struct perf *p)
{
	struct stat st;

	return fstatat(p->dirfd, DATA, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

/* An older perf only shows that it is about to enable them: by the head of its file. */
static void wait_for_begin(const struct perf_config *c, struct perf *p)
{
	struct pollfd answer = {.fd = p->control, .events = POLLIN};
	char byte;

	while (!answer.revents && !(p->control < 0 && data_size(p) > 0) && !perf_wait(p, 0) &&
	       !(c->stop && *c->stop)) {
		if (!deadline_ms_left(c->begin_deadline)) {
			log_warn("perf has not begun in time: the recording may be too short");
			return;
		}
		poll(&answer, 1, BEGIN_POLL_MS);
	}
	p->begun = p->control < 0 ? data_size(p) > 0
				  : recv(p->control, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
	if (answer.revents & POLLHUP)
		perf_wait(p, HANGUP_MS); /* it ends */
}

/* Reads perf's first message that is not its progress from its log. */
static void read_message(int dirfd, struct str *ret)
{
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

/* Starts perf and waits until it has begun; `control`: it gets commands. */
static int try_start(const struct perf_config *c, struct perf *p, struct attempt *t, bool control,
		     struct err *err)
{
	CLEANUP(close_fd) int perfs = -1;
	int sock[2];

	if (control) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0)
			return err_set(err, errno, "socket");
		p->control = sock[0];
		perfs = sock[1];
		(void)!write(p->control, "enable\n", strlen("enable\n"));
	}
	t->control = perfs;
	if (start(c, p, t, err) < 0)
		return -1;
	cleanup_close_fd(&perfs);
	wait_for_begin(c, p);
	return 0;
}

/* Lists the processes, or only those that there still are. */
static void list_pids(const struct perf_config *c, bool left, struct str *ret)
{
	str_fini(ret);
	for (size_t i = 0; i < c->count; i++)
		if (!left || proc_is_running(c->pids[i]))
			str_addf(ret, "%s%d", ret->len ? "," : "", (int)c->pids[i]);
}

/* True if perf has ended before it began: so it does, with -q without a word, where one of its
 * processes or threads has ended before it had looked at all ("Couldn't create thread/CPU maps";
 * "Ignored open failure": 5 of 12 starts on a JVM that starts many threads, perf 6.1). */
static bool lacks_process(const struct perf_config *c, const struct perf *p,
			  const struct attempt *t, const struct str *message)
{
	return !c->whole_machine && t->again < AGAIN_MAX && p->child.pid <= 0 && !p->begun &&
	       (!message->buf || strstr(message->buf, "No such process"));
}

/* An older perf knows no commands, and a control group or a process may be gone by now: without,
 * then. Of the processes fewer are left each time, in the end those that do not end soon. */
static int start_and_wait(const struct perf_config *c, struct perf *p, struct attempt *t,
			  struct err *err)
{
	bool control = !c->windows;

	for (;;) {
		CLEANUP(str_fini) struct str message = {0};

		if (try_start(c, p, t, control, err) < 0)
			return -1;
		read_message(p->dirfd, &message);
		if (control && message.buf && strstr(message.buf, "unknown option `control"))
			control = false;
		else if (t->cgroups && message.buf && strstr(message.buf, "cgroup"))
			t->cgroups = false;
		else if (lacks_process(c, p, t, &message))
			t->again++;
		else
			return 0;
		cleanup_close_fd(&p->control);
		child_stop(&p->child);
		list_pids(c, true, &t->pids);
		if (!t->pids.len)
			return err_set(err, ESRCH, "nothing to record: no process is left");
		if (ftruncate(t->log, 0) < 0 || (p->data >= 0 && ftruncate(p->data, 0) < 0))
			return err_set(err, errno, "empty perf.log");
	}
}

int perf_start(const struct perf_config *c, struct perf *ret, struct err *err)
{
	CLEANUP(close_fd) int log = fs_create(c->dirfd, "perf.log", 0600, err);
	struct attempt t = {.log = log, .control = -1, .cgroups = !c->windows};
	struct perf p = {.control = -1, .data = -1, .whole_machine = c->whole_machine};
	int rc;

	if (log < 0)
		return -1;
	if (c->count == 0)
		return err_set(err, ESRCH, "nothing to record: no process is left");
	p.max_bytes = c->windows ? 0 : perf_room_for(c->dirfd, c->is_split);
	p.dirfd = fcntl(c->dirfd, F_DUPFD_CLOEXEC, 0);
	if (p.dirfd < 0)
		return err_set(err, errno, "copy a descriptor");
	list_pids(c, false, &t.pids);
	rc = open_data(&p, c->windows, err) < 0 ? -1 : start_and_wait(c, &p, &t, err);
	str_fini(&t.pids);
	if (rc < 0)
		perf_abort(&p);
	else
		*ret = p;
	return rc;
}

int perf_wait(struct perf *p, int ms)
{
	return p->child.pid <= 0 || child_wait(&p->child, ms, &p->status);
}

bool perf_is_full(const struct perf *p)
{
	return p->max_bytes && data_size(p) >= p->max_bytes / 1024 * 1024;
}

static bool has_failed(const struct perf *p)
{
	return !p->ended && p->child.pid <= 0 && p->status != 0 && !perf_is_full(p);
}

void perf_add_failure(const struct perf *p, struct str *out)
{
	CLEANUP(str_fini) struct str message = {0};

	if (!has_failed(p))
		return;
	read_message(p->dirfd, &message);
	if (WIFSIGNALED(p->status))
		str_addf(out, "perf was ended by signal %d", WTERMSIG(p->status));
	else
		str_addf(out, "perf ended with status %d", WEXITSTATUS(p->status));
	if (message.len)
		str_addf(out, ": %s", message.buf);
}

void perf_abort(struct perf *p)
{
	child_stop(&p->child);
	if (!p->path) /* it was not started */
		return;
	cleanup_close_fd(&p->control);
	cleanup_close_fd(&p->data);
	cleanup_close_fd(&p->dirfd);
	free(TAKE_PTR(p->path));
}

/* Has perf disable its events, and waits until it has. */
static void disable(const struct perf *p)
{
	struct pollfd answer = {.fd = p->control, .events = POLLIN};
	uint64_t deadline = deadline_after(DISABLE_MS);
	char ack[64];
	int left;

	while (recv(p->control, ack, sizeof(ack), MSG_DONTWAIT) > 0)
		; /* of "enable" */
	if (send(p->control, "disable\n", strlen("disable\n"), MSG_NOSIGNAL) > 0)
		while (!answer.revents && (left = deadline_ms_left(deadline)) != 0)
			(void)poll(&answer, 1, left);
}

void perf_end(struct perf *p)
{
	if (p->child.pid <= 0 || p->ended)
		return;
	if (p->control >= 0)
		disable(p);
	child_signal(&p->child, SIGINT);
	p->ended = true;
}

/* The signal would end a perf that has no handler for it yet. */
void perf_switch(struct perf *p)
{
	CLEANUP(close_fd) int procfd = -1;
	struct proc_status st;
	struct err err;

	if (p->child.pid <= 0)
		return;
	procfd = proc_open(p->child.pid, &err);
	if (procfd >= 0 && proc_read_status(procfd, &st, &err) == 0 &&
	    (st.sigcgt & 1ull << (SIGUSR2 - 1)))
		child_signal(&p->child, SIGUSR2);
}

/* perf renames a whole window to perf.data.<time>, year first. */
static char *oldest_window(int dirfd)
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	char *oldest = NULL;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (!has_prefix(e->d_name, DATA ".") || (oldest && strcmp(oldest, e->d_name) < 0))
			continue;
		free(oldest);
		oldest = xstrdup(e->d_name);
	}
	if (d)
		closedir(d);
	return oldest;
}

int perf_next_window(struct perf *p, int dirfd, struct err *err)
{
	CLEANUP(free) char *name = oldest_window(p->dirfd);

	if (!name)
		return 0;
	return renameat(p->dirfd, name, dirfd, DATA) == 0 ? 1
							  : err_set(err, errno, "rename %s", name);
}

int perf_stop(struct perf *p, uint64_t deadline, struct err *err)
{
	CLEANUP(str_fini) struct str why = {0};
	bool failed;

	perf_wait(p, 0);
	failed = has_failed(p) && !p->begun;
	perf_end(p);
	while (p->child.pid > 0 && deadline_ms_left(deadline))
		perf_wait(p, 100);
	child_stop(&p->child);
	if (data_size(p) > 0 && !failed)
		return 0;
	read_message(p->dirfd, &why);
	if (failed && !why.len)
		perf_add_failure(p, &why);
	return err_set(err, 0, "perf recorded nothing: %s",
		       why.len ? why.buf : "it gave no reason");
}
