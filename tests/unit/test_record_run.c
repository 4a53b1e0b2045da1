// SPDX-License-Identifier: Apache-2.0
/* Recording runs with a fake perf: this program itself, by another name. */
#include "record/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/str.h"
#include "lib/fakeperf.h"
#include "lib/tap.h"


static char top[] = "/tmp/dfg-run.XXXXXX";
static volatile sig_atomic_t stop;
static unsigned explained;
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
	uint64_t before = clock_ms(), end = 0;
	struct record_run r;
	struct session s;
	struct err err;

	if (!ok(record_start(&c, &r, &err) == RECORD_OK, "a recording starts"))
		return;
	is_int(r.targets.count, 1, "it has one target");
	is_int(record_finish(&r, &end, &err), 0, "it ends");
	record_fini(&r);
	ok(end >= before + 1000, "it took as long as was asked for: %d ms", (int)(end - before));
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

/* The file has its head long before perf has enabled its events. */
static void test_begin(void)
{
	struct record_config c = config_of("perf-late", "late", 1, 1);
	struct sigaction act = {.sa_handler = on_alarm};
	unsigned long long enabled;
	struct record_run r;
	uint64_t end = 0;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a perf that is slow starts");
	enabled = answered("late/session/perf.log", "enable");
	ok(enabled > 0 && r.began_us >= enabled, "the recording begins after its answer");
	is_int(record_finish(&r, &end, &err), 0, "the recording ends");
	ok(r.us >= 1000000, "it is as long as was asked for from then on: %d us", (int)r.us);
	ok(answered("late/session/perf.log", "disable") >= enabled + 1000000,
	   "perf has disabled its events before it is told to end");
	record_discard(&r);

	c = config_of("perf-mute", "impatient", 1, 600);
	sigaction(SIGALRM, &act, NULL);
	alarm(1);
	is_int(record_start(&c, &r, &err), RECORD_OK, "a stop ends the wait for an answer");
	is_int(stop, 1, "which was not over");
	is_int(record_finish(&r, &end, &err), 0, "what was recorded is kept");
	record_discard(&r);

	c = config_of("perf-breaks", "breaks", 1, 600);
	is_int(record_start(&c, &r, &err), RECORD_OK, "a perf that ends before it answers starts");
	is_int(record_finish(&r, &end, &err), 0, "the recording ends with it");
	record_discard(&r);
}

/* A perf that never answers is waited for by a process of its own, next to the other tests. Exits
 * with the number of what went wrong. */
static pid_t start_mute(void)
{
	struct record_config c = config_of("perf-mute", "mute", 1, 1);
	uint64_t before = clock_ms(), end = 0;
	struct record_run r;
	struct err err;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (record_start(&c, &r, &err) != RECORD_OK)
		_exit(1);
	if (answered("mute/session/perf.log", "enable") != 0 || clock_ms() - before < 10000)
		_exit(2);
	if (record_finish(&r, &end, &err) < 0 || r.us < 1000000)
		_exit(3);
	_exit(size_of("mute/session/perf.data") == size_of("golden") ? 0 : 4);
}

static void end_mute(pid_t pid)
{
	int status = -1;

	ok(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0,
	   "a perf that never answers is waited for 10 s, and its recording kept: %d", status);
}

static void test_old(void)
{
	struct record_config c = config_of("perf-old", "old", 1, 1);
	CLEANUP(str_fini) struct str log = {0};
	struct record_run r;
	uint64_t end = 0;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a perf that knows no --control starts");
	is_int(record_finish(&r, &end, &err), 0, "it records without");
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
	uint64_t before = clock_ms(), end = 0;
	struct record_run r;
	struct err err;

	sigaction(SIGALRM, &act, NULL);
	is_int(record_start(&c, &r, &err), RECORD_OK, "a long recording starts");
	alarm(1);
	is_int(record_finish(&r, &end, &err), 0, "a stopped recording is whole");
	ok(end - before < 60000, "it ended early");
	is_int(size_of("stop/session/perf.data"), size_of("golden"), "perf's file is kept");
	record_discard(&r);
	ok(!exists("stop/session"), "a discarded session is removed");
	ok(!exists("stop"), "so is its empty directory");
}

static void test_several(void)
{
	struct record_config c = config_of("perf-good", "several", 2, 1);
	struct stat one, two;
	struct record_run r;
	uint64_t end;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "a recording of two processes starts");
	if (is_int(r.targets.count, 2, "each is a target")) {
		is_int(record_finish(&r, &end, &err), 0, "it ends");
		ok(fstatat(r.targets.list[0].session.dirfd, "perf.data", &one, 0) == 0 &&
			   fstatat(r.targets.list[1].session.dirfd, "perf.data", &two, 0) == 0,
		   "both sessions have a recording");
		is_int(one.st_size, size_of("golden"), "the first has that of its process");
		ok(two.st_size < one.st_size, "the second has nothing of it");
		ok(faccessat(r.targets.list[0].session.dirfd, "perf.split", F_OK, 0) < 0 &&
			   faccessat(r.targets.list[1].session.dirfd, "perf.split", F_OK, 0) < 0,
		   "no other file is left of the splitting");
		ok(!r.targets.list[0].session.whole_machine,
		   "no recording has processes of others");
	}
	record_discard(&r);
}

static void test_failures(void)
{
	struct record_config c = config_of("perf-fails", "fails", 1, 600);
	struct record_run r;
	uint64_t end = 0;
	struct err err;

	is_int(record_start(&c, &r, &err), RECORD_OK, "perf starts, and fails at once");
	is_int(record_finish(&r, &end, &err), -1, "the recording fails");
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
	is_int(record_finish(&r, &end, &err), 0, "what it recorded is kept");
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
		struct target target = {.pids = all, .pid_count = rows[i].new_process ? 4 : 3};
		struct record_run r = {.windows = rows[i].windows,
				       .pids = known,
				       .pid_count = 3,
				       .targets = {.list = &target, .count = 1}};

		r.perf.whole_machine = rows[i].whole_machine;
		is_int(record_is_old(&r), rows[i].want, "%s", rows[i].check);
	}
}

static const char *const fakes[] = {"perf-good", "perf-fails",	"perf-dies", "perf-late",
				    "perf-mute", "perf-breaks", "perf-old"};

int main(int argc, char **argv)
{
	pid_t pids[2], mute;

	if (fakeperf_is(argv[0]))
		return fakeperf_main(argc, argv);
	if (!mkdtemp(top))
		abort();
	fakeperf_install(top, fakes, ARRAY_LEN(fakes));
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		snprintf(pid_text[i], sizeof(pid_text[i]), "%d", (int)pids[i]);
	}
	fakeperf_make_at(path_of("golden"), pids[0]);
	mute = start_mute();
	test_once();
	test_begin();
	test_old();
	test_stop();
	test_several();
	test_failures();
	test_windows();
	test_age();
	end_mute(mute);
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	fs_remove_tree(AT_FDCWD, top);
	return tap_done();
}
