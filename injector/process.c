// SPDX-License-Identifier: Apache-2.0
#include "injector/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/room.h"
#include "injector/wire.h"

/* A JVM catches SIGQUIT 20 to 200 ms after its start, later on a busy machine. */
#define GRACE_MS      500
#define STATUS_MAX    (64u << 10)
#define ARGS_MAX      (4u << 20) /* the kernel's own limit is a quarter of the stack limit */
#define YOUNG_SECONDS 10
#define FLAG	      "DisableAttachMechanism"
#define NO_SIGNAL     "nothing was sent to it"
/* The JVM starts one for attach clients, the agent one of its own; the rest is for those that the
 * program starts meanwhile. */
#define THREADS 8

void process_close(struct jvm_process *t)
{
	int *fds[] = {&t->procfd, &t->pidfd, &t->rootfd, &t->cwdfd, &t->tmpfd};

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		cleanup_close_fd(fds[i]);
		*fds[i] = -1;
	}
}

static enum attach_result from_errno(const struct err *err)
{
	return err->code == ESRCH ? ATTACH_GONE : ATTACH_FAILED;
}

enum attach_result process_open(struct jvm_process *t, pid_t pid, struct err *err)
{
	t->pid = pid;
	t->procfd = proc_open(pid, err);
	if (t->procfd < 0)
		return from_errno(err);
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (t->pidfd < 0) {
		err_set(err, errno, "open process %d", (int)pid);
		return from_errno(err);
	}
	/* The directory is readable only while the process it was opened for lives: if this works,
	 * the pid was not reused, and both descriptors mean the same process. */
	return proc_read_status(t->procfd, &t->st, err) < 0 ? from_errno(err) : ATTACH_OK;
}

bool process_is_alive(const struct jvm_process *t)
{
	struct pollfd p = {.fd = t->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) <= 0; /* a failure says nothing of the process */
}

bool process_is_young(const struct jvm_process *t)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), ticks;
	struct timespec now;

	if (proc_start_time(t->procfd, &ticks, NULL) < 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return true;
	return (uint64_t)now.tv_sec < ticks / hz + YOUNG_SECONDS;
}

static bool is_library(const char *path, const char *name)
{
	const char *base = strrchr(path, '/');

	/* A replaced file has the suffix " (deleted)". */
	return base && has_prefix(base + 1, name);
}

static int find_jvm(const struct proc_map *m, void *arg)
{
	int *found = arg;

	if (is_library(m->path, "libjvm.so"))
		*found = 1;
	/* OpenJ9 has a libjvm.so too, but another protocol; SIGQUIT makes it write a javacore. */
	if (is_library(m->path, "libj9vm")) {
		*found = 0;
		return 1;
	}
	return 0;
}

int process_is_jvm(int procfd, struct err *err)
{
	struct proc_status st;
	int found = 0;

	if (proc_each_map(procfd, find_jvm, &found, err) >= 0)
		return found;
	if (err->code == ESRCH) /* no memory: a kernel thread, or exiting */
		return 0;
	/* A JVM whose program file has capabilities (to bind port 80, say) hides its maps. */
	if ((err->code == EACCES || err->code == EPERM) && geteuid() != 0 &&
	    proc_read_status(procfd, &st, NULL) == 0 && !strcmp(st.name, "java"))
		return 1;
	return -1;
}

/* TracerPid is not in struct proc_status. */
static bool is_traced(int procfd)
{
	static const char key[] = "\nTracerPid:\t";
	CLEANUP(str_fini) struct str s = {0};
	const char *at = fs_read_file(procfd, "status", STATUS_MAX, &s, NULL) == 0 && s.buf
				 ? strstr(s.buf, key)
				 : NULL;

	return at && at[strlen(key)] != '0';
}

enum attach_result process_check(struct jvm_process *t, struct err *err)
{
	uint64_t quit = 1ull << (SIGQUIT - 1);
	const char *state = NULL;
	struct err room;

