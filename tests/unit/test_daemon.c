// SPDX-License-Identifier: Apache-2.0
/* Finds the daemon that reads a configuration file, and tells if it has read its current content:
 * this process plays one. */
#include "setup/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/proc.h"
#include "lib/actor.h"
#include "lib/tap.h"

static char usual[64], name[64];

static struct daemon_kind kind = {"dfg-test-daemon", {"--config", "-c"}, usual};

/* A daemon of that command line; it ends with the test. */
static pid_t start(const char *const *argv)
{
	struct actor a;

	if (actor_fork(&a)) {
		CLEANUP(free) char *report = xasprintf("%d", a.ready);

		fcntl(a.ready, F_SETFD, 0);
		setenv("DFG_TEST_PLAY", report, 1);
		execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
		_exit(1);
	}
	if (!actor_wait(&a))
		abort();
	return a.pid;
}

/* The daemon under its name, started anew with another command line. */
static int play(int report)
{
	prctl(PR_SET_NAME, kind.program);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(report, "", 1) != 1)
		return 1;
	for (;;)
		pause();
}

static void check_options(void)
{
	static const char *const argvs[][4] = {
		{"daemon", "--config", "/etc/dfg-test-1.toml"},
		{"daemon", "-c", "etc/dfg-test-1.toml"},
		{"daemon", "--config=//etc/dfg-test-1.toml", "-c"},
	};

	for (size_t i = 0; i < ARRAY_LEN(argvs); i++) {
		pid_t pid = start(argvs[i]);
		struct daemon d = DAEMON_NONE;

		if (ok(daemon_find(&kind, "etc/dfg-test-1.toml", &d),
		       "the daemon that is told of a file is found, form %zu", i)) {
			is_int(d.pid, pid, "it is that one");
			is_int((int64_t)strcmp(d.args.buf, "daemon"), 0, "with its command line");
		}
		daemon_fini(&d);
		actor_end(pid);
	}
}

static void test_find(void)
{
	struct daemon d = DAEMON_NONE;

	ok(!daemon_find(&kind, "etc/another.toml", &d), "nobody reads another file");
	ok(daemon_find(&kind, usual, &d), "without the option it is the usual one");
	is_int(d.pid, getpid(), "by this process");
	daemon_fini(&d);
	check_options();
	kind.program = "dfg-none";
	ok(!daemon_find(&kind, usual, &d), "a daemon of another name");
	kind.program = "dfg-test-daemon";
}

/* ---- impostors ---- */

static char other_file[64];

static void run_copy(mode_t mode)
{
	CLEANUP(str_fini) struct str program = {0};
	const char *const argv[] = {"daemon", NULL};
	CLEANUP(close_fd) int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct err err;
	int to;

	to = open(other_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (self < 0 || to < 0 || fs_read_all(self, 1 << 28, &program, &err) < 0 ||
	    fs_write_all(to, program.buf, program.len, &err) < 0 || fchmod(to, mode) < 0)
		_exit(1);
	close(to);
	execv(other_file, (char *const *)(uintptr_t)argv);
}

static void run_own(void)
{
	run_copy(0755);
}

static void run_shared(void)
{
	run_copy(0775);
}

static void run_public(void)
{
	run_copy(0757);
}

static void enter_pid_namespace(void)
{
	pid_t pid;

	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWPID : CLONE_NEWPID) < 0)
		_exit(1);
	pid = fork();
	if (pid == 0)
		return;
	prctl(PR_SET_NAME, "dfg-outside");
	for (;;)
		pause();
}

static void enter_user_namespace(void)
{
	if (unshare(CLONE_NEWUSER) < 0)
		_exit(1);
}

static void become_nobody(void)
{
	if (setresuid(65534, 65534, 65534) < 0)
		_exit(1);
}

static void check(void (*become)(void), bool found, const char *what)
{
	struct daemon d = DAEMON_NONE;
	struct actor a;

	if (actor_fork(&a)) {
		CLEANUP(free) char *report = xasprintf("%d", a.ready);

		fcntl(a.ready, F_SETFD, 0);
		setenv("DFG_TEST_PLAY", report, 1);
		become();
		prctl(PR_SET_NAME, kind.program);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		actor_play(&a);
	}
	ok(actor_wait(&a), "a process that calls itself a daemon runs");
	is_int(daemon_find(&kind, usual, &d), found, "%s: %s", what,
	       found ? "it is one" : "it is taken for none");
	daemon_fini(&d);
	actor_end(a.pid);
	unlink(other_file);
}

