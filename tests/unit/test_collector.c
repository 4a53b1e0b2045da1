// SPDX-License-Identifier: Apache-2.0
/* The process of dfg-top that records, with a fake perf: which windows it sends, and how it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "common/clock.h"
#include "common/fs.h"
#include "lib/actor.h"
#include "lib/fakeperf.h"
#include "lib/hookrecord.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "record/run.h"
#include "top/top.h"
#include "top/window.h"

#define WAIT_MS 60000 /* for what comes within some ms on a quiet machine */

static struct err err;

static void make_dir(const char *name)
{
	CLEANUP(free) char *path = path_of(name);

	if (mkdir(path, 0700) < 0)
		abort();
}

/* ---- a collector ---- */

struct running {
	struct collector collector;
	struct record_config config;
	struct child child;
	char *root, *dir, *perf, *name;
	char *names[1];
	int log; /* what it logs, to be read */
};

/* Prepares one, in a directory of its own, whose windows are as short as can be. */
static void prepare(struct running *r, const char *dir, const char *perf, const char *name)
{
	make_dir(dir);
	*r = (struct running){.root = path_of("root"),
			      .dir = path_of(dir),
			      .perf = path_of(perf),
			      .name = xstrdup(name),
			      .log = -1};
	r->names[0] = r->name;
	r->config = (struct record_config){.root = r->root,
					   .names = r->names,
					   .name_count = 1,
					   .frequency = 99,
					   .perf = r->perf,
					   .source = SOURCE_HOST};
	r->collector = (struct collector){.config = &r->config, .dir = r->dir};
	if (feed_open(r->collector.feed, &err) < 0)
		abort();
}

static void start(struct running *r)
{
	int log[2];

	if (pipe2(log, O_CLOEXEC) < 0)
		abort();
	r->collector.log = log[1];
	r->log = log[0];
	ok(collector_start(&r->collector, &r->child, &err) == 0, "a collector starts");
	close(r->collector.feed[1]);
	close(log[1]);
}

static void start_of_pid(struct running *r, const char *dir, const char *perf, pid_t pid)
{
	CLEANUP(free) char *name = xasprintf("%d", (int)pid);

	prepare(r, dir, perf, name);
	r->config.by_pid = true;
	start(r);
}

/* The samples of the next window of one container, -1 after the last one. */
static int next_window(struct running *r, struct window *w)
{
	struct stacks *stacks;

	if (feed_receive(r->collector.feed[0], w, &stacks, &err) <= 0)
		return -1;
	stacks_free(stacks);
	return (int)w->quality.samples;
}

/* Its next line of the log. Owned. */
static char *log_line(struct running *r)
{
	CLEANUP(str_fini) struct str line = {0};
	char c;

	while (read(r->log, &c, 1) == 1 && c != '\n')
		str_addc(&line, c);
	return line.buf ? TAKE_PTR(line.buf) : xstrdup("");
}

static void logs(struct running *r, const char *want, const char *check)
{
	CLEANUP(free) char *got = log_line(r);

	is_str(got, want, "%s", check);
}

/* Waits until it has ended, and checks that it leaves nothing. */
static void ends(struct running *r, enum record_result want, const char *check)
{
	int status = -1;

	if (!child_wait(&r->child, WAIT_MS, &status))
		child_stop(&r->child);
	ok(WIFEXITED(status), "it ends by itself: %x", (unsigned)status);
	is_int(WEXITSTATUS(status), want, "%s", check);
	close(r->log);
	close(r->collector.feed[0]);
	is_int(rmdir(r->dir), 0, "it leaves no file");
	free(r->root);
	free(r->dir);
	free(r->perf);
	free(r->name);
}

/* ---- how it ends ---- */

static void test_windows(pid_t pid)
{
	CLEANUP(free) char *name = xasprintf("process %d", (int)pid);
	CLEANUP(free) char *id = xasprintf("pid-%d", (int)pid), *no_jvm = NULL;
	struct window w;
	struct running r;

	start_of_pid(&r, "windows", "perf-good", pid);
	for (int i = 0; i < 3; i++) {
		is_int(next_window(&r, &w), 6, "window %d has the samples of the recording", i);
		is_str(w.name, name, "it has the name of what is recorded");
		is_str(w.id, id, "it has its id");
		ok(w.part == 0 && w.parts == 1, "it is of one container");
		ok(w.us > 0 && w.us < 1000000ull * WAIT_MS, "it has its length: %d us", (int)w.us);
		is_int(w.gap_us, 0, "nothing was missed before it");
		is_int(w.cut, 0, "nothing of it was damaged");
	}
	ok(exists("windows/0"), "its files are in its directory");
	is_int(getpgid(r.child.pid), r.child.pid, "it has a process group of its own");
	kill(r.child.pid, SIGHUP);
	is_int(next_window(&r, &w), 6, "the end of the terminal does not end it");
	no_jvm = xasprintf("dfg: warning: no JVM runs in %s", name);
	logs(&r, no_jvm, "it logs that there is no JVM");
	child_signal(&r.child, SIGTERM);
	ends(&r, RECORD_NO_JVM, "SIGTERM ends it; its status is that there is no JVM");
}

