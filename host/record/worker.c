// SPDX-License-Identifier: Apache-2.0
#include "record/worker.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "bpf/builder.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/log.h"
#include "common/message.h"
#include "common/str.h"
#include "discover/cpu_watch.h"
#include "record/agent_share.h"
#include "record/jvm_poller.h"

#define STOP_MS	 1000 /* for a worker that gets a signal, to reply */
#define SLICE_MS 200  /* a signal just before a wait is noticed after it */

/* Of a worker's control group. A reader of a JVM is two processes, and drawing is some threads. */
#define MEMORY	  (4ull << 30)
#define PROCESSES 1024

#define CRASHED "its worker crashed"
#define LATE	"it took too long"

enum { FILE_PIDS, FILE_SESSION, FILE_PRODUCT, FILE_TABLES, FILES };

/* The answer to an order. Its files come in the order above. */
struct reply {
	int rc;
	struct err err;
	size_t jvms;
	bool keeps_fp, jvm_ended, jvm_late, process_ended;
	uint64_t snapshot_bytes;
	bool has[FILES];
	uint8_t data[WORKER_DATA];
};

/* ---- in the worker ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted++;
}

struct service {
	struct record_config config;
	struct target target;
	const struct control_group *group;
	struct cpu_watch cpu;
	int socket;
};

static int write_session(struct target *t, const struct worker_order *o, struct err *err)
{
	t->session.duration = (double)o->us / 1e6;
	t->session.stack_bytes = o->stack_bytes;
	t->session.in_kernel = o->in_kernel;
	t->session.walked = o->samples.walked;
	t->session.copied = o->samples.copied;
	if (o->failure[0] && !t->session.failure)
		t->session.failure = xstrdup(o->failure);
	if (o->samples.missed)
		session_set_cut(&t->session, "recorded",
				"%llu processes are not recorded: it has too many",
				(unsigned long long)o->samples.missed);
	target_say_events(t, &o->samples);
	t->ended = o->ended;
	return session_write(&t->session, err);
}

/* Starts a builder of the tables by which the kernel walks stacks: of the JVMs that have a snapshot
 * and no tables yet, and at first of all processes that are no JVM. Samples of the rest come with
 * stack copies. */
static void build_tables(struct target *t)
{
	const bool first = t->builder_count == 0;
	const bool probes = t->session.events & ~(1u << SESSION_CPU | 1u << SESSION_PERF);
	struct builder_process list[BUILDER_PROCESSES_MAX];
	struct err err;
	size_t n = 0;

	if (t->builder_count == TARGET_BUILDERS)
		return;
	for (size_t i = 0; i < t->processes.count && n < BUILDER_PROCESSES_MAX; i++) {
		const struct handle *h = &t->processes.list[i];
		int asks, snapshots = pollers_follow(t, h->pid, &asks);

		if (snapshots >= 0 || (first && !jvms_have(&t->jvms, h->pid)))
			list[n++] = (struct builder_process){h, snapshots, asks};
	}
	if (!n)
		return;
	if (builder_start(list, n, probes, &t->builders[t->builder_count], &t->tables, &err) == 0)
		t->builder_count++;
	else
		log_warn("%s: stacks are copied: %s", t->container.label, err.msg);
	for (size_t i = 0; i < n; i++)
		cleanup_close_fd(&list[i].asks);
}

static int prepare(struct service *w, const struct worker_order *o, struct err *err)
{
	w->target.all_jvms = o->jvms;
	/* An agent may have answered an earlier run that had ended by then. */
	agent_share_sweep(w->config.root, w->target.container.id);
	if (target_prepare(&w->target, &w->config, err) < 0)
		return -1;
	if (pollers_start(&w->target, &w->config, o->deadline, err) < 0)
		return -1;
	if (o->in_kernel)
		build_tables(&w->target);
	return 0;
}

/* Looks for JVMs that have been started, where that is ordered, and has tables built of those that
 * have their first snapshot by now. What is missed is found at the end, but not walked. */
