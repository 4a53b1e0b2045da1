// SPDX-License-Identifier: Apache-2.0
#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "lib/tap.h"

static struct err err;

/* Runs a shell command; *out holds its output. */
static int shell(const char *command, int ms, size_t limit, struct str *out)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};

	return child_capture(argv, NULL, -1, ms, limit, out, &err);
}

/* 0 when the process has ended within two seconds; nobody may be there to reap it. */
static int wait_for_end(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (int i = 0; i < 100; i++) {
		CLEANUP(str_fini) struct str s = {0};

		if (fs_read_file(AT_FDCWD, path, 4096, &s, &err) < 0 || strstr(s.buf, ") Z "))
			return 0;
		sleep_ms(20);
	}
	return -1;
}

static void test_capture(void)
{
	CLEANUP(str_fini) struct str s = {0};

	is_int(shell("echo out; echo err >&2; exit 3", 5000, 100, &s), 3, "exit status");
	is_str(s.buf, "out\n", "stdout only");
	str_clear(&s);
	is_int(shell("kill -9 $$", 5000, 100, &s), 128 + 9, "killed: 128 and the signal");
	is_int(shell("cat", 5000, 100, &s), 0, "stdin is empty");
	is_int(s.len, 0, "no output");
}

static void test_not_found(void)
{
	char *argv[] = {(char *)"no-such-program-of-dfg", NULL};
	char *dir[] = {(char *)"/etc", NULL};
	CLEANUP(str_fini) struct str s = {0};

	is_int(child_capture(argv, NULL, -1, 1000, 10, &s, &err), -1, "no such program");
	is_int(err.code, ENOENT, "not a status 127");
	is_str(err.msg, "run no-such-program-of-dfg: No such file or directory", "its name");
	is_int(child_capture(dir, NULL, -1, 1000, 10, &s, &err), -1, "a directory");
	is_int(err.code, EACCES, "cannot be run");
	is_int(waitpid(-1, NULL, WNOHANG), -1, "no child is left");
}

static void test_limit(void)
{
	CLEANUP(str_fini) struct str s = {0};

	str_adds(&s, "before:");
	is_int(shell("head -c 1000000 /dev/zero | tr '\\0' x", 5000, 10, &s), 0,
	       "more output than wanted: runs to its end");
	is_str(s.buf, "before:xxxxxxxxxx", "the first ten bytes, after what was there");
}

static void test_timeout(void)
{
	CLEANUP(str_fini) struct str s = {0};
	uint64_t began = clock_ms();

	is_int(shell("echo early; exec sleep 20", 300, 100, &s), -1, "too long");
	is_int(err.code, ETIMEDOUT, "says so");
	is_str(s.buf, "early\n", "what came before is there");
	is_int(shell("exec >&-; exec sleep 20", 300, 100, &s), -1, "too long, stdout closed");
	is_int(shell("exec yes", 300, 100, &s), -1,
	       "output without end is stopped at the time-out");
	ok(clock_ms() - began < 3000, "in time");
	is_int(waitpid(-1, NULL, WNOHANG), -1, "no child is left");
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A program with a timer: every wait is interrupted many times. */
static void test_interrupted(void)
{
	struct itimerval on = {{0, 5000}, {0, 5000}}, off = {0};
	struct sigaction sa = {.sa_handler = on_alarm};
	CLEANUP(str_fini) struct str s = {0};
	char *argv[] = {(char *)"sleep", (char *)"20", NULL};
	struct child_io io = {-1, -1, -1};
	struct child c = {-1, -1};
	uint64_t began = clock_ms();

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &on, NULL);
	is_int(shell("sleep 0.2; echo x; exec >&-; sleep 0.2", 5000, 100, &s), 0, "signals: runs");
	is_str(s.buf, "x\n", "signals: output");
	is_int(shell("exec sleep 20", 300, 100, &s), -1, "signals: too long");
	ok(clock_ms() - began < 3000, "signals: in time");
	for (int i = 0; i < 20; i++) {
		if (child_start(argv, NULL, io, &c, &err) < 0)
			ok(false, "signals: start: %s", err.msg);
		child_stop(&c);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	is_int(waitpid(-1, NULL, WNOHANG), -1, "signals: no child is left");
}

static void test_environment(void)
{
	char *argv[] = {(char *)"env", NULL};
	char *env[] = {(char *)"DFG_TEST=1", NULL};
	CLEANUP(str_fini) struct str s = {0};

	setenv("LD_PRELOAD", "/evil.so", 1);
	setenv("PATH", "/evil", 1);
	is_int(child_capture(argv, env, -1, 5000, 1000, &s, &err), 0,
	       "found without the caller's PATH");
	unsetenv("LD_PRELOAD");
	is_str(s.buf,
	       "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nLANG=C\n"
	       "HOME=/nonexistent\nDFG_TEST=1\n",
	       "nothing of the caller's environment");
}

static void test_start(void)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"cat; echo err >&2; exec sleep 20",
			NULL};
	struct child c = {-1, -1};
	int in[2], out[2], status = 0;
	char buf[16] = "";

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		abort();
	ok(child_start(argv, NULL, (struct child_io){in[0], out[1], out[1]}, &c, &err) == 0,
	   "start");
	is_int(getpgid(c.pid), c.pid, "a process group of its own");
	(void)!write(in[1], "in\n", 3);
	close(in[1]);
	close(in[0]);
	close(out[1]);
	is_int(read(out[0], buf, 3), 3, "stdin goes in, stdout comes out");
	is_int(read(out[0], buf + 3, 4), 4, "and stderr");
	is_str(buf, "in\nerr\n", "all of it");
	is_int(child_wait(&c, 50, &status), 0, "still runs");
	child_signal(&c, SIGTERM);
	is_int(child_wait(&c, 5000, &status), 1, "ended");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "by the signal");
	child_stop(&c);
	ok(true, "stopping once more does nothing");
	close(out[0]);
}

