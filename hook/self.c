// SPDX-License-Identifier: Apache-2.0
#include "hook/self.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/confine.h"

#define REAP_MS 20

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	/* A file size limit or a reader that went away must be an error, not our death. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

void hook_self_sanitise(void)
{
	const char *mode = getenv("DFG_SECCOMP");
	bool killing = mode && !strcmp(mode, "kill");
	struct err err;
	int fd;

	clearenv();
	if (killing) /* makes the filter of system calls stricter; for tests */
		putenv((char *)"DFG_SECCOMP=kill");
	/* Modes are given in full everywhere. */
	umask(022);
	close_range(3, ~0u, 0);
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
	(void)!confine_no_new_privs(&err);
	reset_signals();
	(void)!chdir("/");
}

/* Milliseconds to the deadline for poll, at least 0. */
static int left_ms(uint64_t deadline_us)
{
	uint64_t now = clock_us();

	return now < deadline_us ? (int)((deadline_us - now + 999) / 1000) : 0;
}

long hook_self_drain(uint64_t deadline_us, const char **ret, struct err *err)
{
	static char input[OCI_STATE_MAX];
	static char rest[16384];
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	size_t len = 0;
	bool more = false;

	*ret = input;
	for (;;) {
		bool full = len == sizeof(input);
		int ms = left_ms(deadline_us);
		ssize_t n;

		if (ms == 0 || (poll(&p, 1, ms) == 0))
			return err_set(err, ETIMEDOUT, "stdin does not end");
		n = read(STDIN_FILENO, full ? rest : input + len,
			 full ? sizeof(rest) : sizeof(input) - len);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return err_set(err, errno, "read stdin");
		if (n == 0)
			break;
		more |= full;
		len += full ? 0 : (size_t)n;
	}
	return more ? err_set(err, EFBIG, "the state is too long") : (long)len;
}

NORETURN static void child(const struct hook_job *job, int report)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct hook_outcome outcome;

	/* The runtime waits for the ends of stdout and stderr, not only for the hook. */
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	hook_worker_run(job, &outcome);
	(void)!write(report, &outcome, sizeof(outcome));
	_exit(0);
}

/* Never waits long: a child that hangs in the kernel must not hang the runtime. */
static void reap(pid_t pid, bool kill_it)
{
	uint64_t deadline = clock_us() + REAP_MS * 1000;

	if (kill_it) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, NULL, WNOHANG) == 0 && clock_us() < deadline)
		usleep(200);
}

void hook_self_work(const struct hook_job *job, uint64_t deadline_us, struct hook_outcome *ret)
{
	struct pollfd p = {.events = POLLIN};
	struct err err;
	int pipefd[2];
	pid_t pid;

	*ret = (struct hook_outcome){.reason = HOOK_ERR_CRASH};
	if (pipe2(pipefd, O_CLOEXEC) < 0) {
		err_set(&ret->err, errno, "pipe");
		return;
	}
	pid = fork();
	if (pid == 0)
		child(job, pipefd[1]);
	close(pipefd[1]);
	if (pid < 0) {
		err_set(&ret->err, errno, "fork");
	} else {
		(void)!confine_caps(NULL, 0, &err);
		p.fd = pipefd[0];
		if (poll(&p, 1, left_ms(deadline_us)) == 0) {
			ret->reason = HOOK_ERR_TIMEOUT;
			err_set(&ret->err, 0, "the time budget ran out");
		} else if (read(pipefd[0], ret, sizeof(*ret)) != (ssize_t)sizeof(*ret)) {
			*ret = (struct hook_outcome){.reason = HOOK_ERR_CRASH};
			err_set(&ret->err, 0, "the worker died");
		}
		reap(pid, ret->reason == HOOK_ERR_TIMEOUT);
	}
	close(pipefd[0]);
}

void hook_self_log(const struct hook_outcome *o, uint64_t us)
{
	const struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* daemon.info, or daemon.warning for what should have worked (RFC 3164). */
	int priority = hook_reason_done(o->reason) || o->reason < HOOK_ERR_PRIVILEGES ? 30 : 28;
	char line[1024];
	int n;

	n = snprintf(line, sizeof(line), "<%d>dfg-hook[%d]: id=%s status=%s us=%llu%s%s", priority,
		     (int)getpid(), o->id[0] ? o->id : "?", hook_reason_name(o->reason),
		     (unsigned long long)us, o->err.msg[0] ? " " : "", o->err.msg);
	if (n > (int)sizeof(line) - 1)
		n = (int)sizeof(line) - 1;
	if (fd >= 0)
		(void)!sendto(fd, line, (size_t)n, MSG_NOSIGNAL, (const struct sockaddr *)&to,
			      sizeof(to));
}