static void follow(struct service *w, const struct worker_order *o)
{
	struct err ignored;

	if (o->looks)
		target_refresh(&w->target, o->deadline);
	if (pollers_start(&w->target, &w->config, o->deadline, &ignored) == 0)
		build_tables(&w->target);
}

static int carry_out(struct service *w, const struct worker_order *o,
		     struct worker_product *product, bool *ret_ended, struct err *err)
{
	struct target *t = &w->target;

	switch (o->command) {
	case WORKER_LOOK:
		target_look(t, o->deadline);
		break;
	case WORKER_PREPARE:
		return prepare(w, o, err);
	case WORKER_COPY:
		target_mark_start(t, o->began_us);
		cpu_watch_begin(&t->container, &w->cpu);
		*ret_ended = target_drop_ended(t);
		break;
	case WORKER_FOLLOW:
		follow(w, o);
		break;
	case WORKER_WINDOW:
		if (pollers_refresh(t, &w->config, o->deadline, err) < 0)
			return -1;
		if (o->in_kernel)
			build_tables(t);
		return write_session(t, o, err);
	case WORKER_END:
		cpu_watch_read(&w->cpu, &t->session.cpu);
		if (pollers_end(t, &w->config, o->deadline, err) < 0)
			return -1;
		return write_session(t, o, err);
	case WORKER_TASK:
		return o->task(t, o->arg, product, err);
	}
	return 0;
}

/* The target's pids in a file, also of processes that have ended; or -1. */
static int pids_file(const struct target *t)
{
	const struct session *s = &t->session;
	CLEANUP(close_fd) int fd = memfd_create("pids", MFD_CLOEXEC);
	CLEANUP(str_fini) struct str bytes = {0};

	for (size_t i = 0; i < s->process_count; i++)
		str_add(&bytes, &s->processes[i].pid, sizeof(pid_t));
	for (size_t i = 0; i < t->processes.count; i++)
		str_add(&bytes, &t->processes.list[i].pid, sizeof(pid_t));
	if (fd < 0 || fs_write_all(fd, bytes.buf, bytes.len, NULL) < 0)
		return -1;
	return TAKE_FD(fd);
}

/* Carries out an order and sends the reply. */
static int answer(struct service *w, const struct worker_order *o)
{
	struct worker_product product = {.fd = -1};
	CLEANUP(close_fd) int pids = -1;
	struct target *t = &w->target;
	struct reply r = {.rc = 0};
	int fds[FILES], rc;
	size_t n = 0;

	r.rc = carry_out(w, o, &product, &r.process_ended, &r.err);
	pids = pids_file(t);
	for (int i = 0; i < FILES; i++) {
		const int all[FILES] = {pids, t->session.dirfd, product.fd, t->tables};
		int fd = all[i];

		r.has[i] = fd >= 0;
		if (r.has[i])
			fds[n++] = fd;
	}
	r.jvms = t->jvms.count;
	r.keeps_fp = target_keeps_fp(t);
	r.jvm_ended = pollers_any_ended(t);
	r.jvm_late = t->builder_count < TARGET_BUILDERS && pollers_any_late(t);
	r.snapshot_bytes = pollers_bytes(t);
	memcpy(r.data, product.data, sizeof(r.data));
	rc = message_send(w->socket, &r, sizeof(r), fds, n, 0);
	cleanup_close_fd(&product.fd);
	cleanup_close_fd(&t->tables); /* the coordinator's now */
	return rc;
}

/* Has files copied in the background; before the first window until they are. */
static void copy_files(struct service *w, uint64_t deadline)
{
	struct target *t = &w->target;
	struct err err;

	if (target_copy_files(t, deadline, &err) < 0)
		log_warn("%s: %s", t->container.label, err.msg);
	if (w->config.window_dir)
		session_copy_end(&t->copy, &t->session, deadline);
}

