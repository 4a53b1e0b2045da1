// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/run.h"

/* What comes back through the pipe, in front of the reply. */
struct verdict {
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
	struct verdict v = {0};
	struct err ignored;

	v.rc = w->fn(w->arg, w->reply, &v.err);
	return fs_write_all(w->to, &v, sizeof(v), &ignored) < 0 ||
	       fs_write_all(w->to, w->reply, w->size, &ignored) < 0;
}

int run_function(int (*fn)(void *arg), void *arg, struct run_child *ret, struct err *err)
{
	pid_t parent = getpid();
	struct run_child c;

	run_reap_left();
	c.pid = fork();
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGINT, SIG_IGN);
		_exit(getppid() == parent ? fn(arg) : 1);
	}
	if (c.pid < 0)
		return err_set(err, errno, "fork");
	c.pidfd = (int)syscall(SYS_pidfd_open, c.pid, 0);
	if (c.pidfd < 0) {
		err_set(err, errno, "watch a child");
		kill(c.pid, SIGKILL);
		waitpid(c.pid, NULL, 0);
		return -1;
	}
	*ret = c;
	return 0;
}

/* All that the child has to say, or what it said until the time was over. */
static void listen(int from, size_t limit, uint64_t deadline, bool *ret_late, struct str *ret)
{
	char buf[4096];

	while (ret->len < limit) {
		struct pollfd p = {.fd = from, .events = POLLIN};
		uint64_t now = clock_ms();
		int left = deadline == UINT64_MAX ? -1 : now < deadline ? (int)(deadline - now) : 0;
		int ready = poll(&p, 1, left);
		ssize_t n;

		if (ready == 0)
			*ret_late = true;
		if (ready == 0 || (ready < 0 && errno != EINTR))
			return;
		n = ready > 0 ? read(from, buf, sizeof(buf)) : 0;
		if (ready > 0 && n <= 0)
			return;
		str_add(ret, buf, (size_t)n);
	}
}

static int say_how(int status, struct err *err)
{
	return WIFSIGNALED(status) ? err_set(err, 0, "ended by signal %d (%s)", WTERMSIG(status),
					     strsignal(WTERMSIG(status)))
				   : err_set(err, 0, "ended with status %d", WEXITSTATUS(status));
}

int run_isolated(int (*fn)(void *arg, void *reply, struct err *err), void *arg, void *reply,
		 size_t size, int ms, struct err *err)
{
	struct work w = {.fn = fn, .arg = arg, .reply = reply, .size = size};
	uint64_t deadline = ms < 0 ? UINT64_MAX : clock_ms() + (uint64_t)ms;
	CLEANUP(close_fd) int from = -1;
	CLEANUP(str_fini) struct str said = {0};
	int pipefd[2], status = 0, rc;
	struct run_child child;
	struct verdict v;
	bool late = false;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	from = pipefd[0];
	w.to = pipefd[1];
	rc = run_function(work, &w, &child, err);
	close(pipefd[1]);
	if (rc < 0)
		return -1;
	listen(from, sizeof(v) + size, deadline, &late, &said);
	if (late)
		run_stop(&child);
	while (child.pid > 0 && !run_wait(&child, -1, &status)) /* a signal came in between */
		;
	if (late)
		return err_set(err, ETIMEDOUT, "stopped after %d ms", ms);
	if (said.len != sizeof(v) + size)
		return say_how(status, err);
	memcpy(&v, said.buf, sizeof(v));
	memcpy(reply, said.buf + sizeof(v), size);
	if (v.rc < 0) {
		v.err.msg[sizeof(v.err.msg) - 1] = '\0';
		*err = v.err;
	}
	return v.rc < 0 ? -1 : 0;
}