/* Case 90. This process is no daemon meanwhile. */
static void test_impostors(void)
{
	prctl(PR_SET_NAME, "dfg-test");
	snprintf(other_file, sizeof(other_file), "/tmp/dfg-test-daemon-%d.exe", (int)getpid());
	check(run_own, true, "its program is this user's");
	check(run_shared, false, "a group can write its program");
	check(run_public, false, "everybody can write its program");
	check(enter_pid_namespace, false, "it is in another pid namespace");
	check(enter_user_namespace, false, "it is in another user namespace");
	if (geteuid() == 0)
		check(become_nobody, false, "it is another user's");
	prctl(PR_SET_NAME, kind.program);
}

static volatile sig_atomic_t hangups;

static void note_hangup(int sig)
{
	(void)sig;
	hangups++;
}

static void test_signal(void)
{
	static const char *const argv[] = {"daemon", "--config", "/etc/dfg-test-2.toml", NULL};
	struct daemon d = DAEMON_NONE;
	struct err err = {0};
	pid_t pid;

	signal(SIGHUP, note_hangup);
	ok(daemon_find(&kind, usual, &d), "a daemon is found");
	is_int(daemon_signal(&d, SIGHUP, &err), 0, "it is signalled");
	is_int(hangups, 1, "it has the signal");
	daemon_fini(&d);
	pid = start(argv);
	ok(daemon_find(&kind, "etc/dfg-test-2.toml", &d), "another one is found");
	actor_end(pid);
	is_int(daemon_signal(&d, SIGHUP, &err), -1, "one that has ended is not signalled");
	is_int(err.code, ESRCH, "the error is that it is gone");
	daemon_fini(&d);
}

/* A file that was changed so many seconds after this process was started. */
static void check_changed(int dir, int seconds, bool newer, const char *check)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), NULL);
	struct daemon d = {.pid = getpid(), .procfd = self};
	struct timespec now, up, times[2];
	uint64_t ticks = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	if (proc_start_time(self, &ticks, NULL) < 0)
		abort();
	times[0].tv_sec = now.tv_sec - up.tv_sec + (time_t)ticks / sysconf(_SC_CLK_TCK) + seconds;
	times[0].tv_nsec = 500000000;
	times[1] = times[0];
	if (utimensat(dir, name, times, 0) < 0)
		abort();
	is_int(daemon_is_older(&d, dir, name), newer, "%s", check);
}

static void test_older(void)
{
	const struct timespec before[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	CLEANUP(close_fd) int self = proc_open(getpid(), NULL);
	struct daemon d = {.pid = getpid(), .procfd = self};
	CLEANUP(close_fd) int dir = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;

	ok(!daemon_is_older(&d, dir, name), "a file that is not there");
	ok(fs_replace_file(dir, name, 0600, "x", 1, &err) == 0, "a file is written");
	ok(daemon_is_older(&d, dir, name), "the daemon is older");
	utimensat(dir, name, before, 0);
	ok(!daemon_is_older(&d, dir, name), "a file of before its start");
	check_changed(dir, 2, true, "a file of two seconds after its start is newer");
	check_changed(dir, -2, false, "one of two seconds before is not");
	unlinkat(dir, name, 0);
	d.procfd = -1;
	ok(!daemon_is_older(&d, dir, "/"), "a daemon that has ended");
}

int main(void)
{
	if (getenv("DFG_TEST_PLAY"))
		return play(atoi(getenv("DFG_TEST_PLAY")));
	snprintf(usual, sizeof(usual), "etc/dfg-test-%d.toml", (int)getpid());
	snprintf(name, sizeof(name), "dfg-test-daemon-%d", (int)getpid());
	prctl(PR_SET_NAME, kind.program);
	test_find();
	test_impostors();
	test_signal();
	test_older();
	return tap_done();
}
