/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that do not outlive their parent: programs, run without a shell, and functions.
 */
#ifndef DFG_COMMON_CHILD_H
#define DFG_COMMON_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/str.h"

struct child {
	pid_t pid; /* -1 once it was reaped */
	int pidfd;
};

struct child_io {
	int in, out, err; /* descriptors that become stdin, stdout, stderr; -1: /dev/null */
};

/* Starts argv[0] (looked up in a fixed PATH of system directories, never the caller's) with an
 * environment of PATH, LANG=C, HOME=/nonexistent and `env` (NULL-terminated, may be NULL). The
 * child dies with its parent (PR_SET_PDEATHSIG) and has its own process group, so that ^C in a
 * terminal reaches only the parent. A program that cannot be executed fails here, not with an exit
 * status. */
MUST_CHECK int child_start(char *const argv[], char *const env[], struct child_io io,
			   struct child *ret, struct err *err);

/* Starts a function in a forked child; its return value becomes the exit status. The child ignores
 * SIGINT and dies with its parent. */
MUST_CHECK int child_fork(int (*fn)(void *arg), void *arg, struct child *ret, struct err *err);

/* Waits until the child has ended or `ms` have passed (-1: no time-out). Returns 1 and the wait
 * status when it ended, 0 on time-out or when a signal interrupted the wait. */
int child_wait(struct child *child, int ms, int *ret_status);

/* Sends a signal through the pidfd. */
void child_signal(struct child *child, int sig);

/* SIGKILL and reap, if it still runs. A child blocked by a file system (FUSE) is detached after
 * 0.5 s. */
void child_stop(struct child *child);

/* Stops tracking a child that is about to end. It is reaped by child_reap_detached, which every
 * start of a child calls. */
void child_detach(struct child *child);
void child_reap_detached(void);

/* Runs a program to its end (argv, env, in as for child_start) and appends at most `limit` bytes of
 * its stdout; the rest is discarded. Returns the exit status (128 + signal), or -1 with err when it
 * could not be started or took longer than `ms`. */
int child_capture(char *const argv[], char *const env[], int in, int ms, size_t limit,
		  struct str *out, struct err *err);

/* Calls fn in a forked child and copies back its return value and `reply` (size bytes, at most
 * 64 KiB): for work that may crash, block, or drop privileges. Fails with fn's err, sanitised, or
 * with one that says how the child ended; after `ms` (-1: no time-out) it is killed: ETIMEDOUT. A
 * child that read bytes of a container (jail.h) may have been taken over: check its reply, and
 * sanitise its texts with str_clean. */
MUST_CHECK int child_call(int (*fn)(void *arg, void *reply, struct err *err), void *arg,
			  void *reply, size_t size, int ms, struct err *err);

/* In such a child: the descriptor by which it replies. -1 elsewhere. */
int child_reply_fd(void);

#endif
