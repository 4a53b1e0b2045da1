// SPDX-License-Identifier: Apache-2.0
#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"

#define STOP_MS	   500
#define OOM_STATUS 77 /* of a child_call */
#define RUN_PATH   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Children that nobody waits for and that may still run. */
static struct {
	pid_t *pids;
	size_t count, cap;
} detached;

static int reply_fd = -1;

struct program {
	char *const *argv;
	char *const *env;
	pid_t parent;
	struct child_io io;
	int report; /* pipe: the errno of a failed exec */
};

/* Duplicates all three above 2 first: any of them may be descriptor 0, 1 or 2. */
static void become_stdio(struct child_io io)
{
	int null = open("/dev/null", O_RDWR);
	int in = fcntl(io.in >= 0 ? io.in : null, F_DUPFD_CLOEXEC, 3);
	int out = fcntl(io.out >= 0 ? io.out : null, F_DUPFD_CLOEXEC, 3);
	int errfd = fcntl(io.err >= 0 ? io.err : null, F_DUPFD_CLOEXEC, 3);

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(errfd, STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

/* Calls the kernel directly: glibc refuses to change its own two signals, which make(1) passes on
 * ignored. All zeros is SIG_DFL without flags or mask (struct sigaction of the kernel). */
static void reset_signals(void)
{
	static const uint64_t by_default[4];

	for (int sig = 1; sig <= 64; sig++)
		syscall(SYS_rt_sigaction, sig, by_default, NULL, sizeof(uint64_t));
}

NORETURN static void exec_child(const struct program *s)
{
	char *env[32] = {(char *)"PATH=" RUN_PATH, (char *)"LANG=C", (char *)"HOME=/nonexistent"};
	size_t n = 3;
	sigset_t none;
	int code;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->parent)
		_exit(127);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	reset_signals();
	for (size_t i = 0; s->env && s->env[i] && n < ARRAY_LEN(env) - 1; i++)
		env[n++] = s->env[i];
	become_stdio(s->io);
	environ = env;
	execvpe(s->argv[0], s->argv, env);
	code = errno;
	(void)!write(s->report, &code, sizeof(code));
	_exit(127);
}

static void reap(pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
}

/* Completes *ret; kills the child if the kernel has no pidfd for it. */
static int open_pidfd(struct child c, const char *name, struct child *ret, struct err *err)
{
	c.pidfd = (int)syscall(SYS_pidfd_open, c.pid, 0);
	if (c.pidfd < 0) {
		err_set(err, errno, "watch %s", name);
		kill(c.pid, SIGKILL);
		reap(c.pid, NULL);
		return -1;
	}
	*ret = c;
	return 0;
}

int child_start(char *const argv[], char *const env[], struct child_io io, struct child *ret,
		struct err *err)
{
	struct program s = {.argv = argv, .env = env, .parent = getpid(), .io = io};
	CLEANUP(close_fd) int report = -1;
	int pipefd[2], code = 0;
	struct child c;
	ssize_t got;

	child_reap_detached();
	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	report = pipefd[0];
	/* Above the standard descriptors, also when the caller has closed some of those. */
	s.report = fcntl(pipefd[1], F_DUPFD_CLOEXEC, 10);
	close(pipefd[1]);
	c.pid = fork();
	if (c.pid == 0)
		exec_child(&s);
	close(s.report);
	if (c.pid < 0)
		return err_set(err, errno, "fork");
	if (open_pidfd(c, argv[0], &c, err) < 0)
		return -1;
	while ((got = read(report, &code, sizeof(code))) < 0 && errno == EINTR)
		;
	if (got == sizeof(code)) {
		child_stop(&c);
		return err_set(err, code, "run %s", argv[0]);
	}
	*ret = c;
	return 0;
}

int child_fork(int (*fn)(void *arg), void *arg, struct child *ret, struct err *err)
{
	pid_t parent = getpid();
	struct child c;

	child_reap_detached();
	c.pid = fork();
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGINT, SIG_IGN);
		reply_fd = -1;
		_exit(getppid() == parent ? fn(arg) : 1);
	}
	if (c.pid < 0)
		return err_set(err, errno, "fork");
	return open_pidfd(c, "a child", ret, err);
}

int child_wait(struct child *c, int ms, int *ret_status)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	if (poll(&p, 1, ms) <= 0)
		return 0;
	reap(c->pid, ret_status);
	close(c->pidfd);
	c->pidfd = -1;
	c->pid = -1;
	return 1;
}

void child_signal(struct child *c, int sig)
{
	if (c->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, c->pidfd, sig, NULL, 0);
}

void child_stop(struct child *c)
{
	uint64_t deadline = deadline_after(STOP_MS);
	int status;

	if (c->pid <= 0)
		return;
	child_signal(c, SIGKILL);
	while (!child_wait(c, deadline_ms_left(deadline), &status))
		if (!deadline_ms_left(deadline)) {
			child_detach(c);
			return;
		}
}