/* Ignores a signal as make(1) does: past glibc, which refuses to with its own two. */
static void ignore(int sig)
{
	const uint64_t ignored[4] = {1}; /* SIG_IGN */

	if (syscall(SYS_rt_sigaction, sig, ignored, NULL, sizeof(uint64_t)) < 0)
		abort();
}

static void test_signals_reset(void)
{
	static const int signals[] = {SIGHUP, SIGPIPE, 32, 33, 64};
	CLEANUP(str_fini) struct str s = {0};
	sigset_t all;

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		ignore(signals[i]);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	is_int(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status", 5000, 1000, &s), 0, "masks");
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	is_str(s.buf, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n",
	       "no signal blocked or ignored");
}

/* ---- standard descriptors ---- */

/* In a process whose descriptors 0, 1 and 2 are what the program gets in another order. */
static int swap_stdio(void *arg)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"cat; echo err >&2", NULL};
	int out = memfd_create("out", 0), errors = memfd_create("err", 0);
	int in = memfd_create("in", 0), status = 0;
	CLEANUP(str_fini) struct str got = {0};
	struct child c;

	(void)arg;
	if (fs_write_all(in, "in\n", 3, &err) < 0 || lseek(in, 0, SEEK_SET) < 0)
		return 1;
	dup2(out, 0);
	dup2(errors, 1);
	dup2(in, 2);
	if (child_start(argv, NULL, (struct child_io){2, 0, 1}, &c, &err) < 0)
		return 2;
	if (child_wait(&c, 10000, &status) != 1 || status)
		return 3;
	lseek(out, 0, SEEK_SET);
	lseek(errors, 0, SEEK_SET);
	if (fs_read_all(out, 100, &got, &err) < 0 || fs_read_all(errors, 100, &got, &err) < 0)
		return 4;
	return strcmp(got.buf, "in\nerr\n") ? 5 : 0;
}

/* Closes its own first: the program's are those it was given all the same. */
static int close_stdio(void *arg)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"cat; echo out; echo err >&2", NULL};
	char *none[] = {(char *)"no-such-program-of-dfg", NULL};
	CLEANUP(str_fini) struct str got = {0};

	(void)arg;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (child_capture(none, NULL, -1, 10000, 100, &got, &err) != -1 || err.code != ENOENT)
		return 1;
	if (child_capture(argv, NULL, -1, 10000, 100, &got, &err) != 0)
		return 2;
	return strcmp(got.buf, "out\n") ? 3 : 0;
}

