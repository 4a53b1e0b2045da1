// SPDX-License-Identifier: Apache-2.0
/* The workers of containers: what they do and reply, and how they fail. */
#include "record/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/proc.h"
#include "lib/actor.h"
#include "lib/scratch.h"
#include "lib/tap.h"

#define LONG_MS 60000 /* for what takes some ms on a quiet machine */

/* Memory of the test and of its workers. */
static struct shared {
	volatile int ready, go;
	volatile pid_t pid;
} * shared;

static char *root;
static pid_t target; /* the process of all containers here */
static volatile sig_atomic_t stop;
static struct err err;

static struct record_config config_of(void)
{
	return (struct record_config){
		.root = root, .frequency = 99, .source = SOURCE_HOST, .stop = &stop};
}

static struct worker start(pid_t pid)
{
	const struct record_config c = config_of();
	struct container container;
	struct worker w;

	if (container_of_pid(root, pid, &container, &err) < 0 ||
	    worker_start(&container, &c, -1, &w, &err) < 0)
		abort();
	return w;
}

/* Gives an order and waits for the reply. */
static void order(struct worker *w, const struct worker_order *o)
{
	worker_order(w, o, deadline_after(LONG_MS));
	workers_wait(w, 1, 0, NULL);
}

static void order_task(struct worker *w, worker_task *task, void *arg)
{
	order(w, &(struct worker_order){.command = WORKER_TASK, .task = task, .arg = arg});
}

static void succeeds(const struct worker *w, const char *check)
{
	if (!ok(!w->busy && !worker_has_failed(w), "%s", check))
		printf("# %s\n", w->failed.msg);
}

static void has_failed(const struct worker *w, const char *why)
{
	is_str(w->failed.msg, why, "the reason is: %s", why);
	ok(worker_has_failed(w) && !w->busy, "the worker has failed");
	ok(w->socket < 0 && w->child.pid < 0, "its process is gone");
}

/* ---- tasks ---- */

static int nothing(struct target *t, void *arg, struct worker_product *ret, struct err *e)
{
	(void)t, (void)arg, (void)ret, (void)e;
	return 0;
}

/* The product: the id of the container in a file, and the argument as data. */
static int make_product(struct target *t, void *arg, struct worker_product *ret, struct err *e)
{
	ret->fd = memfd_create("product", MFD_CLOEXEC);
	if (ret->fd < 0 || fs_write_all(ret->fd, t->container.id, strlen(t->container.id), e) < 0)
		return -1;
	snprintf((char *)ret->data, sizeof(ret->data), "%s", (const char *)arg);
	return 0;
}

static int make_and_fail(struct target *t, void *arg, struct worker_product *ret, struct err *e)
{
	if (make_product(t, arg, ret, e) < 0)
		return -1;
	return err_set(e, EACCES, "refused");
}

static int crash(struct target *t, void *arg, struct worker_product *ret, struct err *e)
{
	(void)t, (void)arg, (void)ret, (void)e;
	raise(SIGKILL);
	return 0;
}

/* Waits until it may go on; a signal does not end that. */
static int wait_for_go(struct target *t, void *arg, struct worker_product *ret, struct err *e)
{
	(void)t, (void)arg, (void)ret, (void)e;
	shared->ready = 1;
	while (!shared->go)
		sleep_ms(5);
	return 0;
}

/* Waits for a signal. */
static int wait_for_signal(struct target *t, void *arg, struct worker_product *ret, struct err *e)
{
	sigset_t term;
	int sig;

	(void)t, (void)arg, (void)ret, (void)e;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	shared->ready = 1;
	sigwait(&term, &sig);
	return 0;
}

