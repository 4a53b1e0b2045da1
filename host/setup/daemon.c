// SPDX-License-Identifier: Apache-2.0
#include "setup/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/proc.h"

#define NS 1000000000

struct daemon_search {
	const struct daemon_kind *kind;
	const char *file;
	struct daemon *found;
};

static const char *file_of(const struct daemon *d, const struct daemon_kind *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kind->options) && kind->options[i]; i++) {
		const char *file = proc_arg(&d->args, kind->options[i]);

		if (file)
			return file + strspn(file, "/");
	}
	return kind->usual;
}

static int match(pid_t pid, void *arg)
{
	const struct daemon_search *s = arg;
	CLEANUP(daemon_fini) struct daemon d = {.pid = pid, .procfd = proc_open(pid, NULL)};
	struct proc_status st;

	if (d.procfd < 0 || proc_read_status(d.procfd, &st, NULL) < 0 ||
	    strcmp(st.name, s->kind->program) != 0 || !proc_is_trusted(d.procfd, &st) ||
	    proc_read_args(d.procfd, &d.args, NULL) < 0 ||
	    strcmp(file_of(&d, s->kind), s->file) != 0)
		return 0;
	*s->found = d;
	d = DAEMON_NONE;
	return 1;
}

bool daemon_find(const struct daemon_kind *kind, const char *file, struct daemon *ret)
{
	struct daemon_search s = {kind, file, ret};

	return proc_each(match, &s, NULL) > 0;
}

void daemon_fini(struct daemon *d)
{
	cleanup_close_fd(&d->procfd);
	str_fini(&d->args);
}

int daemon_signal(const struct daemon *d, int sig, struct err *err)
{
	CLEANUP(close_fd) int pidfd = (int)syscall(SYS_pidfd_open, d->pid, 0);
	uint64_t ticks;

	/* While the one that was found is there, its pid is of no other process. */
	if (pidfd < 0 || proc_start_time(d->procfd, &ticks, NULL) < 0)
		return err_set(err, ESRCH, "process %d", (int)d->pid);
	if (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0)
		return err_set(err, errno, "signal process %d", (int)d->pid);
	return 0;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

bool daemon_is_older(const struct daemon *d, int rootfd, const char *file)
{
	struct stat st;
	uint64_t ticks;
	int64_t started;

	if (proc_start_time(d->procfd, &ticks, NULL) < 0 || fstatat(rootfd, file, &st, 0) < 0)
		return false;
	started = (int64_t)ticks * (NS / sysconf(_SC_CLK_TCK)) + now_ns(CLOCK_REALTIME) -
		  now_ns(CLOCK_BOOTTIME);
	return (int64_t)st.st_mtim.tv_sec * NS + st.st_mtim.tv_nsec > started;
}