static void test_ends(pid_t pid)
{
	pid_t brief = actor_idle();
	struct window w;
	struct running r;
	char *line;

	start_of_pid(&r, "reader", "perf-good", pid);
	next_window(&r, &w);
	shutdown(r.collector.feed[0], SHUT_RDWR);
	ends(&r, RECORD_NO_JVM, "the end of the reader ends it");

	start_of_pid(&r, "fails", "perf-fails", pid);
	is_int(next_window(&r, &w), -1, "a perf that fails has no window");
	logs(&r, "dfg: perf recorded nothing: the kernel said no", "it logs perf's message");
	ends(&r, RECORD_FAILED, "it fails");

	start_of_pid(&r, "nobody", "perf-good", 4194304);
	line = log_line(&r);
	ok(strstr(line, "4194304") != NULL, "it logs which process does not exist: %s", line);
	free(line);
	ends(&r, RECORD_NO_CONTAINER, "its status is that there is none");

	start_of_pid(&r, "ended", "perf-good", brief);
	next_window(&r, &w);
	actor_end(brief);
	free(log_line(&r)); /* no JVM */
	logs(&r, "dfg: its processes have ended", "it logs that the process has ended");
	ends(&r, RECORD_NO_JVM, "then it ends, too");
}

static void wait_for_text(const char *name)
{
	CLEANUP(free) char *path = path_of(name);
	uint64_t deadline = deadline_after(WAIT_MS);
	struct stat st;

	while ((stat(path, &st) < 0 || st.st_size == 0) && deadline_ms_left(deadline))
		sleep_ms(5);
}

static void test_early_stop(pid_t pid)
{
	struct running r;

	start_of_pid(&r, "early", "perf-stuck", pid);
	wait_for_text("early/0/perf/perf.log");
	child_signal(&r.child, SIGTERM);
	logs(&r, "", "a collector that is stopped before it records logs nothing");
	ends(&r, RECORD_OK, "it is no failure");
}

static unsigned count_in(const char *name, const char *text)
{
	CLEANUP(free) char *path = path_of(name);
	CLEANUP(str_fini) struct str log = {0};
	unsigned count = 0;

	if (fs_read_file(AT_FDCWD, path, 1 << 20, &log, &err) == 0 && log.buf)
		for (const char *p = log.buf; (p = strstr(p, text)); p++)
			count++;
	return count;
}

/* A window that does not fit into the feed is missing in front of the next one. */
static void test_gap(pid_t pid)
{
	const struct window filler = {.name = "filler", .parts = 1};
	CLEANUP(free) char *name = xasprintf("%d", (int)pid);
	CLEANUP(close_fd) int tree = memfd_create("tree", MFD_CLOEXEC);
	struct stacks *none = stacks_new();
	struct window w = {0};
	struct running r;
	int small = 1;

	prepare(&r, "gap", "perf-good", name);
	r.config.by_pid = true;
	if (tree_write(none, tree, &err) < 0 ||
	    setsockopt(r.collector.feed[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)) < 0)
		abort();
	stacks_free(none);
	while (feed_send(r.collector.feed[1], &filler, tree) > 0)
		continue;
	start(&r);
	/* Three files: of the time before perf was ready, the first window, the second one. When
	 * that is there the first one has not been sent. */
	for (uint64_t deadline = deadline_after(WAIT_MS);
	     count_in("gap/0/perf/perf.log", "[ perf switched") < 3 && deadline_ms_left(deadline);)
		sleep_ms(1);
	do
		ok(next_window(&r, &w) >= 0, "a message is received");
	while (!strcmp(w.name, "filler"));
	ok(w.gap_us > 0, "the first one that fits says what was missed: %d us", (int)w.gap_us);
	is_int(next_window(&r, &w), 6, "the next window comes");
	is_int(w.gap_us, 0, "nothing was missed before that one");
	child_signal(&r.child, SIGTERM);
	ends(&r, RECORD_NO_JVM, "it ends");
}

/* ---- a container that is started again ---- */

static void test_again(void)
{
	pid_t pid = actor_idle();
	struct window w;
	struct running r;

	hookrecord_put("web", pid, "");
	prepare(&r, "again", "perf-good", "web");
	r.collector.waits = true;
	start(&r);
	next_window(&r, &w);
	is_str(w.name, "web", "a container is recorded");
	actor_end(pid);
	logs(&r, "dfg: warning: no JVM runs in web", "it has no JVM");
	logs(&r, "dfg: its processes have ended: waiting for new ones",
	     "when it ends the collector waits for a new one");
	ok(!exists("again/0"), "the files of its recording are removed");
	pid = actor_idle();
	hookrecord_put("web", pid, "");
	logs(&r, "dfg: it runs again", "a container of the name is recorded anew");
	while (next_window(&r, &w) == 0)
		continue;
	ok(next_window(&r, &w) == 0 || w.parts == 1, "its windows come");
	actor_end(pid);
	logs(&r, "dfg: its processes have ended: waiting for new ones", "until it ends, too");
	child_signal(&r.child, SIGTERM);
	ends(&r, RECORD_NO_JVM, "SIGTERM ends the wait");
}

