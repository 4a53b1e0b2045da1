// SPDX-License-Identifier: Apache-2.0
#include "record/jvm_poller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/proc.h"
#include "common/str.h"
#include "dfg/snapshot.h"
#include "record/agent_share.h"
#include "record/budget.h"
#include "record/jvm_snapshot.h"
#include "record/session_files.h"

#define SLICE_MS 500 /* a signal just before a wait is noticed after it */

struct poller {
	pid_t jvm;
	struct child child;
	int file;
	struct snapshot_report *report; /* shared with the child */
	int commands;			/* to the child */
	int asks;			/* to its reader; -1: somebody else has it */
	int first;	/* readable once the first snapshot is taken or has failed */
	uint32_t asked; /* commands for the next snapshot */
	bool followed;	/* by a builder of the kernel's tables */
};

/* ---- waits ---- */

/* A wait for the pollers of a target: until its deadline, or until the worker is signalled. */
struct wait {
	uint64_t deadline;
	const volatile sig_atomic_t *stop; /* or NULL */
	sig_atomic_t stop_before;
};

static struct wait wait_begin(const struct record_config *c, uint64_t deadline)
{
	return (struct wait){deadline, c->stop, c->stop ? *c->stop : 0};
}

static bool wait_is_interrupted(const struct wait *w)
{
	return w->stop && *w->stop != w->stop_before;
}

/* True once the descriptor has one of the events, or its other end is closed. */
static bool wait_for(const struct wait *w, int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};
	int left;

	do {
		left = wait_is_interrupted(w) ? 0 : deadline_ms_left(w->deadline);
		(void)poll(&p, 1, left < SLICE_MS ? left : SLICE_MS);
	} while (!p.revents && left);
	return p.revents;
}

/* ---- one poller ---- */

static void poller_fini(struct poller *p)
{
	cleanup_close_fd(&p->file);
	cleanup_close_fd(&p->commands);
	cleanup_close_fd(&p->asks);
	cleanup_close_fd(&p->first);
	munmap(p->report, sizeof(*p->report));
	p->report = NULL;
}