/* Carries out orders until the coordinator closes the socket. */
static int serve(void *arg)
{
	const struct sigaction act = {.sa_handler = on_signal};
	struct worker_order o;
	struct service *w = arg;
	int fds[2];
	size_t n;

	jail_close_files((int[]){0, 1, 2, w->socket, w->target.turns}, 5); /* and other workers' */
	control_group_enter(w->group);
	sigaction(SIGTERM, &act, NULL);
	signal(SIGHUP, SIG_IGN);
	w->config.stop = &interrupted;
	while (message_receive(w->socket, &o, sizeof(o), fds, 2, &n) == sizeof(o)) {
		if (n)
			w->target.outdir = (struct outdir){fds[0], xstrdup(o.outdir)};
		if (n > 1)
			w->target.shared = fds[1];
		if (answer(w, &o) < 0)
			break;
		if (o.command == WORKER_COPY)
			copy_files(w, o.deadline);
	}
	pollers_abort(&w->target, w->config.root);
	cpu_watch_fini(&w->cpu);
	target_fini(&w->target);
	return 0;
}

/* ---- in the coordinator ---- */

static const struct worker no_worker = {
	.socket = -1, .shared = -1, .sessionfd = -1, .tables = -1, .product = {.fd = -1}};

/* Half of the machine's memory at most. */
static void make_group(struct control_group *ret)
{
	const uint64_t half =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	const struct control_group_limits l = {half < MEMORY ? half : MEMORY, PROCESSES};

	control_group_make(&l, ret);
}

int worker_start(struct container *container, const struct record_config *c, int turns,
		 struct worker *ret, struct err *err)
{
	struct worker w = no_worker;
	struct service own = {.config = *c, .group = &w.group, .cpu = CPU_WATCH_NONE};
	int pair[2], rc = -1;