	if (proc_read_status(t->procfd, &t->st, err) < 0)
		return from_errno(err);
	if (t->st.state == 'X')
		return attach_fail(ATTACH_GONE, err, ESRCH, "it has ended");
	if (t->st.state == 'Z')
		state = "is a zombie";
	else if (t->st.state == 'T')
		state = "is stopped";
	else if (t->st.state == 't' || is_traced(t->procfd))
		state = "is traced by a debugger";
	else if (t->st.state == 'D')
		state = "is frozen or in uninterruptible sleep";
	else if (proc_is_frozen(t->procfd))
		state = "is frozen";
	if (state)
		return attach_fail(ATTACH_STOPPED, err, 0, "it %s; " NO_SIGNAL, state);
	if (!(t->st.sigcgt & quit) || (t->st.sigign & quit))
		return attach_fail(ATTACH_NOT_READY, err, 0,
				   "it does not catch SIGQUIT (started with -Xrs, or just "
				   "starting); " NO_SIGNAL);
	/* HotSpot exits where it cannot start the thread (attachListener.cpp; seen with JDK 17). */
	if (room_check(t->procfd, THREADS, 0, &room) < 0)
		return attach_fail(ATTACH_STOPPED, err, 0, "%s; " NO_SIGNAL, room.msg);
	return ATTACH_OK;
}

static enum attach_result check_all(struct jvm_process *t, struct err *err)
{
	enum attach_result result = process_check(t, err);
	struct err reason = *err;
	int jvm;

	if (result == ATTACH_GONE || result == ATTACH_STOPPED)
		return result;
	jvm = process_is_jvm(t->procfd, err);
	if (jvm < 0)
		return ATTACH_FAILED;
	if (jvm == 0)
		return attach_fail(ATTACH_NOT_READY, err, 0,
				   "it is not a HotSpot JVM (libjvm.so is not mapped); " NO_SIGNAL);
	*err = reason;
	return result;
}

/* ---- options ---- */

/* Returns the length of the next NUL-terminated text of a block; the last NUL may be missing. */
static size_t next_text(const char **p, const char *end, const char **ret)
{
	const char *nul = memchr(*p, '\0', (size_t)(end - *p));
	size_t len = (size_t)((nul ? nul : end) - *p);

	*ret = *p;
	*p = nul ? nul + 1 : end;
	return len;
}

static bool is_text(const char *p, size_t len, const char *want)
{
	return len == strlen(want) && !memcmp(p, want, len);
}

static void apply_option(const char *p, size_t len, bool *disabled)
{
	if (is_text(p, len, "-XX:+" FLAG))
		*disabled = true;
	else if (is_text(p, len, "-XX:-" FLAG))
		*disabled = false;
}

/* White space separates the options of an environment variable; they may be quoted. */
static void apply_variable(const char *env, size_t env_len, const char *name, bool *disabled)
{
	const char *end = env + env_len, *text;
	size_t name_len = strlen(name);

	for (const char *p = env; p < end;) {
		size_t len = next_text(&p, end, &text);

		if (len <= name_len || memcmp(text, name, name_len) || text[name_len] != '=')
			continue;
		for (size_t i = name_len + 1, start = i; i <= len; i++) {
			if (i < len && !strchr(" \t\n\r\f\v\"'", text[i]))
				continue;
			apply_option(text + start, i - start, disabled);
			start = i + 1;
		}
	}
}

/* True if the next argument is the option's value: IsWhiteSpaceOption of the launcher, JDK 9 to 25.
 */
static bool has_value(const char *p, size_t len)
{
	static const char *const options[] = {"-cp",
					      "-classpath",
					      "--class-path",
					      "-p",
					      "--module-path",
					      "--upgrade-module-path",
					      "--add-modules",
					      "--limit-modules",
					      "--add-exports",
					      "--add-opens",
					      "--add-reads",
					      "--patch-module",
					      "--enable-native-access",
					      "--source",
					      "-d",
					      "--describe-module"};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (is_text(p, len, options[i]))
			return true;
	return false;
}

