// SPDX-License-Identifier: Apache-2.0
/* attach_load towards processes that are no JVM: none of them is harmed, and the caller stays what
 * it was. The rest is in tests/e2e/inject. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "injector/attach.h"
#include "lib/tap.h"

static pid_t start(void (*setup)(void))
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe2(ready, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		setup();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	(void)!read(ready[0], &c, 1);
	close(ready[0]);
	return pid;
}

static bool runs(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static enum attach_result load(pid_t pid, struct err *err)
{
	struct attach_request req = {.pid = pid, .path = "/x.so", .timeout_ms = 1000};
	int code = -77;
	enum attach_result result = attach_load(&req, &code, err);

	is_int(code, -77, "code untouched");
	return result;
}

static void plain(void)
{
	signal(SIGQUIT, SIG_DFL);
}

static void ignoring(void)
{
	signal(SIGQUIT, SIG_IGN);
}

static void on_quit(int sig)
{
	(void)sig;
	_exit(9);
}

static void catching(void)
{
	signal(SIGQUIT, on_quit);
}

static void test_not_a_jvm(void (*setup)(void), const char *name)
{
	pid_t pid = start(setup);
	struct err err = {0};

	is_int(load(pid, &err), ATTACH_NOT_READY, "%s: refused", name);
	ok(runs(pid), "%s: still runs", name);
	ok(strstr(err.msg, "attach to process") == err.msg, "message names the process: %s",
	   err.msg);
	is_int(attach_check(pid, &err), ATTACH_NOT_READY, "%s: foreseen", name);
	stop(pid);
}

static void test_stopped(void)
{
	pid_t pid = start(catching);
	struct err err = {0};
	uint64_t began = clock_ms();
	int status;

	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	is_int(load(pid, &err), ATTACH_STOPPED, "stopped");
	ok(clock_ms() - began < 400, "at once");
	is_int(attach_check(pid, &err), ATTACH_STOPPED, "foreseen");
	kill(pid, SIGCONT);
	sleep_ms(50);
	ok(runs(pid), "no signal was waiting");
	stop(pid);
}

static void test_traced(void)
{
	pid_t pid = start(catching);
	struct err err = {0};

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0) {
		ok(true, "traced: # SKIP ptrace is not permitted here");
	} else {
		is_int(load(pid, &err), ATTACH_STOPPED, "traced");
		ok(runs(pid), "no signal was sent");
	}
	stop(pid);
}

static void test_zombie(void)
{
	struct err err = {0};
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	is_int(load(pid, &err), ATTACH_STOPPED, "zombie");
	waitpid(pid, NULL, 0);
	is_int(load(pid, &err), ATTACH_GONE, "gone");
	is_int(err.code, ESRCH, "says so");
	is_int(attach_check(pid, &err), ATTACH_GONE, "foreseen");
}

static void test_bad_request(void)
{
	struct attach_request req = {.pid = getpid(), .path = "relative.so"};
	struct err err = {0};
	int code;

	is_int(attach_load(&req, &code, &err), ATTACH_FAILED, "relative path");
	req.path = "/x.so";
	req.pid = 0;
	is_int(attach_load(&req, &code, &err), ATTACH_FAILED, "pid 0");
	req.pid = -1;
	is_int(attach_load(&req, &code, &err), ATTACH_FAILED, "pid -1");
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void test_caller_unchanged(void)
{
	pid_t pid = start(plain);
	int fds = count_fds();
	uid_t uid = geteuid();
	struct err err = {0};

	for (int i = 0; i < 3; i++)
		(void)!load(pid, &err);
	is_int(count_fds(), fds, "no descriptor leaks");
	is_int(geteuid(), uid, "same user");
	stop(pid);
	is_int(waitpid(-1, NULL, WNOHANG), -1, "no child left");
}

int main(void)
{
	test_not_a_jvm(plain, "a process without a handler");
	test_not_a_jvm(ignoring, "a process that ignores SIGQUIT");
	test_not_a_jvm(catching, "another program that catches SIGQUIT");
	test_stopped();
	test_traced();
	test_zombie();
	test_bad_request();
	test_caller_unchanged();
	return tap_done();
}