NORETURN static int pause_always(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

/* Starts a child that does not end by itself. */
static int start_child(struct target *t, void *arg, struct worker_product *ret, struct err *e)
{
	struct child c;

	(void)t, (void)arg, (void)ret;
	if (child_fork(pause_always, NULL, &c, e) < 0)
		return -1;
	shared->pid = c.pid;
	return 0;
}

/* Makes files and renames them, as a copy of files does, until their directory is gone. */
static int make_files(void *dir)
{
	CLEANUP(free) char *part = xasprintf("%s/part", (char *)dir);

	for (unsigned i = 0;; i++) {
		CLEANUP(free) char *whole = xasprintf("%s/%u", (char *)dir, i % 8);
		CLEANUP(close_fd) int fd = open(part, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		if (fd < 0 || rename(part, whole) < 0)
			return 1;
		shared->ready = 1;
	}
}

static int have_files_made(void *dir)
{
	struct child c;

	return child_fork(make_files, dir, &c, NULL) < 0 ? 1 : pause_always(NULL);
}

/* Starts a child of a child: it ends some time after the worker. */
static int start_maker(struct target *t, void *arg, struct worker_product *ret, struct err *e)
{
	struct child c;

	(void)t, (void)ret;
	return child_fork(have_files_made, arg, &c, e);
}

/* ---- orders and replies ---- */

static bool knows_only(const struct worker *w, pid_t pid)
{
	for (size_t i = 0; i < w->pid_count; i++)
		if (w->pids[i] != pid)
			return false;
	return w->pid_count > 0;
}

static void check_session(const char *name, const char *check)
{
	CLEANUP(free) char *dir = path_of(name);
	struct session s;

	if (!ok(session_open(dir, &s, &err) == 0, "%s", check))
		return;
	ok(s.duration > 2.49 && s.duration < 2.51, "it has the duration");
	is_int(s.stack_bytes, 4096, "it has the size of stack copies");
	is_int(s.frequency, 99, "it has the frequency");
	is_int(s.process_count, 1, "it has the process");
	session_fini(&s);
}

static int files_in(int dirfd, const char *name)
{
	DIR *dir = fdopendir(openat(dirfd, name, O_RDONLY | O_DIRECTORY));
	int count = 0;

	if (!dir)
		abort();
	for (struct dirent *e; (e = readdir(dir));)
		count += e->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void test_orders(void)
{
	pid_t pid = actor_idle();
	struct worker_order o = {.command = WORKER_LOOK, .us = 2500000, .stack_bytes = 4096};
	struct worker w = start(pid);
	CLEANUP(free) char *out = path_of("orders"), *id = xasprintf("pid-%d", (int)pid);
	struct stat a, b;

	is_str(w.container.id, id, "a worker has its container");
	order(&w, &o);
	succeeds(&w, "it looks for processes");
	ok(w.pid_count == 1 && w.pids[0] == pid, "it replies which it has found");
	is_int(w.jvms, 0, "none is a JVM");
	ok(!w.keeps_fp && !w.jvm_ended && !w.snapshot_bytes, "so nothing is known of JVMs");
	is_int(w.sessionfd, -1, "there is no session yet");
	if (mkdir(out, 0700) < 0)
		abort();
	o.command = WORKER_PREPARE;
	if (outdir_open(out, 0700, &w.outdir, &err) < 0)
		abort();
	order(&w, &o);
	succeeds(&w, "it makes a session");
	ok(fstat(w.sessionfd, &a) == 0 && fstatat(AT_FDCWD, out, &b, 0) == 0 &&
		   a.st_dev == b.st_dev,
	   "it replies with the session's directory");
	ok(exists("orders/session/kallsyms"), "it has the kernel's symbols");
	is_int(files_in(w.sessionfd, "elf"), 1, "no file is copied yet but the vDSO");
	o.command = WORKER_COPY;
	order(&w, &o);
	succeeds(&w, "it replies before it copies");
	order_task(&w, nothing, NULL);
	succeeds(&w, "then it is ready for another order");
	o.command = WORKER_WINDOW;
	o.deadline = deadline_after(LONG_MS);
	order(&w, &o);
	succeeds(&w, "it writes a session at the end of a window");
	ok(files_in(w.sessionfd, "elf") > 1, "it has copied the files");
	check_session("orders/session", "the session can be opened");
	ok(knows_only(&w, pid), "it replies which processes it knows");
	unlinkat(w.sessionfd, "session.json", 0);
	actor_end(pid);
	o.command = WORKER_END;
	order(&w, &o);
	succeeds(&w, "it writes the session of a container that has ended");
	check_session("orders/session", "also that one can be opened");
	ok(knows_only(&w, pid), "processes that have ended are still known");
	worker_fini(&w);
	ok(w.socket < 0 && w.sessionfd < 0 && !w.pids, "it is released");
	ok(exists("orders/session/kallsyms"), "what it has recorded stays");
}

static void test_failing_order(void)
{
	pid_t pid = actor_idle();
	struct worker w = start(pid);

	actor_end(pid);
	order(&w, &(struct worker_order){.command = WORKER_LOOK});
	succeeds(&w, "to find no process is no failure");
	is_int(w.pid_count, 0, "of a container that has ended there is none");
	worker_fini(&w);

	w = start(target);
	order(&w, &(struct worker_order){.command = WORKER_PREPARE, .outdir = "/proc/none"});
	ok(strstr(w.failed.msg, "/proc/none/session"), "a session that cannot be made fails: %s",
	   w.failed.msg);
	worker_fini(&w);
}

/* ---- products ---- */

static void has_product(const struct worker *w, const char *data)
{
	CLEANUP(free) char *id = xasprintf("pid-%d", (int)target);
	CLEANUP(str_fini) struct str got = {0};

	if (ok(w->product.fd >= 0, "there is a file") && lseek(w->product.fd, 0, SEEK_SET) == 0 &&
	    fs_read_all(w->product.fd, 4096, &got, &err) == 0)
		is_str(got.buf, id, "with what the task has written");
	is_str((const char *)w->product.data, data, "there is the data of the task");
}

static void test_products(void)
{
	char text[] = "hello";
	struct worker w = start(target);
	int fd;

	is_int(w.product.fd, -1, "at first there is no product");
	order_task(&w, make_product, text);
	succeeds(&w, "a task has a product");
	text[0] = 'j';
	has_product(&w, "hello");
	fd = w.product.fd;
	order_task(&w, make_product, text);
	is_str((const char *)w.product.data, "hello",
	       "the argument of a task is as it was when the worker was started");
	order_task(&w, nothing, NULL);
	succeeds(&w, "another task has none");
	ok(w.product.fd < 0 && fcntl(fd, F_GETFD) < 0, "the file of the one before is closed");
	is_str((const char *)w.product.data, "", "so is its data");
	order_task(&w, make_and_fail, text);
	has_failed(&w, "refused: Permission denied");
	has_product(&w, "hello");
	fd = w.product.fd;
	worker_fini(&w);
	ok(fcntl(fd, F_GETFD) < 0, "the end of the worker closes it");
}

/* ---- failures ---- */

static void test_crash(void)
{
	struct worker w = start(target);
	struct err other;

	order_task(&w, crash, NULL);
	has_failed(&w, "its worker crashed");
	order_task(&w, nothing, NULL);
	has_failed(&w, "its worker crashed");
	err_set(&other, 0, "another reason");
	worker_fail(&w, &other);
	has_failed(&w, "its worker crashed");
	worker_fini(&w);

	w = start(target);
	kill(w.child.pid, SIGKILL);
	order_task(&w, nothing, NULL);
	has_failed(&w, "its worker crashed");
	worker_fini(&w);
}

/* One that waits without end costs the others nothing. */
static void test_hang(void)
{
	const struct worker_order hang = {.command = WORKER_TASK, .task = wait_for_go};
	const struct worker_order make = {
		.command = WORKER_TASK, .task = make_product, .arg = (char[]){"other"}};
	struct worker list[2] = {start(target), start(target)};
	uint64_t deadline = deadline_after(500);

	shared->go = 0;
	worker_order(&list[0], &hang, deadline);
	worker_order(&list[1], &make, deadline_after(LONG_MS));
	workers_wait(list, 2, 1, NULL);
	ok(list[1].product.fd >= 0 || !deadline_ms_left(deadline),
	   "one that is done is not waited for longer than the other one's deadline");
	workers_wait(list, 2, 0, NULL);
	is_int(deadline_ms_left(deadline), 0, "one that hangs has time until its deadline");
	has_failed(&list[0], "it took too long");
	succeeds(&list[1], "the other one has not failed");
	has_product(&list[1], "other");
	for (size_t i = 0; i < 2; i++)
		worker_fini(&list[i]);
}

/* Waits until some are left. */
static void test_busy(void)
{
	const struct worker_order wait = {.command = WORKER_TASK, .task = wait_for_go};
	struct worker list[2] = {start(target), start(target)};

	shared->go = 0;
	worker_order(&list[0], &wait, deadline_after(LONG_MS));
	workers_wait(list, 2, 1, NULL);
	ok(list[0].busy, "one that is busy is not waited for where one may be");
	worker_order(&list[1], &(struct worker_order){.command = WORKER_LOOK},
		     deadline_after(LONG_MS));
	workers_wait(list, 2, 1, NULL);
	ok(list[0].busy && !list[1].busy, "only for the other one");
	shared->go = 1;
	workers_wait(list, 2, 0, NULL);
	ok(!list[0].busy && !worker_has_failed(&list[0]), "then for all");
	for (size_t i = 0; i < 2; i++)
		worker_fini(&list[i]);
}

/* ---- signals ---- */

static void on_alarm(int sig)
{
	(void)sig;
	if (shared->ready)
		stop = 1;
}

/* Changes `stop` once a task is ready. */
static void stop_when_ready(void)
{
	const struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	const struct itimerval often = {{0, 10000}, {0, 10000}};

	stop = 0;
	shared->ready = shared->go = 0;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static void stop_end(void)
{
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
}

static void test_interrupt(void)
{
	struct worker_order o = {.command = WORKER_TASK, .task = wait_for_signal};
	struct worker w = start(target);
	uint64_t before;

	stop_when_ready();
	worker_order(&w, &o, deadline_after(-1));
	workers_wait(&w, 1, 0, &stop);
	stop_end();
	is_int(stop, 1, "a stop while one is busy");
	succeeds(&w, "ends its wait, and it replies");

	o.command = WORKER_LOOK;
	worker_order(&w, &o, deadline_after(LONG_MS));
	workers_wait(&w, 1, 0, &stop);
	succeeds(&w, "a stop of before is none");
	worker_fini(&w);

	w = start(target);
	o = (struct worker_order){.command = WORKER_TASK, .task = wait_for_go};
	stop_when_ready();
	before = clock_ms();
	worker_order(&w, &o, deadline_after(-1));
	workers_wait(&w, 1, 0, &stop);
	stop_end();
	ok(clock_ms() - before >= 1000, "one that goes on has 1 s after a stop");
	has_failed(&w, "interrupted");
	worker_fini(&w);
}

/* ---- how they end ---- */

static void test_siblings(void)
{
	struct worker first = start(target), second = start(target);
	int status = -1;

	order_task(&second, nothing, NULL);
	close(first.socket);
	first.socket = -1;
	is_int(child_wait(&first.child, LONG_MS, &status), 1,
	       "a worker ends when its socket is closed, since no other one has it");
	is_int(status, 0, "that is no failure");
	order_task(&second, nothing, NULL);
	succeeds(&second, "the others go on");
	worker_fini(&first);
	worker_fini(&second);
}

/* Waits for a process whose parent has ended: then it is a child of this one. */
static void ends(pid_t pid, const char *check)
{
	is_int(waitpid(pid, NULL, 0), pid, "%s", check);
}

static void test_children(void)
{
	struct worker w = start(target);
	struct err why;

	order_task(&w, start_child, NULL);
	worker_fini(&w);
	ends(shared->pid, "the end of a worker ends its children");

	w = start(target);
	order_task(&w, start_child, NULL);
	err_set(&why, 0, "no more");
	worker_fail(&w, &why);
	ends(shared->pid, "so does its failure");
	has_failed(&w, "no more");
	worker_fini(&w);

	w = start(target);
	order_task(&w, start_child, NULL);
	worker_order(&w, &(struct worker_order){.command = WORKER_TASK, .task = wait_for_go}, 0);
	workers_wait(&w, 1, 0, NULL);
	ends(shared->pid, "so does a deadline");
	worker_fini(&w);
}

/* Once a worker has failed, what it has made can be removed. */
static void test_children_stop(void)
{
	CLEANUP(free) char *dir = path_of("made");
	int left = 0;
	struct err why;

	err_set(&why, 0, "no more");
	for (int i = 0; i < 50; i++) {
		struct worker w = start(target);

		mkdir(dir, 0700);
		shared->ready = 0;
		order_task(&w, start_maker, dir);
		while (!shared->ready)
			sleep_ms(1);
		worker_fail(&w, &why);
		left += fs_remove_tree(AT_FDCWD, dir) < 0 || exists("made");
		worker_fini(&w);
	}
	is_int(left, 0, "the children of a worker that has failed make no more files");
}

static void test_caller_ends(void)
{
	struct actor a;

	if (actor_fork(&a)) {
		struct worker w = start(target);

		order_task(&w, nothing, NULL);
		shared->pid = w.child.pid;
		actor_play(&a);
	}
	if (!actor_wait(&a))
		abort();
	actor_end(a.pid);
	ends(shared->pid, "a worker ends with its caller");
}

static void test_no_start(void)
{
	const struct record_config c = config_of();
	struct container container;
	struct rlimit before, few;
	struct worker w = {.socket = 77};

	if (container_of_pid(root, target, &container, &err) < 0 ||
	    getrlimit(RLIMIT_NOFILE, &before) < 0)
		abort();
	few = (struct rlimit){3, before.rlim_max};
	setrlimit(RLIMIT_NOFILE, &few);
	is_int(worker_start(&container, &c, -1, &w, &err), -1, "without descriptors none starts");
	setrlimit(RLIMIT_NOFILE, &before);
	is_int(err.code, EMFILE, "the error says so: %s", err.msg);
	is_int(w.socket, 77, "the output of a failure is untouched");
	ok(!container.id, "the container is taken over all the same");
}

int main(void)
{
	scratch_make();
	signal(SIGPIPE, SIG_IGN); /* as in each command */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	root = path_of("root");
	target = actor_idle();
	if (shared == MAP_FAILED)
		abort();
	test_orders();
	test_failing_order();
	test_products();
	test_crash();
	test_hang();
	test_busy();
	test_interrupt();
	test_siblings();
	test_children();
	test_children_stop();
	test_caller_ends();
	test_no_start();
	actor_end(target);
	free(root);
	scratch_remove();
	return tap_done();
}