/* Starts the child. The file `to` becomes the poller's. */
static int poller_start(const struct target *t, const struct jvm *j, const struct record_config *c,
			int to, struct poller *ret, struct err *err)
{
	struct poller p = {.jvm = j->pid, .file = -1, .commands = -1, .asks = -1, .first = -1};
	int commands[2] = {-1, -1}, first[2] = {-1, -1}, asks[2] = {-1, -1}, rc = -1;
	struct snapshot_job job = {.container = &t->container,
				   .jvm = j,
				   .config = c,
				   .to = to,
				   .maps = t->session.mapsfd,
				   .turns = t->turns,
				   .all_jvms = t->all_jvms};

	p.report = mmap(NULL, sizeof(*p.report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (p.report == MAP_FAILED)
		return err_set(err, errno, "memory for a report");
	if (pipe2(commands, O_CLOEXEC) < 0 || pipe2(first, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, asks) < 0) {
		err_set(err, errno, "pipe");
	} else {
		job.report = p.report;
		job.commands = commands[0];
		job.first = first[1];
		job.asks = asks[1];
		rc = child_fork(snapshots_serve, &job, &p.child, err);
	}
	p.commands = commands[1];
	p.first = first[0];
	p.asks = asks[0];
	cleanup_close_fd(&asks[1]);
	cleanup_close_fd(&commands[0]);
	cleanup_close_fd(&first[1]);
	if (rc < 0) {
		poller_fini(&p);
		return -1;
	}
	p.file = to;
	*ret = p;
	return 0;
}

/* Copies the report into the session. A hostile JVM may have written it: it is only displayed. */
static void poller_note(const struct snapshot_report *r, struct session_jvm *jvm)
{
	jvm->source = !r->taken	    ? JVM_SOURCE_NONE
		      : r->by_agent ? JVM_SOURCE_AGENT
				    : JVM_SOURCE_HOST;
	snprintf(jvm->note, sizeof(jvm->note), "%.*s", (int)sizeof(r->note) - 1, r->note);
	jvm->methods = r->entries;
	jvm->skipped = r->skipped;
	jvm->dump_us = r->first_us;
	jvm->snapshots = r->taken;
	jvm->watch_us = r->cost_us;
	jvm->switched |= r->switched;
}

/* Reads a flag in the first snapshot's head. A container that forges it spoils its own graph. */
static bool keeps_frame_pointers(int fd)
{
	struct snap_head head;

	return pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.magic == SNAP_MAGIC &&
	       (head.flags & SNAP_PRESERVE_FP);
}

/* Ends a poller without a first snapshot; err and the session's note say why it has none. */
static void poller_fail(struct poller *p, struct session_jvm *jvm, struct err *err)
{
	child_stop(&p->child);
	poller_note(p->report, jvm);
	if (p->report->err.msg[0])
		*err = p->report->err; /* ends with the text of its code already */
	else
		err_set(err, 0, "read process %d: the reader crashed", (int)p->jvm);
	err->msg[sizeof(err->msg) - 1] = '\0';
	snprintf(jvm->note, sizeof(jvm->note), "%s", err->msg);
	poller_fini(p);
}

static void poller_command(struct poller *p, enum snapshot_command command)
{
	char byte = (char)command;

	(void)!write(p->commands, &byte, 1);
}

static bool poller_has_ended(const struct poller *p)
{
	return poll(&(struct pollfd){.fd = p->child.pidfd, .events = POLLIN}, 1, 0) > 0;
}

/* True once the snapshot that was asked for is taken, or never will be. */
static bool poller_has_answered(const struct poller *p)
{
	return __atomic_load_n(&p->report->served, __ATOMIC_ACQUIRE) >= p->asked ||
	       poller_has_ended(p);
}

/* Waits for the last snapshot; the child then ends by itself. */
static void poller_end(struct poller *p, const struct wait *w, struct session_jvm *jvm)
{
	bool ended = wait_for(w, p->first, 0); /* closed after the last one */

	poller_note(p->report, jvm);
	if (ended) {
		child_detach(&p->child);
	} else {
		snprintf(jvm->note, sizeof(jvm->note), "the JVM could not be read at the end: %s",
			 wait_is_interrupted(w) ? "interrupted" : "it took too long");
		child_stop(&p->child);
	}
	poller_fini(p);
}

/* ---- the pollers of a target ---- */

static struct session_jvm *find_entry(struct session *s, pid_t pid)
{
	for (size_t i = 0; i < s->jvm_count; i++)
		if (s->jvms[i].pid == pid)
			return &s->jvms[i];
	return NULL;
}

static struct session_jvm *add_entry(struct session *s, const struct jvm *j)
{
	struct session_jvm *entry = find_entry(s, j->pid);

	if (entry)
		return entry;
	s->jvms = grow(s->jvms, s->jvm_count, &s->jvm_cap, sizeof(*s->jvms));
	entry = &s->jvms[s->jvm_count++];
	*entry = (struct session_jvm){.pid = j->pid, .nspid = j->nspid, .uid = j->uid};
	memcpy(entry->version, j->version, sizeof(j->version));
	return entry;
}

static bool has_poller(const struct target *t, pid_t pid)
{
	for (size_t i = 0; i < t->poller_count; i++)
		if (t->pollers[i].jvm == pid)
			return true;
	return false;
}

/* A JVM without HotSpot: logs it once, no snapshot is tried. */
static bool is_foreign(struct session *s, const struct jvm *j)
{
	const char *note = runtime_note(j->runtime);
	struct session_jvm *entry;

	if (!note)
		return false;
	entry = add_entry(s, j);
	if (!entry->source) {
		log_info("%d is %s", (int)j->pid, note);
		entry->source = JVM_SOURCE_NONE;
		snprintf(entry->note, sizeof(entry->note), "%s", note);
	}
	return true;
}

/* True if another JVM has the same pid in a nested pid namespace: a request, which is named after
 * that pid, would reach both agents, and each would write into the other's answer. */
static bool shares_pid(const struct target *t, const struct jvm *j)
{
	size_t same = 0;

	for (size_t i = 0; i < t->jvms.count; i++)
		same += t->jvms.list[i].nspid == j->nspid;
	return same > 1;
}

static int add_poller(struct target *t, const struct jvm *j, const struct record_config *c,
		      struct err *err)
{
	CLEANUP(close_fd) int to = session_add_map(&t->session, j->pid, err);
	struct record_config config = *c;
	struct poller p;

	if (to < 0)
		return -1;
	add_entry(&t->session, j);
	if (shares_pid(t, j))
		config.source = SOURCE_HOST;
	if (poller_start(t, j, &config, to, &p, err) < 0) {
		session_drop_map(&t->session, j->pid);
		return -1;
	}
	(void)TAKE_FD(to);
	t->pollers = grow(t->pollers, t->poller_count, &t->poller_cap, sizeof(*t->pollers));
	t->pollers[t->poller_count++] = p;
	return 0;
}

/* Starts pollers for JVMs without one, but not again where the first snapshot timed out. */
static int add_pollers(struct target *t, const struct record_config *c, struct err *err)
{
	size_t more = 0;

	for (size_t i = 0; i < t->jvms.count; i++) {
		const struct jvm *j = &t->jvms.list[i];
		const struct session_jvm *entry = find_entry(&t->session, j->pid);

		if (has_poller(t, j->pid) || (entry && entry->hangs) || is_foreign(&t->session, j))
			continue;
		more += t->poller_count >= budget_max(BUDGET_JVMS);
		if (!more && add_poller(t, j, c, err) < 0)
			return -1;
	}
	budget_cut(BUDGET_JVMS, &t->session, more, "JVMs are not read");
	return 0;
}

/* Logs once that a JVM has no names. True if the session's file system is full. */
static bool note_failure(struct target *t, struct session_jvm *jvm, const struct err *err)
{
	bool warned = jvm->warned;

	session_drop_map(&t->session, jvm->pid);
	jvm->hangs = err->code == ETIMEDOUT;
	if (err->code == ENOSPC || err->code == EDQUOT)
		return true;
	if (!warned && err->code != EINTR)
		log_warn("no names for the Java code of %d: %s", (int)jvm->pid, err->msg);
	jvm->warned = true;
	return false;
}

/* Waits for the first snapshots, and removes the pollers that failed. One that takes longer goes
 * on. */
static int wait_first(struct target *t, const struct wait *w, struct err *err)
{
	size_t count = 0;
	int rc = 0;

	for (size_t i = 0; i < t->poller_count; i++) {
		struct poller p = t->pollers[i];
		struct session_jvm *jvm = find_entry(&t->session, p.jvm);
		bool ready = rc == 0 && jvm->snapshots == 0 && wait_for(w, p.first, POLLIN);

		if (ready && p.report->taken == 0) {
			poller_fail(&p, jvm, err);
			rc = note_failure(t, jvm, err) ? -1 : 0;
			continue;
		}
		if (ready) {
			poller_note(p.report, jvm);
			jvm->keeps_fp = keeps_frame_pointers(p.file);
		}
		t->pollers[count++] = p;
	}
	t->poller_count = count;
	return rc;
}

struct thread_job {
	struct session *session;
	pid_t pid;
};

static void add_thread(pid_t tid, pid_t nstid, void *arg)
{
	const struct thread_job *job = arg;

	session_add_thread(job->session, job->pid, tid, nstid);
}

/* Adds to the session the JVMs' threads, whose pids in the snapshots are those of their pid
 * namespace, and the perf maps of processes without a snapshot. */
static void add_threads_and_maps(struct target *t, uint64_t deadline)
{
	for (size_t i = 0; i < t->jvms.count; i++) {
		const struct jvm *j = &t->jvms.list[i];
		struct thread_job job = {.session = &t->session, .pid = j->pid};

		proc_each_thread(j->procfd, add_thread, &job);
	}
	session_copy_perf_maps(&t->session, &t->processes, deadline);
	session_note_maps(&t->session);
}

/* ---- all pollers of a target ---- */

int pollers_start(struct target *t, const struct record_config *c, uint64_t deadline,
		  struct err *err)
{
	struct wait w = wait_begin(c, deadline);

	if (add_pollers(t, c, err) < 0 || wait_first(t, &w, err) < 0)
		return -1;
	add_threads_and_maps(t, deadline);
	return 0;
}

int pollers_follow(struct target *t, pid_t pid, int *ret_asks)
{
	for (struct poller *p = t->pollers; p < t->pollers + t->poller_count; p++)
		if (p->jvm == pid && p->report->taken && !p->followed) {
			p->followed = true;
			*ret_asks = TAKE_FD(p->asks);
			return p->file;
		}
	*ret_asks = -1;
	return -1;
}

static void ask(struct target *t)
{
	for (size_t i = 0; i < t->poller_count; i++) {
		t->pollers[i].asked++;
		poller_command(&t->pollers[i], SNAPSHOT_NEXT);
	}
}

static bool all_have_answered(const struct target *t)
{
	for (size_t i = 0; i < t->poller_count; i++)
		if (!poller_has_answered(&t->pollers[i]))
			return false;
	return true;
}

/* Commands the last snapshots; later calls do nothing. */
static void stop(struct target *t)
{
	for (struct poller *p = t->pollers; p < t->pollers + t->poller_count; p++) {
		poller_command(p, SNAPSHOT_LAST);
		if (p->commands >= 0)
			close(TAKE_FD(p->commands));
	}
}

int pollers_refresh(struct target *t, const struct record_config *c, uint64_t deadline,
		    struct err *err)
{
	const int third = deadline_ms_left(deadline) / 3;
	const uint64_t answered = deadline_after(third);

	ask(t);
	while (!all_have_answered(t) && deadline_ms_left(answered))
		sleep_ms(5);
	target_refresh(t, deadline_after(third));
	return pollers_start(t, c, deadline_after(third), err);
}

bool pollers_any_late(const struct target *t)
{
	for (size_t i = 0; i < t->poller_count; i++)
		if (!t->pollers[i].followed && !poller_has_ended(&t->pollers[i]))
			return true;
	return false;
}

bool pollers_any_ended(const struct target *t)
{
	for (size_t i = 0; i < t->poller_count; i++)
		if (poller_has_ended(&t->pollers[i]))
			return true;
	return false;
}

uint64_t pollers_bytes(const struct target *t)
{
	uint64_t sum = 0;
	struct stat st;

	for (size_t i = 0; i < t->poller_count; i++)
		sum += fstat(t->pollers[i].file, &st) == 0 ? (uint64_t)st.st_size : 0;
	return sum;
}

/* A poller without a snapshot at the end has been late, and leaves an empty file. */
static void end_pollers(struct target *t, const struct wait *w)
{
	for (size_t i = 0; i < t->poller_count; i++) {
		struct poller *p = &t->pollers[i];
		struct session_jvm *jvm = find_entry(&t->session, p->jvm);
		struct err err;

		poller_end(p, w, jvm);
		if (jvm->snapshots > 0)
			continue;
		err_set(&err, 0, "%s", jvm->note);
		(void)note_failure(t, jvm, &err);
	}
	t->poller_count = 0;
}

int pollers_end(struct target *t, const struct record_config *c, uint64_t deadline, struct err *err)
{
	struct wait w = wait_begin(c, deadline);

	/* At once, as close to the last sample as possible, and while files are copied here. */
	stop(t);
	target_refresh(t, deadline);
	if (pollers_start(t, c, deadline, err) < 0)
		return -1;
	stop(t);
	end_pollers(t, &w);
	session_note_maps(&t->session);
	if (c->perf_map)
		session_register_agent_maps(&t->session);
	return 0;
}

void pollers_abort(struct target *t, const char *root)
{
	struct wait w = wait_begin(&(struct record_config){0}, 0);
	struct session_jvm ignored = {0};

	for (size_t i = 0; i < t->poller_count; i++)
		poller_end(&t->pollers[i], &w, &ignored);
	t->poller_count = 0;
	agent_share_sweep(root, t->container.id);
}
