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

/* ---- command line ---- */

static const struct {
	const char *name;
	enum hook_mode mode;
} modes[] = {
	{"--join", HOOK_MODE_JOIN},	  {"--gc", HOOK_MODE_GC},
	{"--release", HOOK_MODE_RELEASE}, {"--help", HOOK_MODE_HELP},
	{"--version", HOOK_MODE_VERSION}, {"--precreate", HOOK_MODE_PRECREATE},
};

static bool parse_mode(const char *arg, struct hook_options *o)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		if (!strcmp(arg, modes[i].name)) {
			o->mode = modes[i].mode;
			return true;
		}
	}
	return false;
}

/* Parses "--name VALUE" or "--name=VALUE". Returns 1 if it is such an option, 0 if not, -1. */
static int parse_path(char **argv, int *i, struct hook_options *o, struct err *err)
{
	const struct {
		const char *name;
		const char **value;
	} paths[] = {{"--root", &o->root}, {"--payload", &o->payload}, {"--conf", &o->conf}};

	for (size_t n = 0; n < ARRAY_LEN(paths); n++) {
		size_t len = strlen(paths[n].name);
		const char *value;

		if (strncmp(argv[*i], paths[n].name, len) != 0 ||
		    (argv[*i][len] && argv[*i][len] != '='))
			continue;
		value = argv[*i][len] ? argv[*i] + len + 1 : argv[++*i];
		if (!value || value[0] != '/')
			return err_set(err, 0, "%s needs an absolute path", paths[n].name);
		*paths[n].value = value;
		return 1;
	}
	return 0;
}

int hook_options_parse(int argc, char **argv, struct hook_options *ret, struct err *err)
{
	int failed = 0;

	*ret = (struct hook_options){0};
	for (int i = 1; i < argc && argv[i]; i++) {
		int rc = 0;

		if (!strcmp(argv[i], "--asked"))
			ret->requested = true;
		else if (!parse_mode(argv[i], ret) && (rc = parse_path(argv, &i, ret, err)) == 0 &&
			 argv[i][0] == '-')
			rc = err_set(err, 0, "unknown option %s", argv[i]);
		if (rc < 0)
			failed = -1;
		if (!argv[i]) /* the value of the last option is missing */
			break;
	}
	return failed;
}

/* ---- process ---- */

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	/* A file size limit or a closed pipe must be an error, not kill the hook. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

void hook_self_sanitise(void)
{
	int fd;

	clearenv();
	umask(022);
	close_range(3, ~0u, 0);
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
	(void)!confine_no_new_privs(NULL);
	reset_signals();
	(void)!chdir("/");
}

long hook_self_read_input(uint64_t deadline, const char **ret, struct err *err)
{
	static char input[OCI_STATE_MAX];
	static char rest[16384];
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	size_t len = 0;
	bool more = false;

	*ret = input;
	for (;;) {
		bool full = len == sizeof(input);
		int left = deadline_ms_left(deadline);
		ssize_t n;

		if (left == 0 || poll(&p, 1, left) == 0)
			return err_set(err, ETIMEDOUT, "stdin has no end");
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
	return more ? err_set(err, EFBIG, "the state is longer than %u bytes", OCI_STATE_MAX)
		    : (long)len;
}

NORETURN static void child(const struct hook_job *job, int report)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct hook_outcome outcome;

	/* The runtime waits until stdout and stderr are closed, not only for the hook. */
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	hook_worker_run(job, &outcome);
	(void)!write(report, &outcome, sizeof(outcome));
	_exit(0);
}

/* Waits 20 ms at most: a child that blocks in the kernel must not block the runtime. */
static void reap(pid_t pid)
{
	for (int i = 0; i < 100 && waitpid(pid, NULL, WNOHANG) == 0; i++)
		usleep(200);
}

/* Not child_call: this child has its own session, killed as a whole, and is never waited for long.
 */
void hook_self_work(const struct hook_job *job, uint64_t deadline, struct hook_outcome *ret)
{
	struct pollfd p = {.events = POLLIN};
	CLEANUP(close_fd) int reader = -1;
	int pipefd[2];
	pid_t pid;

	*ret = (struct hook_outcome){.status = HOOK_ERR_CRASH};
	if (pipe2(pipefd, O_CLOEXEC) < 0) {
		err_set(&ret->err, errno, "pipe");
		return;
	}
	p.fd = reader = pipefd[0];
	pid = fork();
	if (pid == 0)
		child(job, pipefd[1]);
	close(pipefd[1]);
	if (pid < 0) {
		err_set(&ret->err, errno, "fork");
		return;
	}
	(void)!confine_caps(NULL, 0, NULL);
	if (poll(&p, 1, deadline_ms_left(deadline)) == 0) {
		ret->status = HOOK_ERR_TIMEOUT;
		err_set(&ret->err, 0, "time budget exceeded");
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
	} else if (read(reader, ret, sizeof(*ret)) != (ssize_t)sizeof(*ret)) {
		*ret = (struct hook_outcome){.status = HOOK_ERR_CRASH};
		err_set(&ret->err, 0, "the worker died");
	}
	/* The worker has read what the container wrote: its strings are not trusted to end. */
	ret->id[sizeof(ret->id) - 1] = ret->err.msg[sizeof(ret->err.msg) - 1] = '\0';
	reap(pid);
}

void hook_self_log(const struct hook_outcome *o, uint64_t us)
{
	const struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* daemon.info, or daemon.warning for what should have worked (RFC 3164). */
	int priority = hook_status_is_done(o->status) || o->status < HOOK_ERR_PRIVILEGES ? 30 : 28;
	char line[1024];
	int n;

	n = snprintf(line, sizeof(line), "<%d>dfg-hook[%d]: id=%s status=%s us=%llu%s%s", priority,
		     (int)getpid(), o->id[0] ? o->id : "?", hook_status_name(o->status),
		     (unsigned long long)us, o->err.msg[0] ? " " : "", o->err.msg);
	if (n > (int)sizeof(line) - 1)
		n = (int)sizeof(line) - 1;
	if (fd >= 0)
		(void)!sendto(fd, line, (size_t)n, MSG_NOSIGNAL, (const struct sockaddr *)&to,
			      sizeof(to));
}
