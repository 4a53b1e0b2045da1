// SPDX-License-Identifier: Apache-2.0
#include "record/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "common/str.h"
#include "dfg/snapshot.h"

#define PAUSE_LEAST_MS 25
#define PAUSE_MOST_MS  1000
#define SHARE	       25 /* parts of the time, of which the watch takes one */
#define SHARE_BUSY     12 /* where so much is compiled: */
#define BUSY	       12 /* pieces of code since the one before */
#define FAILURES_MAX   3
#define FILE_MAX       (512ll << 20)

/* What is written to the child. */
#define WISH_NEXT 'n'
#define WISH_LAST 'l'

/* What the child says, as it goes along. */
struct watch_report {
	uint32_t taken;	 /* snapshots that are whole in the file */
	uint32_t served; /* wishes, also those in vain */
	uint32_t entries, skipped, first_us;
	uint64_t cost_us; /* processor time of all but the first */
	bool by_agent;
	struct err err; /* of the last that failed */
	char note[512];
};

struct task {
	struct snapshots snapshots;
	struct watch_report *report;
	int wishes, first;
};

/* ---- in the child ---- */

static void report(struct watch_report *r, const struct snapshots *s, const struct snapshot *one,
		   uint64_t cost)
{
	if (r->taken == 0)
		r->first_us = one->us;
	else
		r->cost_us += cost;
	r->entries += one->entries;
	r->skipped += one->skipped;
	r->by_agent = s->by_agent;
	snprintf(r->note, sizeof(r->note), "%s", s->note);
	r->taken++;
}

/* Takes one; what it cost comes back in microseconds. */
static int take(struct task *t, bool last, struct snapshot *one, uint64_t *ret_cost)
{
	struct snapshots *s = &t->snapshots;
	uint64_t cpu = clock_cpu_us(), wall = clock_us();
	int rc = snapshots_take(s, last, one, &t->report->err);

	/* Attaching works for us in other processes. */
	if (s->options->trigger == TRIGGER_LOAD)
		*ret_cost = clock_us() - wall;
	else
		*ret_cost = clock_cpu_us() - cpu + (rc == 0 ? one->cpu_us : 0);
	if (rc == 0)
		report(t->report, s, one, *ret_cost);
	return rc;
}

