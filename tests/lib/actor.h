/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that plays a part in a test: a JVM, a container's first process, an agent.
 *
 *	struct actor a;
 *
 *	if (actor_fork(&a)) {
 *		... what makes it what it plays ...
 *		actor_play(&a);
 *	}
 *	actor_wait(&a);
 *	... the test ...
 *	actor_end(a.pid);
 */
#ifndef DFG_LIB_ACTOR_H
#define DFG_LIB_ACTOR_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/proc.h"

struct actor {
	pid_t pid;
	int ready; /* a pipe: the parent reads, the child writes one byte or ends */
};

/* Starts the child, in new namespaces (CLONE_NEW*): its pid is -1 if they are not permitted.
 * Returns true in the child, which is killed when the test ends. */
static inline bool actor_clone(struct actor *a, int namespaces)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		abort();
	a->pid = namespaces ? (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, 0, 0, 0, 0) : fork();
	if (a->pid < 0 && !namespaces)
		abort();
	a->ready = fds[a->pid == 0];
	close(fds[a->pid != 0]);
	return a->pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

static inline bool actor_fork(struct actor *a)
{
	return actor_clone(a, 0);
}

/* In the child: tells the parent that it is ready. */
static inline void actor_tell(const struct actor *a)
{
	if (write(a->ready, "", 1) != 1)
		_exit(1);
}

/* In the child: tells the parent, and waits to be killed. */
__attribute__((noreturn)) static inline void actor_play(const struct actor *a)
{
	actor_tell(a);
	for (;;)
		pause();
}

/* Waits until the child is ready. Returns false if it ended before. */
static inline bool actor_wait(struct actor *a)
{
	char byte;
	bool told = read(a->ready, &byte, 1) == 1;

	close(a->ready);
	return told;
}

/* A process that does nothing, its pid. */
static inline pid_t actor_idle(void)
{
	struct actor a;

	if (actor_fork(&a))
		actor_play(&a);
	if (!actor_wait(&a))
		abort();
	return a.pid;
}

static inline void actor_end(pid_t pid)
{
	if (pid <= 1) /* kill(2) would reach other processes */
		abort();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Waits until perf is told of the process by its pid: while it is young the whole machine is
 * recorded. */
static inline void actor_wait_until_old(pid_t pid)
{
	CLEANUP(close_fd) int procfd = proc_open(pid, NULL);
	struct timespec now;
	uint64_t ticks = 0;

	if (proc_start_time(procfd, &ticks, NULL) < 0)
		abort();
	do {
		sleep_ms(20);
		clock_gettime(CLOCK_BOOTTIME, &now);
	} while (now.tv_sec - (time_t)(ticks / (uint64_t)sysconf(_SC_CLK_TCK)) < 3);
}

#endif
