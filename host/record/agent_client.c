// SPDX-License-Identifier: Apache-2.0
#include "record/agent_client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/install.h"
#include "common/proc.h"
#include "common/room.h"
#include "dfg/paths.h"
#include "injector/attach.h"

#define JOIN_MS	    5000
#define JOIN_OUTPUT 4096
#define LOAD_MS	    15000 /* a busy machine has many threads that wait for their turn */
#define VISIBLE_MS  2000
#define WARNS_SINCE 21 /* JDK */
/* Memory of the container for an answer: 10 MiB for a small program (JDK 17). */
#define ANSWER_BYTES (64u << 20)

/* Reads a file of a thread, truncated to fit. */
static bool read_task_file(int taskfd, const char *tid, const char *name, char *ret, size_t size)
{
	CLEANUP(free) char *path = xasprintf("%s/%s", tid, name);
	CLEANUP(close_fd) int fd = openat(taskfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, ret, size - 1) : 0;

	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The state of the agent's thread as in proc(5); 0: no such thread. */
static char thread_state(const struct jvm *j)
{
	int fd = openat(j->procfd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	char state = 0;

	if (!dir)
		return 0;
	while (!state && (e = readdir(dir))) {
		char name[32], stat[64];

		if (!read_task_file(fd, e->d_name, "comm", name, sizeof(name)) ||
		    strcmp(name, DFG_THREAD_NAME "\n") ||
		    !read_task_file(fd, e->d_name, "stat", stat, sizeof(stat)) ||
		    sscanf(stat, "%*d (" DFG_THREAD_NAME ") %c", &state) != 1)
			state = 0;
	}
	closedir(dir);
	return state;
}

bool agent_is_resident(const struct jvm *j)
{
	return thread_state(j) != 0;
}

int agent_can_answer(const struct jvm *j, struct err *err)
{
	char state = thread_state(j);

	if (state && strchr("Tt", state))
		return err_set(err, 0, "the agent cannot answer: process %d is stopped",
			       (int)j->pid);
	if (state == 'D' || (state && proc_is_frozen(j->procfd)))
		return err_set(err, 0, "the agent cannot answer: process %d is frozen",
			       (int)j->pid);
	if (room_check(j->procfd, 0, ANSWER_BYTES, err) < 0)
		return err_wrap(err, "the agent cannot answer");
	return 0;
}

static int find_payload(void *arg, void *reply, struct err *err)
{
	const struct jvm *j = arg;
	CLEANUP(close_fd) int rootfd = proc_open_root(j->procfd, err);
	CLEANUP(close_fd) int fd = -1;

	(void)reply;
	fd = rootfd < 0 ? -1 : fs_open_in_root(rootfd, DFG_AGENT_PATH, O_PATH, err);
	return fd < 0 ? -1 : 0;
}

/* In a child, since the container's file systems may make it wait. */
bool agent_is_visible(const struct jvm *j)
{
	struct err err;

	return child_call(find_payload, (void *)(uintptr_t)j, NULL, 0, VISIBLE_MS, &err) == 0;
}

bool agent_loads_silently(const struct jvm *j)
{
	int version = atoi(j->version); /* "1.8.0_402", "17.0.9", "" unknown */

	return version > 0 && version < WARNS_SINCE && agent_is_visible(j);
}

/* A file with the state that a runtime would give the hook (OCI runtime-spec, runtime.md#state),
 * without the bundle, which is not known, and with the start of the process, whose pid may be
 * another one's by the time the hook opens it. */
static int state_of(const struct container *c, struct err *err)
{
	json_t *state =
		json_pack("{ss ss ss si sI}", "ociVersion", "1.0.2", "id", c->id, "status",
			  "running", "pid", (int)c->pid, "start_time", (json_int_t)c->start);
	CLEANUP(free) char *text = state ? json_dumps(state, JSON_COMPACT) : NULL;
	CLEANUP(close_fd) int fd = memfd_create("state", MFD_CLOEXEC);

	json_decref(state);
	if (!text || fd < 0 || fs_write_all(fd, text, strlen(text), err) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, errno, "state of container %s", c->label);
	return TAKE_FD(fd);
}

/* Sets err to the "detail" of the hook's line of JSON, which is written for people. */
static void detail_of(const struct str *answer, struct err *err)
{
	json_t *o = json_loadb(answer->buf ? answer->buf : "", answer->len, 0, NULL);
	const char *status = json_string_value(json_object_get(o, "status"));
	const char *detail = json_string_value(json_object_get(o, "detail"));

	err_set(err, 0, "%s (%s)", detail && *detail ? detail : "the hook gave no reason",
		status ? status : "no answer");
	json_decref(o);
}

static int run_hook(const char *root, const char *mode, int state, struct str *out, struct err *err)
{
	CLEANUP(free) char *hook = install_path("dfg-hook");
	CLEANUP(free) char *payload = install_path("payload.squashfs");
	char *argv[] = {hook,	 (char *)mode, (char *)"--root", (char *)root, (char *)"--payload",
			payload, NULL};

	return child_capture(argv, NULL, state, JOIN_MS, JOIN_OUTPUT, out, err);
}

int agent_join(const char *root, const struct container *c, struct err *err)
{
	CLEANUP(close_fd) int state = state_of(c, err);
	CLEANUP(str_fini) struct str out = {0};
	int status = state < 0 ? -1 : run_hook(root, "--join", state, &out, err);

	if (status > 0)
		detail_of(&out, err);
	return status == 0 ? 0 : err_wrap(err, "join container %s", c->label);
}

void agent_sweep(const char *root)
{
	CLEANUP(free) char *payload = xasprintf("%s/" DFG_PAYLOAD_DIR, root);
	CLEANUP(str_fini) struct str out = {0};
	struct err err;

	/* Without the payload directory nothing was ever mounted. */
	if (access(payload, F_OK) == 0)
		(void)run_hook(root, "--gc", -1, &out, &err);
}

int agent_load(const struct jvm *j, const struct dump *d, bool debug_info, struct err *err)
{
	CLEANUP(str_fini) struct str options = {0};
	struct attach_request req = {.pid = j->pid, .path = DFG_AGENT_PATH, .timeout_ms = LOAD_MS};
	int code = 0;

	str_adds(&options, "dir=" DFG_OUT_PATH ",ctl=" DFG_CTL_PATH);
	if (debug_info)
		str_adds(&options, ",dns=1");
	if (d) {
		str_addf(&options, ",request=seq:%u:%d:%s", d->seq, (int)j->pid, d->name);
		str_addf(&options, ",since=%u,keep=%u,named=%d", d->since, d->keep, d->named);
	}
	req.options = options.buf;
	if (attach_load(&req, &code, err) != ATTACH_OK)
		return err_wrap(err, "load the agent");
	if (code != DFG_AGENT_OK)
		return err_set(err, 0, "load the agent into %d: it returned %d", (int)j->pid, code);
	return 0;
}

int agent_signal(const struct jvm *j, int pidfd, int sig, struct err *err)
{
	siginfo_t info = {.si_signo = sig, .si_code = SI_QUEUE};
	struct proc_status st;

	if (sig == 0)
		return err_set(err, 0, "the agent in %d has published no signal", (int)j->pid);
	if (proc_read_status(j->procfd, &st, err) < 0)
		return -1;
	/* The number comes from the container; an uncaught real-time signal would kill the JVM. */
	if (sig < 34 || !(st.sigcgt >> (sig - 1) & 1))
		return err_set(err, 0, "process %d does not catch signal %d", (int)j->pid, sig);
	info.si_value.sival_int = (int)j->pid;
	if (syscall(SYS_pidfd_send_signal, pidfd, sig, &info, 0) < 0)
		return err_set(err, errno, "send signal %d to %d", sig, (int)j->pid);
	return 0;
}
