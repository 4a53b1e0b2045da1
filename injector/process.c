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
#include "injector/jvm_args.h"

/* A JVM takes 20 to 200 ms until it catches SIGQUIT; more where CPU is scarce. */
#define GRACE_MS      500
#define STATUS_MAX    (64u << 10)
#define ARGS_MAX      (4u << 20) /* the kernel's own limit is a quarter of the stack limit */
#define YOUNG_SECONDS 10
#define NO_SIGNAL     "nothing was sent to it"

void target_fini(struct target *t)
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

enum attach_result target_find(struct target *t, pid_t pid, struct err *err)
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
	/* The directory is readable only while the process it was opened for lives; so at this
	 * point the pid has not changed hands, and both descriptors mean the same process. */
	return proc_read_status(t->procfd, &t->st, err) < 0 ? from_errno(err) : ATTACH_OK;
}

bool target_is_alive(const struct target *t)
{
	struct pollfd p = {.fd = t->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}

bool target_is_young(const struct target *t)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), ticks;
	struct timespec now;
	struct err ignored;

	if (proc_start_time(t->procfd, &ticks, &ignored) < 0 ||
	    clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return true;
	return (uint64_t)now.tv_sec < ticks / hz + YOUNG_SECONDS;
}

static bool is_library(const char *path, const char *name)
{
	const char *base = strrchr(path, '/');

	/* A replaced file has " (deleted)" behind its name. */
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

int target_is_jvm(int procfd, struct err *err)
{
	struct proc_status st;
	int found = 0;

	if (proc_each_map(procfd, find_jvm, &found, err) >= 0)
		return found;
	if (err->code == ESRCH) /* no memory: a kernel thread, or on its way out */
		return 0;
	/* A JVM whose program file has capabilities (to bind port 80, say) hides its maps. */
	if ((err->code == EACCES || err->code == EPERM) && geteuid() != 0) {
		struct err ignored;

		if (proc_read_status(procfd, &st, &ignored) == 0 && !strcmp(st.name, "java"))
			return 1;
	}
	return -1;
}

/* TracerPid is not in struct proc_status. */
static bool is_traced(int procfd)
{
	CLEANUP(str_fini) struct str s = {0};
	struct err ignored;
	const char *at;

	if (fs_read_file(procfd, "status", STATUS_MAX, &s, &ignored) < 0 || !s.buf)
		return false;
	at = strstr(s.buf, "\nTracerPid:\t");
	return at && at[strlen("\nTracerPid:\t")] != '0';
}

enum attach_result target_check(struct target *t, struct err *err)
{
	uint64_t quit = 1ull << (SIGQUIT - 1);

	if (proc_read_status(t->procfd, &t->st, err) < 0)
		return from_errno(err);
	if (t->st.state == 'X')
		return err_set(err, ESRCH, "it has ended"), ATTACH_GONE;
	if (strchr("TZ", t->st.state)) {
		err_set(err, 0, "it is %s; " NO_SIGNAL,
			t->st.state == 'Z' ? "a zombie" : "stopped");
		return ATTACH_STOPPED;
	}
	if (t->st.state == 't' || is_traced(t->procfd))
		return err_set(err, 0, "a debugger traces it; " NO_SIGNAL), ATTACH_STOPPED;
	if (t->st.state == 'D' || proc_is_frozen(t->procfd)) {
		err_set(err, 0, "it is %s; " NO_SIGNAL,
			t->st.state == 'D' ? "frozen or in uninterruptible sleep" : "frozen");
		return ATTACH_STOPPED;
	}
	if (!(t->st.sigcgt & quit) || (t->st.sigign & quit)) {
		err_set(err, 0,
			"it does not catch SIGQUIT (started with -Xrs, or only just "
			"starting); " NO_SIGNAL);
		return ATTACH_NOT_READY;
	}
	return ATTACH_OK;
}

static enum attach_result check_all(struct target *t, struct err *err)
{
	enum attach_result result = target_check(t, err);
	struct err words = *err;
	int jvm;

	if (result == ATTACH_GONE || result == ATTACH_STOPPED)
		return result;
	jvm = target_is_jvm(t->procfd, err);
	if (jvm < 0)
		return ATTACH_FAILED;
	if (jvm == 0) {
		err_set(err, 0, "it is no HotSpot JVM (libjvm.so is not mapped); " NO_SIGNAL);
		return ATTACH_NOT_READY;
	}
	*err = words;
	return result;
}

static void read_options(struct target *t)
{
	CLEANUP(str_fini) struct str cmdline = {0};
	CLEANUP(str_fini) struct str env = {0};
	struct err ignored;

	/* Best effort: what cannot be read, or is too long, leaves the attach to its time-out. */
	if (fs_read_file(t->procfd, "cmdline", ARGS_MAX, &cmdline, &ignored) < 0)
		str_clear(&cmdline);
	if (fs_read_file(t->procfd, "environ", ARGS_MAX, &env, &ignored) < 0)
		str_clear(&env);
	t->attach_disabled = jvm_args_disable_attach(cmdline.buf ? cmdline.buf : "", cmdline.len,
						     env.buf ? env.buf : "", env.len);
}

static enum attach_result open_places(struct target *t, struct err *err)
{
	t->rootfd = proc_open_root(t->procfd, err);
	if (t->rootfd < 0 && err->code == EACCES && geteuid() != 0 && t->st.nspid == t->pid) {
		/* Hidden from its own user (see target_is_jvm), but of this pid namespace: most
		 * likely of this file system too; the peer check of the socket tells. */
		t->rootfd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (t->rootfd < 0)
		return err->code == ENOENT ? ATTACH_GONE : from_errno(err);
	t->cwdfd = openat(t->procfd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return ATTACH_OK;
}

enum attach_result target_look(struct target *t, uint64_t deadline, struct err *err)
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
	return open_places(t, err);
}

enum attach_result target_open_tmp(struct target *t, struct err *err)
{
	t->tmpfd = fs_open_in_root(t->rootfd, "/tmp", O_PATH | O_DIRECTORY, err);
	if (t->tmpfd >= 0)
		return ATTACH_OK;
	err_wrap(err, "it has no usable /tmp, where its socket must be");
	return ATTACH_NO_TMP;
}

enum attach_result target_signal(const struct target *t, int sig, struct err *err)
{
	if (syscall(SYS_pidfd_send_signal, t->pidfd, sig, NULL, 0) == 0)
		return ATTACH_OK;
	err_set(err, errno, "signal process %d", (int)t->pid);
	return from_errno(err);
}
