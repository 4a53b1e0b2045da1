// SPDX-License-Identifier: Apache-2.0
/* Opens the process, inspects it with the caller's rights, changes to its user, sends one request
 * and parses the reply. All of it in a child that returns only a small struct: whatever a container
 * does to that child, the caller keeps its ids, its descriptors and its deadline. */
#include "injector/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/str.h"
#include "injector/process.h"
#include "injector/wire.h"

#define TIMEOUT_MS 5000
#define CHECK_MS   2000
#define SLACK_MS   500 /* for the child to clean up after the deadline */

struct attach_outcome {
	enum attach_result result;
	int code;
	struct err err;
};
_Static_assert(sizeof(struct attach_outcome) <= PIPE_BUF, "written in one piece");

static int drop_capabilities(struct err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	/* If the JVM is root's, changing ids drops none. */
	if (syscall(SYS_capset, &head, none) < 0)
		return err_set(err, errno, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(err, errno, "forbid new privileges");
	return 0;
}

/* Changes all three user and group ids, drops supplementary groups and capabilities, forbids new
 * privileges and core dumps. Without the right to change ids they must be the caller's already. */
static int become_user(uid_t uid, gid_t gid, struct err *err)
{
	bool same = geteuid() == uid && getegid() == gid;

	/* A container's user may lack the right to; its groups are the container's then. */
	if (setgroups(0, NULL) < 0 && !same)
		return err_set(err, errno, "it belongs to user %u (this is user %u)", (unsigned)uid,
			       (unsigned)geteuid());
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return err_set(err, errno, "change to the JVM's ids %u:%u", (unsigned)uid,
			       (unsigned)gid);
	return drop_capabilities(err);
}

/* Builds version 1, which every JDK accepts; version 2 only for long arguments. */
static enum attach_result build_load(struct jvm_process *t, const struct attach_request *req,
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
	result = process_exchange(t, &question, deadline, &answer, err);
	if (result != ATTACH_OK)
		return result;
	if (answer.len && attach_offers_v2(answer.buf, answer.len) &&
	    attach_build_v2(request, "load", args))
		return ATTACH_OK;
	return attach_fail(
		ATTACH_FAILED, err, E2BIG,
		"the agent's path or options are longer than this JVM accepts (%d bytes)",
		WIRE_ARG_MAX);
}

/* Inspects the process as root before changing to its user. A container's root may lack the right
 * to inspect another user's process; then it does so afterwards. */
static enum attach_result become_user_of(struct jvm_process *t, uint64_t deadline, struct err *err)
{
	enum attach_result result = process_inspect(t, deadline, err);
	bool denied = result == ATTACH_FAILED && (err->code == EACCES || err->code == EPERM);

	if (result != ATTACH_OK && !denied)
		return result;
	if (become_user(t->st.euid, t->st.egid, err) < 0)
		return ATTACH_FAILED;
	return denied ? process_inspect(t, deadline, err) : ATTACH_OK;
}

static enum attach_result load(const struct attach_request *req, uint64_t deadline, int *ret_code,
			       struct err *err)
{
	CLEANUP(process_close) struct jvm_process t = JVM_PROCESS_EMPTY;
	CLEANUP(str_fini) struct str request = {0};
	CLEANUP(str_fini) struct str reply = {0};
	enum attach_result result = process_open(&t, req->pid, err);

	if (result == ATTACH_OK)
		result = become_user_of(&t, deadline, err);
	if (result == ATTACH_OK)
		result = process_open_tmp(&t, err);
	if (result == ATTACH_OK)
		result = build_load(&t, req, deadline, &request, err);
	if (result == ATTACH_OK)
		result = process_exchange(&t, &request, deadline, &reply, err);
	if (result != ATTACH_OK)
		return result;
	return attach_parse_reply(reply.buf ? reply.buf : "", reply.len, ret_code, err);
}

/* Does the same up to the first step that the JVM would notice. */
static enum attach_result check(const struct attach_request *req, uint64_t deadline, int *ret_code,
				struct err *err)
{
	CLEANUP(process_close) struct jvm_process t = JVM_PROCESS_EMPTY;
	enum attach_result result = process_open(&t, req->pid, err);

	(void)ret_code;
	if (result == ATTACH_OK)
		result = become_user_of(&t, deadline, err);
	if (result == ATTACH_OK && t.attach_disabled)
		return attach_fail(ATTACH_DISABLED, err, 0, ATTACH_DISABLED_TEXT);
	if (result == ATTACH_OK)
		result = process_open_tmp(&t, err);
	if (result == ATTACH_OK && faccessat(t.tmpfd, ".", W_OK | X_OK, 0) < 0)
		return attach_fail(ATTACH_NO_TMP, err, errno, ATTACH_NO_TMP_TEXT);
	return result;
}

typedef enum attach_result (*task_fn)(const struct attach_request *req, uint64_t deadline,
				      int *ret_code, struct err *err);

/* Not child_call: only its own deadline ends this child, since it must remove its file from the
 * JVM's /tmp, also when the caller is interrupted or killed; and dfg-inject has no code that
 * executes. */
NORETURN static void run_child(task_fn task, const struct attach_request *req, uint64_t deadline,
			       int out)
{
	struct attach_outcome o = {0};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	/* Best effort, Linux 5.9: holds no descriptor of the caller during the exchange. */
	if (out > 3)
		syscall(SYS_close_range, 3, out - 1, 0);
	syscall(SYS_close_range, out + 1, ~0u, 0);
	o.result = task(req, deadline, &o.code, &o.err);
	(void)!write(out, &o, sizeof(o));
	_exit(0);
}

static bool read_outcome(int in, uint64_t deadline, struct attach_outcome *ret)
{
	struct pollfd p = {.fd = in, .events = POLLIN};
	int n;

	while ((n = poll(&p, 1, deadline_ms_left(deadline))) < 0 && errno == EINTR)
		;
	return n > 0 && read(in, ret, sizeof(*ret)) == sizeof(*ret);
}

static enum attach_result run_task(task_fn task, const struct attach_request *req,
				   struct attach_outcome *o)
{
	unsigned timeout = req->timeout_ms ? req->timeout_ms : TIMEOUT_MS;
	uint64_t deadline = deadline_after(timeout < INT_MAX / 2 ? (int)timeout : INT_MAX / 2);
	CLEANUP(close_fd) int in = -1;
	int fds[2];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return attach_fail(ATTACH_FAILED, &o->err, errno, "pipe");
	in = fds[0];
	child = fork();
	if (child == 0)
		run_child(task, req, deadline, fds[1]);
	close(fds[1]);
	if (child < 0)
		return attach_fail(ATTACH_FAILED, &o->err, errno, "fork");
	if (!read_outcome(in, deadline + SLACK_MS, o)) {
		kill(child, SIGKILL);
		err_set(&o->err, 0, "the attaching process died or exceeded its time-out");
		o->result = ATTACH_FAILED;
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return o->result;
}

enum attach_result attach_load(const struct attach_request *req, int *ret_code, struct err *err)
{
	struct attach_outcome o = {0};
	enum attach_result result;

	if (req->pid <= 0 || !req->path || req->path[0] != '/')
		return attach_fail(ATTACH_FAILED, err, EINVAL,
				   "attach: no pid, or no absolute path");
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
	struct attach_outcome o = {0};
	enum attach_result result = run_task(check, &req, &o);

	if (result != ATTACH_OK)
		*err = o.err;
	return result;
}
