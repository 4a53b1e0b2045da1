// SPDX-License-Identifier: Apache-2.0
/* The story of one load: find the process, look at it with the caller's rights, become its user,
 * make it listen, send one request, read one reply. All of it in a child, of which only a small
 * record comes back: whatever a container does to that child, the caller keeps its ids, its
 * descriptors and its time. */
#include "injector/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/str.h"
#include "injector/ids.h"
#include "injector/socket.h"
#include "injector/trigger.h"
#include "injector/wire.h"

#define TIMEOUT_MS 5000
#define CHECK_MS   2000
#define SLACK_MS   500 /* what the child may take over the deadline to tidy up */

struct outcome {
	enum attach_result result;
	int code;
	struct err err;
};
_Static_assert(sizeof(struct outcome) <= PIPE_BUF, "written in one piece");

static enum attach_result ask(struct target *t, const struct str *request, uint64_t deadline,
			      struct str *reply, struct err *err)
{
	CLEANUP(close_fd) int sock = -1;
	enum attach_result result = trigger_connect(t, deadline, &sock, err);

	if (result != ATTACH_OK)
		return result;
	return exchange_run(t, sock, request, deadline, reply, err);
}

/* Version 1 works with every JDK; version 2 is needed for long arguments only. */
static enum attach_result build_load(struct target *t, const struct attach_request *req,
				     uint64_t deadline, struct str *request, struct err *err)
{
	const char *args[3] = {req->path, "true", req->options ? req->options : ""};
	const char *probe[3] = {"options", "", ""};
	CLEANUP(str_fini) struct str question = {0};
	CLEANUP(str_fini) struct str answer = {0};
	enum attach_result result;

	if (attach_build_v1(request, "load", args))
		return ATTACH_OK;
	if (!attach_build_v1(&question, "getversion", probe))
		return ATTACH_FAILED;
	result = ask(t, &question, deadline, &answer, err);
	if (result != ATTACH_OK)
		return result;
	if (answer.len && attach_offers_v2(answer.buf, answer.len) &&
	    attach_build_v2(request, "load", args))
		return ATTACH_OK;
	err_set(err, E2BIG,
		"the agent's path or options are longer than this JVM accepts (%d bytes)",
		WIRE_ARG_MAX);
	return ATTACH_FAILED;
}

/* What root alone may see is seen before root is given up; a container's root, which may not look
 * at another user's process, can do so afterwards. */
static enum attach_result become_user_of(struct target *t, uint64_t deadline, struct err *err)
{
	enum attach_result result = target_look(t, deadline, err);
	bool denied = result == ATTACH_FAILED && (err->code == EACCES || err->code == EPERM);

	if (result != ATTACH_OK && !denied)
		return result;
	if (ids_take(t->st.euid, t->st.egid, err) < 0)
		return ATTACH_FAILED;
	return denied ? target_look(t, deadline, err) : ATTACH_OK;
}

static enum attach_result load(const struct attach_request *req, uint64_t deadline, int *ret_code,
			       struct err *err)
{
	CLEANUP(target_fini) struct target t = TARGET_NONE;
	CLEANUP(str_fini) struct str request = {0};
	CLEANUP(str_fini) struct str reply = {0};
	enum attach_result result = target_find(&t, req->pid, err);

	if (result == ATTACH_OK)
		result = become_user_of(&t, deadline, err);
	if (result == ATTACH_OK)
		result = target_open_tmp(&t, err);
	if (result == ATTACH_OK)
		result = build_load(&t, req, deadline, &request, err);
	if (result == ATTACH_OK)
		result = ask(&t, &request, deadline, &reply, err);
	if (result != ATTACH_OK)
		return result;
	return attach_parse_reply(reply.buf ? reply.buf : "", reply.len, ret_code, err);
}