static int longer(int a, int b)
{
	return a > b ? a : b;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int next_pause(int pause, const struct snapshot *one, uint64_t cost_us)
{
	uint64_t cost = cost_us * (one->entries < BUSY ? SHARE : SHARE_BUSY) / 1000;
	int least = longer(PAUSE_LEAST_MS, cost < INT32_MAX ? (int)cost : INT32_MAX);

	if (one->news)
		return least;
	return longer(least, pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS);
}

/* Whether the next is to be the last one; false also where a signal came in between. *ret_wishes:
 * how many it serves. *ret_gone: there is no JVM any more. */
static bool wait_for_wish(const struct task *t, int pidfd, int ms, uint32_t *ret_wishes,
			  bool *ret_gone)
{
	struct pollfd p[2] = {{.fd = t->wishes, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	char wishes[64];
	ssize_t n;

	*ret_gone = poll(p, 2, ms) > 0 && p[1].revents != 0;
	*ret_wishes = 0;
	if (!p[0].revents)
		return false;
	n = read(t->wishes, wishes, sizeof(wishes));
	*ret_wishes = n > 0 ? (uint32_t)n : 0;
	return n <= 0 || memchr(wishes, WISH_LAST, (size_t)n);
}

static void watch(struct task *t, int pidfd)
{
	int pause = PAUSE_LEAST_MS, failures = 0;
	bool last = false, gone = false;
	uint64_t cost, before = UINT64_MAX;
	struct snapshot one;
	uint32_t wishes;
	int rc;

	while (!last && failures < FAILURES_MAX) {
		last = wait_for_wish(t, pidfd, pause, &wishes, &gone);
		if (gone)
			return;
		if (lseek(t->snapshots.to, 0, SEEK_END) > FILE_MAX) {
			snprintf(t->report->note, sizeof(t->report->note),
				 "so much code came and went that not all of it was kept");
			return;
		}
		rc = take(t, last, &one, &cost);
		t->report->served += wishes;
		if (rc == 0) {
			failures = 0;
			pause = next_pause(pause, &one, lesser(cost, before));
			before = cost;
			continue;
		}
		failures = t->report->err.code == ENOSPC ? FAILURES_MAX : failures + 1;
		pause = PAUSE_MOST_MS;
	}
	if (failures > 0)
		snprintf(t->report->note, sizeof(t->report->note), "%.500s", t->report->err.msg);
}

static int child(void *arg)
{
	struct task *t = arg;
	int pidfd = (int)syscall(SYS_pidfd_open, t->snapshots.jvm->pid, 0);
	struct snapshot one;
	uint64_t cost;
	int rc = take(t, false, &one, &cost);

	(void)!write(t->first, "", 1);
	if (rc == 0 && pidfd >= 0)
		watch(t, pidfd);
	close(t->first); /* nobody needs to wait until the reader has ended, too */
	snapshots_fini(&t->snapshots);
	return 0;
}

/* ---- outside ---- */

static void release(struct watch *w)
{
	cleanup_close_fd(&w->file);
	cleanup_close_fd(&w->wishes);
	cleanup_close_fd(&w->first);
	munmap(w->report, sizeof(*w->report));
	w->report = NULL;
}

int watch_start(const struct container *c, const struct jvm *j, const struct snapshot_options *o,
		int to, struct watch *ret, struct err *err)
{
	struct watch w = {.jvm = j->pid, .file = -1, .wishes = -1, .first = -1};
	int wishes[2] = {-1, -1}, first[2] = {-1, -1}, rc = -1;
	struct task t;

	w.report = mmap(NULL, sizeof(*w.report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (w.report == MAP_FAILED)
		return err_set(err, errno, "memory for a report");
	if (pipe2(wishes, O_CLOEXEC) < 0 || pipe2(first, O_CLOEXEC) < 0)
		err_set(err, errno, "pipe");
	else {
		t = (struct task){.snapshots = {.container = c, .jvm = j, .options = o, .to = to},
				  .report = w.report,
				  .wishes = wishes[0],
				  .first = first[1]};
		rc = child_fork(child, &t, &w.child, err);
	}
	w.wishes = wishes[1];
	w.first = first[0];
	cleanup_close_fd(&wishes[0]);
	cleanup_close_fd(&first[1]);
	if (rc < 0) {
		release(&w);
		return -1;
	}
	w.file = to;
	*ret = w;
	return 0;
}

/* What is shared may have been written by a process that a JVM has taken over: nothing of it is
 * more than shown. */
static void note(const struct watch_report *r, struct session_jvm *jvm)
{
	bool any = r->taken > 0;

	jvm->source = !any ? JVM_SOURCE_NONE : r->by_agent ? JVM_SOURCE_AGENT : JVM_SOURCE_HOST;
	snprintf(jvm->note, sizeof(jvm->note), "%.*s", (int)sizeof(r->note) - 1, r->note);
	jvm->methods = r->entries;
	jvm->skipped = r->skipped;
	jvm->dump_us = r->first_us;
	jvm->snapshots = r->taken;
	jvm->watch_us = r->cost_us;
}

/* The flags in the first snapshot's head. Should a container forge it, its own graph is the worse
 * for it. */
static bool keeps_frame_pointers(int fd)
{
	struct snap_head head;

	return pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.magic == SNAP_MAGIC &&
	       (head.flags & SNAP_PRESERVE_FP);
}

int watch_first(struct watch *w, int ms, struct session_jvm *jvm, struct err *err)
{
	struct pollfd p = {.fd = w->first, .events = POLLIN};
	uint64_t deadline = clock_ms() + (uint64_t)ms;
	uint64_t now;
	int ready = 0;

	while (ready <= 0 && (now = clock_ms()) < deadline)
		ready = poll(&p, 1, (int)(deadline - now));
	note(w->report, jvm);
	jvm->keeps_fp = keeps_frame_pointers(w->file);
	if (w->report->taken > 0)
		return 0;
	child_stop(&w->child);
	if (ready <= 0)
		err_set(err, ETIMEDOUT, "read process %d: stopped after %d ms", (int)w->jvm, ms);
	else if (w->report->err.msg[0])
		err_set(err, w->report->err.code == ENOSPC ? ENOSPC : 0, "%.*s",
			(int)sizeof(w->report->err.msg) - 1, w->report->err.msg);
	else
		err_set(err, 0, "read process %d: the reader crashed", (int)w->jvm);
	snprintf(jvm->note, sizeof(jvm->note), "%s", err->msg);
	release(w);
	return -1;
}

uint64_t watch_bytes(const struct watch *w)
{
	struct stat st;

	return fstat(w->file, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void wish(struct watch *w, char what)
{
	(void)!write(w->wishes, &what, 1);
}

void watch_ask(struct watch *w)
{
	w->asked++;
	wish(w, WISH_NEXT);
}

bool watch_has_ended(const struct watch *w)
{
	struct pollfd p = {.fd = w->child.pidfd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

bool watch_has_answered(const struct watch *w)
{
	return __atomic_load_n(&w->report->served, __ATOMIC_ACQUIRE) >= w->asked ||
	       watch_has_ended(w);
}

void watch_stop(struct watch *w)
{
	wish(w, WISH_LAST);
	if (w->wishes >= 0)
		close(TAKE_FD(w->wishes));
}

void watch_end(struct watch *w, int ms, struct session_jvm *jvm)
{
	struct pollfd p = {.fd = w->first}; /* closed */
	uint64_t deadline = clock_ms() + (uint64_t)ms;

	for (uint64_t now; !p.revents && (now = clock_ms()) < deadline;)
		(void)poll(&p, 1, (int)(deadline - now));
	note(w->report, jvm);
	if (p.revents) {
		child_detach(&w->child);
	} else {
		snprintf(jvm->note, sizeof(jvm->note),
			 "the JVM could not be read at the end: stopped after %d ms", ms);
		child_stop(&w->child);
	}
	release(w);
}