/* ---- runs that take over ---- */

/* A process that is the first of a pid namespace, and a parent that starts more in it. */
static void play_parent(const struct actor *a, int to)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (unshare(CLONE_NEWPID) < 0)
		_exit(1);
	for (bool first = true;; first = false) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (write(to, &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		if (first)
			actor_tell(a);
		sigwait(&set, &sig);
	}
}

/* Starts it. Its pids come by *ret_pids. */
static pid_t start_namespace(struct actor *a, int *ret_pids)
{
	pid_t pid = -1;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		abort();
	if (actor_fork(a))
		play_parent(a, fds[1]);
	close(fds[1]);
	if (!actor_wait(a) || read(fds[0], &pid, sizeof(pid)) != sizeof(pid))
		pid = -1;
	*ret_pids = fds[0];
	return pid;
}

/* Has the parent start one more process, which then runs. */
static void add_process(const struct actor *parent, int pids)
{
	pid_t pid;

	kill(parent->pid, SIGUSR1);
	if (read(pids, &pid, sizeof(pid)) != sizeof(pid))
		abort();
}

/* Receives windows until the file exists, as many at most as a run may miss a process for, and
 * some. */
static void receive_until(struct running *r, const char *name)
{
	struct window w;

	for (int i = 0; i < 40 && !exists(name) && next_window(r, &w) >= 0; i++)
		continue;
}

/* A run is replaced after ten windows where there is a process that its perf does not know. Its
 * first attempt fails here. */
static void test_takeover(const struct actor *parent, int pids)
{
	CLEANUP(free) char *first = path_of("takeover/1");
	struct window w;
	struct running r;

	prepare(&r, "takeover", "perf-good", "old");
	make_dir("takeover/1");
	start(&r);
	is_int(next_window(&r, &w), 6, "a container in a pid namespace is recorded");
	add_process(parent, pids);
	receive_until(&r, "takeover/2");
	ok(exists("takeover/2"),
	   "where the next run cannot begin the run goes on, and tries again");
	for (int i = 0; i < 40 && exists("takeover/0") && next_window(&r, &w) >= 0; i++)
		continue;
	ok(!exists("takeover/0"), "the run before ends when the next one has begun");
	ok(next_window(&r, &w) >= 0, "its windows follow");
	is_int(w.gap_us, 0, "and nothing was missed");
	child_signal(&r.child, SIGTERM);
	rmdir(first);
	ends(&r, RECORD_NO_JVM, "SIGTERM ends it");
}

static void test_no_takeover(const struct actor *parent, int pids)
{
	CLEANUP(free) char *first = path_of("stuck/1"), *second = path_of("stuck/2");
	CLEANUP(free) char *want = xasprintf("dfg: make %s: File exists", second);
	struct window w;
	struct running r;

	prepare(&r, "stuck", "perf-good", "old");
	make_dir("stuck/1");
	make_dir("stuck/2");
	start(&r);
	next_window(&r, &w);
	add_process(parent, pids);
	receive_until(&r, "no such file");
	free(log_line(&r)); /* no JVM */
	logs(&r, want, "a second run in a row that cannot begin is an error");
	rmdir(first);
	rmdir(second);
	ends(&r, RECORD_FAILED, "which ends the collector");
}

int main(int argc, char **argv)
{
	static const char *const fakes[] = {"perf-good", "perf-fails", "perf-stuck"};
	struct actor parent = {.pid = -1};
	pid_t pid, inner = -1;
	int pids = -1;
	char *golden;

	if (fakeperf_is(argv[0]))
		return fakeperf_main(argc, argv);
	scratch_make();
	if (geteuid() == 0)
		inner = start_namespace(&parent, &pids);
	pid = actor_idle();
	golden = path_of("golden");
	fakeperf_make_at(golden, pid);
	fakeperf_install(top, fakes, ARRAY_LEN(fakes));
	test_windows(pid);
	test_ends(pid);
	test_early_stop(pid);
	test_gap(pid);
	test_again();
	if (inner > 0) {
		hookrecord_put("old", inner, "");
		actor_wait_until_old(inner);
		test_takeover(&parent, pids);
		test_no_takeover(&parent, pids);
	} else {
		ok(true, "runs that take over # SKIP that needs a pid namespace");
	}
	actor_end(pid);
	if (parent.pid > 0)
		actor_end(parent.pid);
	scratch_remove();
	free(golden);
	return tap_done();
}