static void apply_command_line(const char *cmdline, size_t cmdline_len, bool *disabled)
{
	const char *p = cmdline, *end = cmdline + cmdline_len, *text;

	if (p < end)
		next_text(&p, end, &text);
	while (p < end) {
		size_t len = next_text(&p, end, &text);

		if (is_text(text, len, "-jar") || is_text(text, len, "-m") ||
		    is_text(text, len, "--module") || (len && text[0] != '-' && text[0] != '@'))
			return;
		apply_option(text, len, disabled);
		if (has_value(text, len) && p < end)
			next_text(&p, end, &text);
	}
}

bool jvm_args_disable_attach(const char *cmdline, size_t cmdline_len, const char *env,
			     size_t env_len)
{
	bool disabled = false;

	apply_variable(env, env_len, "JAVA_TOOL_OPTIONS", &disabled);
	apply_variable(env, env_len, "JDK_JAVA_OPTIONS", &disabled);
	apply_command_line(cmdline, cmdline_len, &disabled);
	apply_variable(env, env_len, "_JAVA_OPTIONS", &disabled);
	return disabled;
}

static void read_options(struct jvm_process *t)
{
	CLEANUP(str_fini) struct str cmdline = {0};
	CLEANUP(str_fini) struct str env = {0};

	/* Best effort: without the options, attach runs into its time-out. */
	if (fs_read_file(t->procfd, "cmdline", ARGS_MAX, &cmdline, NULL) < 0)
		str_clear(&cmdline);
	if (fs_read_file(t->procfd, "environ", ARGS_MAX, &env, NULL) < 0)
		str_clear(&env);
	t->attach_disabled = jvm_args_disable_attach(cmdline.buf ? cmdline.buf : "", cmdline.len,
						     env.buf ? env.buf : "", env.len);
}

static enum attach_result open_directories(struct jvm_process *t, struct err *err)
{
	t->rootfd = proc_open_root(t->procfd, err);
	if (t->rootfd < 0 && err->code == EACCES && geteuid() != 0 && t->st.nspid == t->pid) {
		/* Hidden from its own user (see process_is_jvm), but in this pid namespace: most
		 * likely it has this root too, which the peer check of the socket verifies. */
		t->rootfd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (t->rootfd < 0)
		return err->code == ENOENT ? ATTACH_GONE : from_errno(err);
	t->cwdfd = openat(t->procfd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return ATTACH_OK;
}

enum attach_result process_inspect(struct jvm_process *t, uint64_t deadline, struct err *err)
{
	uint64_t until = clock_ms() + GRACE_MS;
	enum attach_result result;

	while ((result = check_all(t, err)) != ATTACH_OK) {
		bool may_pass = result == ATTACH_NOT_READY ||
				(result == ATTACH_STOPPED && t->st.state == 'D');

		if (!may_pass || clock_ms() >= until || clock_ms() >= deadline)
			return result;
		sleep_ms(10);
	}
	read_options(t);
	return open_directories(t, err);
}

enum attach_result process_open_tmp(struct jvm_process *t, struct err *err)
{
	t->tmpfd = fs_open_in_root(t->rootfd, "/tmp", O_PATH | O_DIRECTORY, err);
	if (t->tmpfd >= 0)
		return ATTACH_OK;
	err_wrap(err, "it has no usable /tmp, where its socket must be");
	return ATTACH_NO_TMP;
}

enum attach_result process_signal(const struct jvm_process *t, int sig, struct err *err)
{
	if (syscall(SYS_pidfd_send_signal, t->pidfd, sig, NULL, 0) == 0)
		return ATTACH_OK;
	err_set(err, errno, "signal process %d", (int)t->pid);
	return from_errno(err);
}