static void check_forked(int (*fn)(void *arg), int want, const char *name)
{
	struct child c;
	int status = -1;

	if (child_fork(fn, NULL, &c, &err) < 0)
		abort();
	is_int(child_wait(&c, 30000, &status), 1, "a function in a child ends");
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, want, "%s", name);
	ok(c.pid == -1 && c.pidfd == -1, "it is reaped");
}

static int interrupt(void *arg)
{
	(void)arg;
	raise(SIGINT);
	return 7;
}

static void test_forked(void)
{
	check_forked(interrupt, 7, "it ignores SIGINT, and its value is the exit status");
	check_forked(swap_stdio, 0, "a program gets its descriptors in any order");
	check_forked(close_stdio, 0, "also where the caller has closed its own");
}

/* More variables than there is room for. */
static void test_many_variables(void)
{
	char *argv[] = {(char *)"env", NULL}, *env[41] = {0};
	CLEANUP(str_fini) struct str s = {0};
	size_t lines = 0;

	for (size_t i = 0; i < 40; i++)
		env[i] = xasprintf("V%zu=1", i);
	is_int(child_capture(argv, env, -1, 10000, 10000, &s, &err), 0, "a program has variables");
	for (const char *p = s.buf; (p = strchr(p, '\n')); p++)
		lines++;
	is_int((int64_t)lines, 31, "31 at most");
	ok(strstr(s.buf, "\nV27=1\n") && !strstr(s.buf, "V28"), "the first ones");
	for (size_t i = 0; i < 40; i++)
		free(env[i]);
}

static int nothing(void *arg, void *reply, struct err *err_ret)
{
	(void)reply;
	return *(int *)arg ? err_set(err_ret, 0, "no") : 5;
}

static void test_call_without_reply(void)
{
	is_int(child_call(nothing, &(int){0}, NULL, 0, 10000, &err), 0,
	       "child_call needs no reply, and success is 0");
	is_int(child_call(nothing, &(int){1}, NULL, 0, 10000, &err), -1, "failure is -1");
	is_str(err.msg, "no", "with the message");
}

/* The rest of what was detached still runs. */
static void test_detach_two(void)
{
	char *argv[] = {(char *)"sleep", (char *)"20", NULL};
	struct child_io io = {-1, -1, -1};
	struct child a, b;
	pid_t first, second;

	if (child_start(argv, NULL, io, &a, &err) < 0 || child_start(argv, NULL, io, &b, &err) < 0)
		abort();
	first = a.pid;
	second = b.pid;
	child_detach(&a);
	child_detach(&b);
	child_reap_detached();
	ok(kill(first, 0) == 0 && kill(second, 0) == 0, "children that are detached go on");
	kill(second, SIGKILL);
	is_int(wait_for_end(second), 0, "one ends");
	child_reap_detached();
	ok(waitpid(second, NULL, WNOHANG) < 0, "it is reaped");
	ok(waitpid(first, NULL, WNOHANG) == 0, "the other is not");
	kill(first, SIGKILL);
	is_int(wait_for_end(first), 0, "it ends, too");
	child_reap_detached();
	is_int(waitpid(-1, NULL, WNOHANG), -1, "nothing is left");
}

/* The child of a process that dies dies too. */
static void test_parent_dies(void)
{
	char *argv[] = {(char *)"sleep", (char *)"20", NULL};
	int up[2];
	pid_t parent;
	struct child c = {-1, -1};

	if (pipe2(up, O_CLOEXEC) < 0)
		abort();
	parent = fork();
	if (parent == 0) {
		if (child_start(argv, NULL, (struct child_io){-1, -1, -1}, &c, &err) < 0)
			_exit(1);
		(void)!write(up[1], &c.pid, sizeof(c.pid));
		pause();
	}
	(void)!read(up[0], &c.pid, sizeof(c.pid));
	is_int(kill(c.pid, 0), 0, "the grandchild runs");
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	is_int(wait_for_end(c.pid), 0, "and is gone with its parent");
}

static int ends(void *arg)
{
	(void)arg;
	return 0;
}

