// SPDX-License-Identifier: Apache-2.0
#include "common/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/clock.h"

#define STOP_MS	 2000
#define RUN_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Of this process. */
static struct {
	pid_t *pids;
	size_t count, cap;
} left; /* to themselves, maybe not ended yet */

struct child_setup {
	char *const *argv;
	char *const *env;
	pid_t parent;
	struct run_io io;
	int report; /* pipe: the errno of a failed exec */
};

/* All three are moved out of the way first: any of them may be descriptor 0, 1 or 2. */
static void become_stdio(struct run_io io)
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

/* By the system call: glibc does not let its own two signals be touched, and make(1) hands them on
 * ignored. All zeros is SIG_DFL without flags or mask (struct sigaction of the kernel). */
static void reset_signals(void)
{
	static const uint64_t by_default[4];

	for (int sig = 1; sig <= 64; sig++)
		syscall(SYS_rt_sigaction, sig, by_default, NULL, sizeof(uint64_t));
}

NORETURN static void child(const struct child_setup *s)
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

int run_start(char *const argv[], char *const env[], struct run_io io, struct run_child *ret,
	      struct err *err)
{
	struct child_setup s = {.argv = argv, .env = env, .parent = getpid(), .io = io};
	CLEANUP(close_fd) int report = -1;
	int pipefd[2], code = 0, status;
	struct run_child c;
	ssize_t got;

	run_reap_left();
	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	report = pipefd[0];
	/* Above the standard descriptors, also when the caller has closed some of those. */
	s.report = fcntl(pipefd[1], F_DUPFD_CLOEXEC, 10);
	close(pipefd[1]);
	c.pid = fork();
	if (c.pid == 0)
		child(&s);
	close(s.report);
	if (c.pid < 0)
		return err_set(err, errno, "fork");
	c.pidfd = (int)syscall(SYS_pidfd_open, c.pid, 0);
	if (c.pidfd < 0) {
		code = errno;
		kill(c.pid, SIGKILL);
		reap(c.pid, &status);
		return err_set(err, code, "watch %s", argv[0]);
	}
	while ((got = read(report, &code, sizeof(code))) < 0 && errno == EINTR)
		;
	if (got == sizeof(code)) {
		run_stop(&c);
		return err_set(err, code, "run %s", argv[0]);
	}
	*ret = c;
	return 0;
}

int run_wait(struct run_child *c, int ms, int *ret_status)
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

void run_kill(struct run_child *c, int sig)
{
	if (c->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, c->pidfd, sig, NULL, 0);
}

void run_stop(struct run_child *c)
{
	uint64_t deadline = clock_ms() + STOP_MS;
	int status;

	if (c->pid <= 0)
		return;
	run_kill(c, SIGKILL);
	while (!run_wait(c, 100, &status)) { /* or a signal came in between */
		if (clock_ms() < deadline)
			continue;
		run_leave(c);
		return;
	}
}

void run_leave(struct run_child *c)
{
	left.pids = grow(left.pids, left.count, &left.cap, sizeof(*left.pids));
	left.pids[left.count++] = c->pid;
	close(c->pidfd);
	c->pidfd = -1;
	c->pid = -1;
}

void run_reap_left(void)
{
	size_t n = 0;

	for (size_t i = 0; i < left.count; i++)
		if (waitpid(left.pids[i], NULL, WNOHANG) == 0)
			left.pids[n++] = left.pids[i];
	left.count = n;
}

static int ms_left(uint64_t deadline)
{
	uint64_t now = clock_ms();

	return now < deadline ? (int)(deadline - now) : 0;
}

/* Reads until the end of the pipe or the deadline; what is over the limit is thrown away. */
static void collect(int reader, uint64_t deadline, size_t limit, struct str *out)
{
	char buf[16384];

	while (ms_left(deadline)) {
		struct pollfd p = {.fd = reader, .events = POLLIN};
		int ready = poll(&p, 1, ms_left(deadline));
		ssize_t n = ready > 0 ? read(reader, buf, sizeof(buf)) : -1;

		if (ready == 0 || n == 0 || (n < 0 && errno != EINTR))
			return;
		if (n < 0)
			continue;
		if ((size_t)n > limit)
			n = (ssize_t)limit;
		str_add(out, buf, (size_t)n);
		limit -= (size_t)n;
	}
}

int run_capture(char *const argv[], char *const env[], int in, int ms, size_t limit,
		struct str *out, struct err *err)
{
	uint64_t deadline = clock_ms() + (uint64_t)ms;
	CLEANUP(close_fd) int reader = -1;
	struct run_child c;
	int pipefd[2], status = 0, rc;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	reader = pipefd[0];
	rc = run_start(argv, env, (struct run_io){in, pipefd[1], -1}, &c, err);
	close(pipefd[1]);
	if (rc < 0)
		return -1;
	collect(reader, deadline, limit, out);
	while (!run_wait(&c, ms_left(deadline), &status)) {
		if (ms_left(deadline))
			continue;
		run_stop(&c);
		return err_set(err, ETIMEDOUT, "run %s", argv[0]);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
