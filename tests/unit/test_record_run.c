// SPDX-License-Identifier: Apache-2.0
/* Recording runs with a fake perf: this program itself, by another name. */
#include "record/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/str.h"
#include "lib/actor.h"
#include "lib/fakeperf.h"
#include "lib/tap.h"

static char top[] = "/tmp/dfg-run.XXXXXX";
static volatile sig_atomic_t stop;
static unsigned explained;
static pid_t pids[2];
static char pid_text[2][16];
static char *names[2] = {pid_text[0], pid_text[1]};

static void explain(const char *root, struct err *err)
{
	explained++;
	(void)!err_wrap(err, "explained in %s", root);
}

static void on_alarm(int sig)
{
	(void)sig;
	stop = 1;
}

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(path_of(name), &st) == 0 ? st.st_size : -1;
}

static bool exists(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

/* The number of runs that have a temporary directory. */
static int temp_dirs(void)
{
	DIR *dir = opendir(path_of("root/tmp"));
	int count = 0;

	for (const struct dirent *e; dir && (e = readdir(dir));)
		count += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

/* A configuration for the first processes, with its results in `output`. */
static struct record_config config_of(const char *perf, const char *output, size_t processes,
				      unsigned duration)
{
	static char root[64], program[64], out[64];

	snprintf(root, sizeof(root), "%s", path_of("root"));
	snprintf(program, sizeof(program), "%s", path_of(perf));
	snprintf(out, sizeof(out), "%s", path_of(output));
	stop = 0;
	explained = 0;
	return (struct record_config){.root = root,
				      .names = names,
				      .name_count = processes,
				      .by_pid = true,
				      .duration = duration,
				      .frequency = 99,
				      .output = out,
				      .perf = program,
				      .source = SOURCE_HOST,
				      .stop = &stop,
				      .explain = explain};
}

static void test_once(void)
{
	struct record_config c = config_of("perf-good", "once", 1, 1);
	CLEANUP(str_fini) struct str log = {0};
	struct record_run r;
	struct session s;
	struct err err;

	if (!ok(record_start(&c, &r, &err) == RECORD_OK, "a recording starts"))
		return;
	is_int(r.count, 1, "it has one target");
	ok(!r.perf.whole_machine, "its process alone is recorded");
	is_int(temp_dirs(), 0, "straight into its session");
	is_int(r.shared, -1, "which shares no file");
	is_int(record_finish(&r, &err), 0, "it ends");
	ok(r.us >= 1000000, "it took as long as was asked for: %d us", (int)r.us);
	record_fini(&r);
	is_int(size_of("once/session/perf.data"), size_of("golden"),
	       "perf's file is in the session");
	ok(session_open(path_of("once/session"), &s, &err) == 0, "the session can be opened");
	ok(s.duration >= 1 && s.duration < 30, "the session has the duration: %.3f s", s.duration);
	is_int(s.frequency, 99, "the session has the frequency");
	is_int(s.process_count, 1, "the session has the process");
	ok(s.stack_bytes > 0, "the session has the size of stack copies");
	session_fini(&s);
	if (fs_read_file(AT_FDCWD, path_of("once/session/perf.log"), 4096, &log, &err) < 0)
		abort();
	ok(strstr(log.buf, " -B -N ") && strstr(log.buf, " -F 99 ") &&
		   strstr(log.buf, " --call-graph dwarf,"),
	   "perf gets its options: %s", log.buf);
	ok(!strstr(log.buf, "--switch-output"), "perf writes one file only");
	ok(strstr(log.buf, " --control=fd:0,0 ") && !strstr(log.buf, " -D "),
	   "perf gets a command, and does not open its events twice");
}

/* The time at which the fake answered to a command, 0: it did not. */
static unsigned long long answered(const char *logname, const char *command)
{
	CLEANUP(free) char *start = xasprintf("[ perf %sd ", command);
	CLEANUP(str_fini) struct str log = {0};
	unsigned long long us = 0;
	const char *line;
	struct err err;

	if (fs_read_file(AT_FDCWD, path_of(logname), 4096, &log, &err) < 0)
		abort();
	line = strstr(log.buf, start);
	return line && sscanf(line + strlen(start), "%llu", &us) == 1 ? us : 0;
}

/* Starts a child that stops the run, as ^C does, once a file is there. */
static pid_t stop_at(const char *name)
{
	struct actor a;

	if (actor_fork(&a)) {
		while (size_of(name) <= 0)
			sleep_ms(10);
		kill(getppid(), SIGALRM);
		_exit(0);
	}
	close(a.ready);
	return a.pid;
}

/* The file has its head long before perf has enabled its events. */
static void test_begin(void)
{
	struct record_config c = config_of("perf-late", "late", 1, 1);
	struct sigaction act = {.sa_handler = on_alarm};
	unsigned long long enabled;
	struct record_run r;
	struct err err;
	pid_t stopper;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a perf that is slow starts");
	enabled = answered("late/session/perf.log", "enable");
	ok(enabled > 0 && r.began_us >= enabled, "the recording begins after its answer");
	is_int(record_finish(&r, &err), 0, "the recording ends");
	ok(r.us >= 1000000, "it is as long as was asked for from then on: %d us", (int)r.us);
	ok(answered("late/session/perf.log", "disable") >= enabled + 1000000,
	   "perf has disabled its events before it is told to end");
	record_discard(&r);

	c = config_of("perf-mute", "impatient", 1, 600);
	sigaction(SIGALRM, &act, NULL);
	stopper = stop_at("impatient/session/perf.log");
	is_int(record_start(&c, &r, &err), RECORD_OK, "a stop ends the wait for an answer: %s",
	       err.msg);
	is_int(stop, 1, "which was not over");
	is_int(record_finish(&r, &err), 0, "what was recorded is kept");
	actor_end(stopper);
	record_discard(&r);

	c = config_of("perf-breaks", "breaks", 1, 600);
	is_int(record_start(&c, &r, &err), RECORD_OK, "a perf that ends before it answers starts");
	is_int(record_finish(&r, &err), -1, "it has recorded nothing");
	ok(strstr(err.msg, "perf recorded nothing: perf was ended by signal 9"), "for that reason");
	record_discard(&r);
}

/* A perf that never answers is waited for by a process of its own, next to the other tests. Exits
 * with the number of what went wrong. */
static pid_t start_mute(void)
{
	struct record_config c = config_of("perf-mute", "mute", 1, 1);
	uint64_t before = clock_ms(), deadline;
	struct record_run r;
	struct err err;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (record_start(&c, &r, &err) != RECORD_OK)
		_exit(1);
	if (answered("mute/session/perf.log", "enable") != 0 || clock_ms() - before < 7000)
		_exit(2);
	deadline = r.deadline;
	if (record_finish(&r, &err) < 0 || r.us < 1000000 || r.deadline != deadline + r.us / 1000)
		_exit(3);
	_exit(size_of("mute/session/perf.data") == size_of("golden") ? 0 : 4);
}

static void end_mute(pid_t pid)
{
	int status = -1;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) /* by the alarm */
		;
	ok(pid > 0 && status == 0,
	   "a perf that never answers is waited for 7 s, and its recording kept: %d", status);
}

static void test_old(void)
{
	struct record_config c = config_of("perf-old", "old", 1, 1);
	CLEANUP(str_fini) struct str log = {0};
	struct record_run r;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a perf that knows no --control starts");
	is_int(record_finish(&r, &err), 0, "it records without");
	is_int(size_of("old/session/perf.data"), size_of("golden"), "its file is in the session");
	if (fs_read_file(AT_FDCWD, path_of("old/session/perf.log"), 4096, &log, &err) < 0)
		abort();
	ok(!strstr(log.buf, "control"), "its log is of the second start alone: %s", log.buf);
	record_discard(&r);
}

static void test_stop(void)
{
	struct record_config c = config_of("perf-good", "stop", 1, 600);
	struct sigaction act = {.sa_handler = on_alarm};
	struct record_run r;
	struct err err;

	sigaction(SIGALRM, &act, NULL);
	is_int(record_start(&c, &r, &err), RECORD_OK, "a long recording starts");
	alarm(1);
	is_int(record_finish(&r, &err), 0, "a stopped recording is whole");
	ok(r.us < 60000000, "it ended early");
	is_int(size_of("stop/session/perf.data"), size_of("golden"), "perf's file is kept");
	record_discard(&r);
	ok(!exists("stop/session"), "a discarded session is removed");
	ok(!exists("stop"), "so is its empty directory");
}

/* A stop before perf has started ends the preparation. */
static void test_early_stop(void)
{
	struct record_config c = config_of("perf-good", "early", 1, 600);
	struct record_run r;
	struct err err;

	stop = 1;
	is_int(record_start(&c, &r, &err), RECORD_FAILED, "a run that is stopped does not start");
	is_int(err.code, EINTR, "the error says so: %s", err.msg);
	ok(!exists("early"), "nothing is left of it");
}

static off_t recorded(const struct worker *w)
{
	struct stat st;

	return fstatat(w->sessionfd, "perf.data", &st, 0) == 0 ? st.st_size : -1;
}

static off_t size_of_kallsyms(const struct worker *w)
{
	struct stat st;

	return fstatat(w->sessionfd, "kallsyms", &st, 0) == 0 ? st.st_size : -1;
}

static void test_several(void)
{
	struct record_config c = config_of("perf-good", "several", 2, 1);
	struct record_run r;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a recording of two processes starts");
	if (is_int(r.count, 2, "each is a target")) {
		is_int(temp_dirs(), 1, "it is recorded outside of their sessions");
		is_int(faccessat(r.shared, "kallsyms", F_OK, 0), 0,
		       "the kernel's symbols are read once");
		is_int(size_of_kallsyms(&r.workers[1]), size_of_kallsyms(&r.workers[0]),
		       "and both sessions have them");
		is_int(record_finish(&r, &err), 0, "it ends");
		is_int(recorded(&r.workers[0]), size_of("golden"),
		       "the first session has the recording of its process");
		ok(recorded(&r.workers[1]) > 0 && recorded(&r.workers[1]) < size_of("golden"),
		   "the second has nothing of it");
		ok(faccessat(r.workers[0].sessionfd, "perf.split", F_OK, 0) < 0 &&
			   faccessat(r.workers[1].sessionfd, "perf.split", F_OK, 0) < 0,
		   "no other file is left of the splitting");
	}
	record_discard(&r);
	is_int(temp_dirs(), 0, "what was recorded together is removed");
}

/* A process so young that perf would miss threads: the whole machine is recorded, but not kept. */
static void test_young(void)
{
	pid_t young = actor_idle();
	CLEANUP(free) char *text = xasprintf("%d", (int)young);
	struct record_config c = config_of("perf-good", "young", 1, 1);
	struct record_run r;
	struct err err;

	c.names = (char *[]){text};
	is_int(record_start(&c, &r, &err), RECORD_OK, "a recording of a young process starts");
	ok(r.perf.whole_machine, "it is of the whole machine");
	is_int(temp_dirs(), 1, "outside of the session");
	is_int(record_finish(&r, &err), 0, "it ends");
	ok(size_of("young/session/perf.data") > 0 &&
		   size_of("young/session/perf.data") < size_of("golden"),
	   "the session has nothing of other processes");
	record_fini(&r);
	is_int(temp_dirs(), 0, "what was recorded is removed");
	actor_end(young);
}

/* ---- containers that fail ---- */

/* The directory of a process's results, below `output`. */
static const char *below(const char *output, pid_t pid)
{
	CLEANUP(free) char *name = NULL;
	static char path[256];
	struct container c;
	struct err err;

	if (container_of_pid(path_of("root"), pid, &c, &err) < 0)
		abort();
	name = container_file_name(&c);
	snprintf(path, sizeof(path), "%s/%s", output, name);
	container_fini(&c);
	return path;
}

static void put_session(const char *dir)
{
	CLEANUP(free) char *session = xasprintf("%s/session", path_of(dir));
	CLEANUP(close_fd) int fd = -1;
	struct err err;

	fd = fs_make_dirs(session, 0700, &err);
	close(openat(fd, "old", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void test_one_unprepared(void)
{
	struct record_config c = config_of("perf-good", "taken", 2, 1);
	CLEANUP(free) char *old = xasprintf("%s/session/old", below("taken", pids[1]));
	struct record_run r;
	struct err err;

	put_session(below("taken", pids[1]));
	is_int(record_start(&c, &r, &err), RECORD_OK,
	       "where one of two has a session already, a recording starts");
	ok(!worker_has_failed(&r.workers[0]), "it is of the other one");
	ok(strstr(r.workers[1].failed.msg, "there is a session in ") != NULL,
	   "the reason is known: %s", r.workers[1].failed.msg);
	ok(r.workers[1].settled, "and was told");
	ok(r.pid_count == 1 && r.pids[0] == pids[0], "perf has the processes of the other one");
	is_int(record_finish(&r, &err), 0, "the recording ends");
	is_int(recorded(&r.workers[0]), size_of("golden"), "the other one has it");
	record_discard(&r);
	ok(exists(old), "the session that was there is kept");

	c = config_of("perf-good", "taken1", 1, 1);
	put_session("taken1");
	is_int(record_start(&c, &r, &err), RECORD_FAILED, "for one alone no recording starts");
	ok(strstr(err.msg, "there is a session in ") != NULL, "with the reason: %s", err.msg);
	ok(exists("taken1/session/old"), "the session that was there is kept, too");

	c = config_of("perf-good", "taken2", 2, 1);
	put_session(below("taken2", pids[0]));
	put_session(below("taken2", pids[1]));
	is_int(record_start(&c, &r, &err), RECORD_FAILED, "where all fail no recording starts");
	is_str(err.msg, "nothing is left to record", "the message says so");
}

/* A worker is killed while perf records, by the kernel, say. */
static void test_one_killed(void)
{
	struct record_config c = config_of("perf-good", "killed", 2, 1);
	CLEANUP(free) char *lost = xstrdup(below("killed", pids[1]));
	struct record_run r;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a recording of two processes starts");
	kill(r.workers[1].child.pid, SIGKILL);
	is_int(record_finish(&r, &err), 0, "it ends where one's worker was killed");
	is_str(r.workers[1].failed.msg, "its worker crashed", "that one has failed");
	ok(r.workers[1].settled, "which was told");
	ok(!exists(lost), "nothing is left of it");
	ok(!worker_has_failed(&r.workers[0]), "the other one has not failed");
	is_int(recorded(&r.workers[0]), size_of("golden"), "and has its recording");
	record_fini(&r);
	is_int(temp_dirs(), 0, "what was recorded together is removed");

	c = config_of("perf-good", "killed1", 1, 1);
	is_int(record_start(&c, &r, &err), RECORD_OK, "a recording of one process starts");
	kill(r.workers[0].child.pid, SIGKILL);
	is_int(record_finish(&r, &err), -1, "it fails where its worker was killed");
	is_str(err.msg, "its worker crashed", "with the reason");
	record_discard(&r);
	ok(!exists("killed1"), "nothing is left of it");
}

/* A worker that hangs at the end of the recording. */
static void test_one_hangs(void)
{
	struct record_config c = config_of("perf-good", "hangs", 2, 1);
	CLEANUP(free) char *lost = xstrdup(below("hangs", pids[1]));
	struct record_run r;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a recording of two processes starts");
	kill(r.workers[1].child.pid, SIGSTOP);
	is_int(record_finish(&r, &err), 0, "it ends where one's worker hangs");
	is_str(r.workers[1].failed.msg, "it took too long", "which has failed");
	ok(!exists(lost), "nothing is left of it");
	is_int(recorded(&r.workers[0]), size_of("golden"), "the other one has its recording");
	record_discard(&r);
}

/* ---- tasks ---- */

/* Hangs for the first process; else its product is the pid. */
static int hang_or_not(struct target *t, void *arg, struct worker_product *ret, struct err *err)
{
	(void)arg, (void)err;
	while (t->processes.list[0].pid == pids[0])
		pause();
	memcpy(ret->data, &t->processes.list[0].pid, sizeof(pid_t));
	return 0;
}

static int fail(struct target *t, void *arg, struct worker_product *ret, struct err *err)
{
	(void)t, (void)arg, (void)ret;
	return err_set(err, 0, "no ink");
}

static void test_tasks(void)
{
	struct record_config c = config_of("perf-good", "tasks", 2, 1);
	CLEANUP(free) char *first = xasprintf("%s/session/perf.data", below("tasks", pids[0]));
	struct record_run r;
	struct err err;
	pid_t got;

	if (record_start(&c, &r, &err) != RECORD_OK || record_finish(&r, &err) < 0)
		abort();
	record_each(&r, hang_or_not, NULL, 500);
	is_str(r.workers[0].failed.msg, "it took too long", "a task that hangs is ended");
	ok(!r.workers[0].settled, "that is not told");
	ok(!worker_has_failed(&r.workers[1]), "the other one's task has not failed");
	memcpy(&got, r.workers[1].product.data, sizeof(got));
	is_int(got, pids[1], "its product is there");
	record_each(&r, fail, NULL, 0);
	is_str(r.workers[0].failed.msg, "it took too long",
	       "one that has failed has no more tasks");
	is_str(r.workers[1].failed.msg, "no ink", "a task fails with its reason");
	record_fini(&r);
	ok(exists(first), "the recording of one whose task failed is kept");
}

static void test_stopped_task(void)
{
	struct record_config c = config_of("perf-good", "stopped", 2, 1);
	struct sigaction act = {.sa_handler = on_alarm};
	struct record_run r;
	struct err err;

	if (record_start(&c, &r, &err) != RECORD_OK || record_finish(&r, &err) < 0)
		abort();
	sigaction(SIGALRM, &act, NULL);
	alarm(5);
	record_each(&r, hang_or_not, NULL, 600000);
	is_str(r.workers[0].failed.msg, "interrupted", "a stop ends a task that hangs");
	ok(!worker_has_failed(&r.workers[1]), "one that is done has not failed");
	record_discard(&r);
}

/* ---- failures of perf ---- */

/* A perf that does not end is killed while there is time to split its recording. */
static void test_hanging_perf(void)
{
	struct record_config c = config_of("perf-hangs", "perf", 2, 1);
	uint64_t deadline;
	struct record_run r;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a perf starts that will not end");
	deadline = r.deadline = deadline_after(5000);
	is_int(record_finish(&r, &err), 0, "what it recorded is kept");
	is_int(r.deadline, deadline + r.us / 1000,
	       "the run may take as much longer as was recorded");
	ok(r.perf.child.pid < 0, "perf was killed");
	ok(clock_ms() + 3000 >= r.deadline, "it had all the time but 3 s");
	is_int(recorded(&r.workers[0]), size_of("golden"), "its recording is split");
	record_discard(&r);
}

/* A recording that is none cannot be split, and is not kept. */
static void test_garbage(void)
{
	struct record_config c = config_of("bad/perf-good", "garbage", 2, 1);
	struct record_run r;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a perf starts that records garbage");
	is_int(record_finish(&r, &err), -1, "the recording fails: %s", err.msg);
	record_discard(&r);
	is_int(temp_dirs(), 0, "what cannot be split is removed");
	ok(!exists(below("garbage", pids[0])), "so are the sessions");
}

static void test_failures(void)
{
	struct record_config c = config_of("perf-fails", "fails", 1, 600);
	struct record_run r;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "perf starts, and fails at once");
	is_int(record_finish(&r, &err), -1, "the recording fails");
	ok(strstr(err.msg, "the kernel said no") != NULL, "with perf's message: %s", err.msg);
	is_int(explained, 1, "and an explanation");
	record_discard(&r);
	ok(!exists("fails"), "nothing is left of it");

	c = config_of("perf-none", "none", 1, 600);
	is_int(record_start(&c, &r, &err), RECORD_FAILED, "without perf no recording starts");
	ok(strstr(err.msg, "perf is not installed") != NULL, "the message says so: %s", err.msg);
	ok(!exists("none"), "nothing is left of it, either");

	c = config_of("perf-dies", "dies", 1, 600);
	is_int(record_start(&c, &r, &err), RECORD_OK, "a perf that will be killed starts");
	is_int(record_finish(&r, &err), 0, "what it recorded is kept");
	is_int(size_of("dies/session/perf.data"), size_of("golden"), "in the session");
	is_int(explained, 0, "without an explanation");
	record_discard(&r);

	c = config_of("perf-good", "nobody", 1, 1);
	c.names = (char *[]){(char *)"4194304"};
	is_int(record_start(&c, &r, &err), RECORD_NO_CONTAINER, "a process that does not exist");
}

static void test_windows(void)
{
	struct record_config c = config_of("perf-good", "x", 1, 1);
	CLEANUP(free) char *dir = xstrdup(path_of("windows"));
	struct record_run r;
	struct err err;

	c.window_dir = dir;
	if (!ok(record_start(&c, &r, &err) == RECORD_OK, "a recording in windows starts"))
		return;
	for (int i = 0; i < 2; i++) {
		is_int(record_window(&r, &err), 1, "window %d ends", i);
		ok(r.us >= 900000, "it lasted as long as was asked for: %d us", (int)r.us);
		is_int(size_of("windows/session/perf.data"), size_of("golden"),
		       "its recording is in the session");
	}
	ok(!record_is_old(&r), "a new run is not old");
	is_int(record_last_window(&r, &err), 1, "a window can be ended early");
	stop = 1;
	is_int(record_window(&r, &err), 0, "there is none after the stop");
	ok(exists("windows/perf"), "perf's files are in the run's directory");
	record_discard(&r);
	ok(!exists("windows"), "which is removed at the end");

	c = config_of("perf-fails", "x", 1, 1);
	c.window_dir = dir;
	is_int(record_start(&c, &r, &err), RECORD_FAILED, "windows: perf fails at once");
	ok(strstr(err.msg, "the kernel said no") != NULL, "with perf's message: %s", err.msg);
	ok(!exists("windows"), "nothing is left of it");

	c = config_of("perf-dies", "x", 1, 600);
	c.window_dir = dir;
	is_int(record_start(&c, &r, &err), RECORD_OK, "windows: a perf that will be killed starts");
	is_int(record_window(&r, &err), 0, "then there is no further window");
	record_discard(&r);
}

/* A run is replaced by a new one after many windows, or where perf lacks a process. */
static void test_age(void)
{
	static const struct {
		unsigned windows;
		bool new_process, whole_machine, want;
		const char *check;
	} rows[] = {
		{0, true, false, false, "a run without a window is not old"},
		{9, true, false, false, "nor is one of 9, whatever has started since"},
		{10, true, false, true, "one of 10 is old where a process is new"},
		{10, false, false, false, "but not where perf knows all"},
		{10, true, true, false, "nor where it records the whole machine"},
		{149, false, false, false, "149 windows are not too many"},
		{150, false, false, true, "150 are"},
		{150, false, true, true, "also of the whole machine"},
	};
	pid_t known[] = {10, 11, 12}, all[] = {12, 10, 11, 13};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct worker w = {.pids = all, .pid_count = rows[i].new_process ? 4 : 3};
		struct record_run r = {.windows = rows[i].windows,
				       .pids = known,
				       .pid_count = 3,
				       .workers = &w,
				       .count = 1};

		r.perf.whole_machine = rows[i].whole_machine;
		is_int(record_is_old(&r), rows[i].want, "%s", rows[i].check);
	}
}

/* Or where a JVM is no longer read, or the snapshots have grown. */
static void test_age_of_workers(void)
{
	struct worker list[2] = {{.jvms = 1}, {.jvms = 1}};
	struct record_run r = {.windows = 10, .workers = list, .count = 2, .snapshots = 1000};

	list[1].snapshot_bytes = 2000 + (4 << 20);
	ok(!record_is_old(&r), "snapshots may be twice as large, and 4 MiB");
	list[0].snapshot_bytes = 1;
	ok(record_is_old(&r), "a byte more of all together makes a run old");
	list[0].snapshot_bytes = 0;
	list[1].jvm_ended = true;
	ok(record_is_old(&r), "so does a JVM that has ended");
	list[1].jvm_ended = false;
	err_set(&list[0].failed, 0, "crashed");
	ok(record_is_old(&r), "so does a worker that has failed");
}

static const char *const fakes[] = {"perf-good", "perf-fails", "perf-dies",
				    "perf-late", "perf-mute",  "perf-breaks",
				    "perf-old",	 "perf-hangs", "bad/perf-good"};

int main(int argc, char **argv)
{
	pid_t mute;

	if (fakeperf_is(argv[0]))
		return fakeperf_main(argc, argv);
	if (!mkdtemp(top) || mkdir(path_of("bad"), 0700) < 0)
		abort();
	signal(SIGPIPE, SIG_IGN); /* as in each command */
	fakeperf_install(top, fakes, ARRAY_LEN(fakes));
	for (int i = 0; i < 2; i++) {
		pids[i] = actor_idle();
		snprintf(pid_text[i], sizeof(pid_text[i]), "%d", (int)pids[i]);
	}
	close(open(path_of("bad/golden"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	if (truncate(path_of("bad/golden"), 4096) < 0)
		abort();
	actor_wait_until_old(pids[1]);
	fakeperf_make_at(path_of("golden"), pids[0]);
	mute = start_mute();
	test_once();
	test_begin();
	test_old();
	test_stop();
	test_early_stop();
	test_several();
	test_young();
	test_one_unprepared();
	test_one_killed();
	test_one_hangs();
	test_tasks();
	test_stopped_task();
	test_hanging_perf();
	test_garbage();
	test_failures();
	test_windows();
	test_age();
	test_age_of_workers();
	end_mute(mute);
	for (int i = 0; i < 2; i++)
		actor_end(pids[i]);
	fs_remove_tree(AT_FDCWD, top);
	return tap_done();
}