static int reply_twice(void *arg, void *reply, struct err *err_ret)
{
	int in = *(int *)arg;

	*(int *)reply = 2 * in;
	if (in == 1)
		return err_set(err_ret, EACCES, "refused");
	if (in == 2)
		raise(SIGKILL);
	if (in == 3)
		_exit(7);
	if (in == 4)
		pause();
	if (in == 6) { /* as one that was taken over */
		memset(err_ret->msg, '\033', sizeof(err_ret->msg));
		return -1;
	}
	if (in == 7)
		die_oom();
	if (in == 5 && fork() == 0) { /* it keeps the pipe open */
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		sleep_ms(5000);
		_exit(0);
	}
	return in;
}

static int call(int in, int ms, int *reply)
{
	return child_call(reply_twice, &in, reply, sizeof(*reply), ms, &err);
}

static void test_call(void)
{
	int reply = -1;

	is_int(call(21, -1, &reply), 0, "child_call returns 0 where the function does not fail");
	is_int(reply, 42, "child_call copies the reply back");
	is_int(call(21, 5000, &reply), 0, "child_call returns before its time-out");
	is_int(call(1, 5000, &reply), -1, "child_call fails where the function does");
	is_str(err.msg, "refused: Permission denied", "child_call passes the error on");
	is_int(child_call(reply_twice, &(int){1}, &reply, sizeof(reply), -1, NULL), -1,
	       "child_call fails without an error to fill in");
	reply = 0;
	is_int(call(2, 5000, &reply), -1, "child_call fails when the child is killed");
	is_str(err.msg, "ended by signal 9 (Killed)", "child_call names the signal");
	is_int(call(3, 5000, &reply), -1, "child_call fails when the child exits");
	is_str(err.msg, "ended with status 7", "child_call names the status");
	is_int(call(4, 100, &reply), -1, "child_call stops a child that blocks");
	is_int(err.code, ETIMEDOUT, "child_call reports the time-out");
	is_int(reply, 0, "child_call leaves the reply untouched when it fails");
	is_int(call(6, 5000, &reply), -1, "child_call passes a forged error on");
	ok(strspn(err.msg, "?") == sizeof(err.msg) - 1, "sanitised, and with an end");
	is_int(call(7, 5000, &reply), -1, "child_call fails when the child has no memory");
	is_str(err.msg, "stopped: Cannot allocate memory", "child_call says so");
	is_int(waitpid(-1, NULL, WNOHANG), -1, "child_call reaps its children");
	is_int(call(5, 3000, &reply), 0, "child_call does not wait for grandchildren");
	is_int(reply, 10, "child_call copies the reply of a child with children");
}

static void test_deadline(void)
{
	uint64_t deadline = deadline_after(60000);
	int left = deadline_ms_left(deadline);

	ok(left > 50000 && left <= 60000, "a deadline in a minute leaves at most a minute");
	is_int(deadline_ms_left(deadline_after(0)), 0, "a deadline now leaves no time");
	is_int(deadline_ms_left(1), 0, "a deadline in the past leaves no time");
	is_int(deadline_ms_left(deadline_after(-1)), -1,
	       "no deadline leaves poll without time-out");
	is_int(deadline_ms_left(UINT64_MAX - 1), INT_MAX,
	       "a far deadline leaves the longest time-out");
}

static void test_leave(void)
{
	struct child c, next;
	siginfo_t info;
	pid_t pid;
	int status;

	ok(child_fork(ends, NULL, &c, &err) == 0, "a child");
	pid = c.pid;
	child_detach(&c);
	ok(c.pid < 0 && c.pidfd < 0, "that is detached");
	ok(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0, "has ended");
	ok(child_fork(ends, NULL, &next, &err) == 0, "and when the next one starts");
	ok(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) < 0 && errno == ECHILD,
	   "nothing is left of it");
	is_int(child_wait(&next, -1, &status), 1, "the other one is waited for as ever");
}

int main(void)
{
	test_deadline();
	test_call();
	test_leave();
	test_capture();
	test_not_found();
	test_limit();
	test_timeout();
	test_interrupted();
	test_environment();
	test_start();
	test_signals_reset();
	test_forked();
	test_many_variables();
	test_call_without_reply();
	test_detach_two();
	test_parent_dies();
	return tap_done();
}