	target_init(&own.target, container);
	own.target.turns = turns;
	make_group(&w.group);
	w.container = own.target.container;
	/* SOCK_SEQPACKET keeps the boundaries of messages. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		err_set(err, errno, "socket");
	} else {
		w.socket = pair[0];
		own.socket = pair[1];
		rc = child_fork(serve, &own, &w.child, err);
		close(pair[1]);
	}
	if (rc < 0) {
		container_fini(&w.container);
		control_group_remove(&w.group);
		cleanup_close_fd(&w.socket);
		return -1;
	}
	*ret = w;
	return 0;
}

bool worker_has_failed(const struct worker *w)
{
	return w->failed.msg[0] != '\0';
}

/* Its children end when it does, but later, and may make files until then. They have its end of the
 * socket, too: the last of them hangs up. */
static void wait_for_children(const struct worker *w)
{
	struct pollfd p = {.fd = w->socket};
	uint64_t deadline = deadline_after(STOP_MS);

	while (p.fd >= 0 && poll(&p, 1, deadline_ms_left(deadline)) < 0 && errno == EINTR)
		;
}

void worker_fail(struct worker *w, const struct err *why)
{
	if (!worker_has_failed(w))
		w->failed = *why;
	w->busy = false;
	child_stop(&w->child);
	wait_for_children(w);
	cleanup_close_fd(&w->socket);
}

void worker_order(struct worker *w, const struct worker_order *o, uint64_t deadline)
{
	struct worker_order order = *o;
	const int fds[] = {w->outdir.fd, w->shared};
	const size_t n = o->command != WORKER_PREPARE ? 0 : w->shared < 0 ? 1 : 2;
	struct err err;

	if (worker_has_failed(w))
		return;
	if (w->outdir.path)
		snprintf(order.outdir, sizeof(order.outdir), "%s", w->outdir.path);
	cleanup_close_fd(&w->product.fd);
	w->deadline = deadline;
	w->busy = message_send(w->socket, &order, sizeof(order), fds, n, 0) == 0;
	if (w->busy)
		return;
	err_set(&err, 0, CRASHED);
	worker_fail(w, &err);
}

static void take_pids(struct worker *w, int fd)
{
	CLEANUP(str_fini) struct str bytes = {0};

	if (lseek(fd, 0, SEEK_SET) < 0 || fs_read_all(fd, SIZE_MAX, &bytes, NULL) < 0)
		return;
	free(w->pids);
	w->pid_count = bytes.len / sizeof(*w->pids);
	w->pids = (pid_t *)(void *)TAKE_PTR(bytes.buf);
}

static void take_file(struct worker *w, int which, int fd)
{
	CLEANUP(close_fd) int file = fd;

	if (which == FILE_PIDS)
		take_pids(w, file);
	else if (which == FILE_SESSION && w->sessionfd < 0)
		w->sessionfd = TAKE_FD(file);
	else if (which == FILE_PRODUCT)
		w->product.fd = TAKE_FD(file);
	else if (which == FILE_TABLES && w->tables < 0)
		w->tables = TAKE_FD(file);
}

static void receive(struct worker *w)
{
	int fds[FILES];
	struct reply r;
	struct err err;
	size_t n, at = 0;

	if (message_receive(w->socket, &r, sizeof(r), fds, FILES, &n) != sizeof(r)) {
		err_set(&err, 0, CRASHED);
		worker_fail(w, &err);
		return;
	}
	w->busy = false;
	for (int i = 0; i < FILES && at < n; i++)
		if (r.has[i])
			take_file(w, i, fds[at++]);
	w->jvms = r.jvms;
	w->keeps_fp = r.keeps_fp;
	w->jvm_ended = r.jvm_ended;
	w->jvm_late = r.jvm_late;
	w->process_ended |= r.process_ended;
	w->snapshot_bytes = r.snapshot_bytes;
	memcpy(w->product.data, r.data, sizeof(r.data));
	if (r.rc < 0) {
		r.err.msg[sizeof(r.err.msg) - 1] = '\0';
		worker_fail(w, &r.err);
	}
}

static size_t count_busy(const struct worker *list, size_t count)
{
	size_t busy = 0;

	for (size_t i = 0; i < count; i++)
		busy += list[i].busy;
	return busy;
}

/* Receives the replies that come within some time, and ends those whose deadline is over. */
static void receive_some(struct worker *list, size_t count, int ms, const char *late)
{
	CLEANUP(free) struct pollfd *p = xcalloc(count, sizeof(*p));
	uint64_t first = deadline_after(ms);
	struct err err;

	err_set(&err, 0, "%s", late);
	for (size_t i = 0; i < count; i++) {
		p[i] = (struct pollfd){.fd = list[i].busy ? list[i].socket : -1, .events = POLLIN};
		if (list[i].busy && list[i].deadline < first)
			first = list[i].deadline;
	}
	(void)poll(p, count, deadline_ms_left(first));
	for (size_t i = 0; i < count; i++) {
		if (p[i].fd >= 0 && p[i].revents)
			receive(&list[i]);
		else if (p[i].fd >= 0 && !deadline_ms_left(list[i].deadline))
			worker_fail(&list[i], &err);
	}
}

/* Has those that are busy end their waits. */
static void interrupt(struct worker *list, size_t count)
{
	uint64_t soon = deadline_after(STOP_MS);

	for (size_t i = 0; i < count; i++) {
		if (!list[i].busy)
			continue;
		child_signal(&list[i].child, SIGTERM);
		if (list[i].deadline > soon)
			list[i].deadline = soon;
	}
}

void workers_wait(struct worker *list, size_t count, size_t busy, const volatile sig_atomic_t *stop)
{
	sig_atomic_t before = stop ? *stop : 0;
	bool stopped = false;

	while (count_busy(list, count) > busy) {
		if (!stopped && stop && *stop != before) {
			stopped = true;
			interrupt(list, count);
		}
		receive_some(list, count, SLICE_MS, stopped ? "interrupted" : LATE);
	}
}

bool workers_receive(struct worker *list, size_t count)
{
	const size_t before = count_busy(list, count);

	receive_some(list, count, 0, LATE);
	return count_busy(list, count) < before;
}

void worker_fini(struct worker *w)
{
	int status;

	cleanup_close_fd(&w->socket);
	if (w->child.pid > 0 && !child_wait(&w->child, STOP_MS, &status))
		child_stop(&w->child);
	control_group_remove(&w->group);
	cleanup_close_fd(&w->sessionfd);
	cleanup_close_fd(&w->tables);
	cleanup_close_fd(&w->product.fd);
	container_fini(&w->container);
	outdir_close(&w->outdir);
	free(w->pids);
	*w = no_worker;
}