/* The same up to where the JVM would notice. */
static enum attach_result check(const struct attach_request *req, uint64_t deadline, int *ret_code,
				struct err *err)
{
	CLEANUP(target_fini) struct target t = TARGET_NONE;
	enum attach_result result = target_find(&t, req->pid, err);

	(void)ret_code;
	if (result == ATTACH_OK)
		result = become_user_of(&t, deadline, err);
	if (result == ATTACH_OK && t.attach_disabled) {
		err_set(err, 0, ATTACH_DISABLED_TEXT);
		return ATTACH_DISABLED;
	}
	if (result == ATTACH_OK)
		result = target_open_tmp(&t, err);
	if (result == ATTACH_OK && faccessat(t.tmpfd, ".", W_OK | X_OK, 0) < 0) {
		err_set(err, errno, ATTACH_NO_TMP_TEXT);
		return ATTACH_NO_TMP;
	}
	return result;
}

typedef enum attach_result (*task_fn)(const struct attach_request *req, uint64_t deadline,
				      int *ret_code, struct err *err);

/* Nobody ends the child but its own deadline: it must remove its file from the JVM's /tmp, also
 * when the caller is interrupted or killed. */
NORETURN static void run_child(task_fn task, const struct attach_request *req, uint64_t deadline,
			       int out)
{
	struct outcome o = {0};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	/* Best effort, Linux 5.9: nothing of the caller's is held while a container is talked to.
	 */
	if (out > 3)
		syscall(SYS_close_range, 3, out - 1, 0);
	syscall(SYS_close_range, out + 1, ~0u, 0);
	o.result = task(req, deadline, &o.code, &o.err);
	(void)!write(out, &o, sizeof(o));
	_exit(0);
}

static bool read_outcome(int in, uint64_t deadline, struct outcome *ret)
{
	for (;;) {
		struct pollfd p = {.fd = in, .events = POLLIN};
		uint64_t now = clock_ms();
		int n = now < deadline ? poll(&p, 1, (int)(deadline - now)) : 0;

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		if (n > 0)
			return read(in, ret, sizeof(*ret)) == sizeof(*ret);
	}
}

static enum attach_result run_task(task_fn task, const struct attach_request *req,
				   struct outcome *o)
{
	unsigned timeout = req->timeout_ms ? req->timeout_ms : TIMEOUT_MS;
	uint64_t deadline = clock_ms() + (timeout < INT_MAX / 2 ? timeout : INT_MAX / 2);
	CLEANUP(close_fd) int in = -1;
	int fds[2];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(&o->err, errno, "pipe"), ATTACH_FAILED;
	in = fds[0];
	child = fork();
	if (child == 0)
		run_child(task, req, deadline, fds[1]);
	close(fds[1]);
	if (child < 0)
		return err_set(&o->err, errno, "fork"), ATTACH_FAILED;
	if (!read_outcome(in, deadline + SLACK_MS, o)) {
		kill(child, SIGKILL);
		err_set(&o->err, 0, "the process that talks to the JVM failed or took too long");
		o->result = ATTACH_FAILED;
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return o->result;
}

enum attach_result attach_load(const struct attach_request *req, int *ret_code, struct err *err)
{
	struct outcome o = {0};
	enum attach_result result;

	if (req->pid <= 0 || !req->path || req->path[0] != '/')
		return err_set(err, EINVAL, "attach: no pid, or no absolute path"), ATTACH_FAILED;
	result = run_task(load, req, &o);
	if (result == ATTACH_OK) {
		*ret_code = o.code;
		return ATTACH_OK;
	}
	*err = o.err;
	err_wrap(err, "attach to process %d", (int)req->pid);
	return result;
}

enum attach_result attach_check(pid_t pid, struct err *err)
{
	struct attach_request req = {.pid = pid, .timeout_ms = CHECK_MS};
	struct outcome o = {0};
	enum attach_result result = run_task(check, &req, &o);

	if (result != ATTACH_OK)
		*err = o.err;
	return result;
}