void child_detach(struct child *c)
{
	detached.pids = grow(detached.pids, detached.count, &detached.cap, sizeof(*detached.pids));
	detached.pids[detached.count++] = c->pid;
	close(c->pidfd);
	c->pidfd = -1;
	c->pid = -1;
}

void child_reap_detached(void)
{
	size_t n = 0;

	for (size_t i = 0; i < detached.count; i++)
		if (waitpid(detached.pids[i], NULL, WNOHANG) == 0)
			detached.pids[n++] = detached.pids[i];
	detached.count = n;
}

/* Appends at most `limit` bytes from the pipe. Returns at its end, or without `drain` at the limit;
 * with `drain` the rest is read and discarded. False if the deadline came first. */
static bool read_pipe(int fd, uint64_t deadline, size_t limit, bool drain, struct str *out)
{
	char buf[16384];
	int left;

	while ((left = deadline_ms_left(deadline)) != 0 && (limit || drain)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int ready = poll(&p, 1, left);
		ssize_t n = ready > 0 ? read(fd, buf, sizeof(buf)) : -1;

		if (ready == 0)
			return false;
		if (n == 0 || (n < 0 && errno != EINTR))
			return true;
		if (n < 0)
			continue;
		if ((size_t)n > limit)
			n = (ssize_t)limit;
		str_add(out, buf, (size_t)n);
		limit -= (size_t)n;
	}
	return left != 0;
}

int child_capture(char *const argv[], char *const env[], int in, int ms, size_t limit,
		  struct str *out, struct err *err)
{
	uint64_t deadline = deadline_after(ms);
	CLEANUP(close_fd) int reader = -1;
	struct child c;
	int pipefd[2], status = 0, rc;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	reader = pipefd[0];
	rc = child_start(argv, env, (struct child_io){in, pipefd[1], -1}, &c, err);
	close(pipefd[1]);
	if (rc < 0)
		return -1;
	(void)read_pipe(reader, deadline, limit, true, out);
	while (!child_wait(&c, deadline_ms_left(deadline), &status)) {
		if (deadline_ms_left(deadline))
			continue; /* a signal interrupted the wait */
		child_stop(&c);
		return err_set(err, ETIMEDOUT, "run %s", argv[0]);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Sent through the pipe before the reply. */
struct child_verdict {
	int rc;
	struct err err;
};

struct work {
	int (*fn)(void *arg, void *reply, struct err *err);
	void *arg, *reply;
	size_t size;
	int to;
};

static int work(void *arg)
{
	const struct work *w = arg;
	struct child_verdict v = {0};

	reply_fd = w->to;
	log_set_oom_status(OOM_STATUS);
	v.rc = w->fn(w->arg, w->reply, &v.err);
	return fs_write_all(w->to, &v, sizeof(v), NULL) < 0 ||
	       fs_write_all(w->to, w->reply, w->size, NULL) < 0;
}

int child_reply_fd(void)
{
	return reply_fd;
}

static int describe_end(int status, struct err *err)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == OOM_STATUS)
		return err_set(err, ENOMEM, "stopped");
	return WIFSIGNALED(status) ? err_set(err, 0, "ended by signal %d (%s)", WTERMSIG(status),
					     strsignal(WTERMSIG(status)))
				   : err_set(err, 0, "ended with status %d", WEXITSTATUS(status));
}

int child_call(int (*fn)(void *arg, void *reply, struct err *err), void *arg, void *reply,
	       size_t size, int ms, struct err *err)
{
	struct work w = {.fn = fn, .arg = arg, .reply = reply, .size = size};
	CLEANUP(close_fd) int from = -1;
	CLEANUP(str_fini) struct str received = {0};
	int pipefd[2], status = 0, rc;
	struct child child;
	struct child_verdict v;
	bool late;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	from = pipefd[0];
	w.to = pipefd[1];
	rc = child_fork(work, &w, &child, err);
	close(pipefd[1]);
	if (rc < 0)
		return -1;
	late = !read_pipe(from, deadline_after(ms), sizeof(v) + size, false, &received);
	if (late)
		child_stop(&child);
	while (child.pid > 0 && !child_wait(&child, -1, &status)) /* interrupted by a signal */
		;
	if (late)
		return err_set(err, ETIMEDOUT, "stopped after %d ms", ms);
	if (received.len != sizeof(v) + size)
		return describe_end(status, err);
	memcpy(&v, received.buf, sizeof(v));
	if (size)
		memcpy(reply, received.buf + sizeof(v), size);
	if (v.rc < 0) {
		str_clean(v.err.msg, sizeof(v.err.msg));
		if (err)
			*err = v.err;
	}
	return v.rc < 0 ? -1 : 0;
}
