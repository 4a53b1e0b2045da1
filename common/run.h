/* SPDX-License-Identifier: Apache-2.0 */
/* Programs without a shell, and children that must not outlive their parent. */
#ifndef DFG_COMMON_RUN_H
#define DFG_COMMON_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/str.h"

struct run_child {
	pid_t pid;
	int pidfd;
};

struct run_io {
	int in, out, err; /* descriptors that become stdin, stdout, stderr; -1: /dev/null */
};

/* Starts argv[0] (looked up in a fixed PATH of system directories, never the caller's) with an
 * environment of PATH, LANG=C, HOME=/nonexistent and `env` (NULL-terminated, may be NULL). The
 * child dies with its parent (PR_SET_PDEATHSIG) and is in a process group of its own, so that a
 * terminal's ^C is the parent's to handle. A program that cannot be executed is reported here, not
 * as a status. */
MUST_CHECK int run_start(char *const argv[], char *const env[], struct run_io io,
			 struct run_child *ret, struct err *err);

/* Waits until the child has ended or `ms` have passed (-1: for ever). Returns 1 and the wait
 * status when it ended, 0 on time-out or when a signal interrupted the wait. */
int run_wait(struct run_child *child, int ms, int *ret_status);

/* Sends a signal through the pidfd. */
void run_kill(struct run_child *child, int sig);

/* SIGKILL and reap, if it still runs. One that a file system (FUSE) holds ends when that lets it:
 * it is left to itself after 2 s. */
void run_stop(struct run_child *child);

/* Leaves it to itself: it is about to end. Those that have ended are reaped when the next child is
 * started. */
void run_leave(struct run_child *child);
void run_reap_left(void);

/* Runs a program to its end (argv, env, in as for run_start) and collects at most `limit` bytes of
 * its stdout; more is cut. Returns the exit status (128 + signal), or -1 with err when it could not
 * be started or took over `ms`. */
int run_capture(char *const argv[], char *const env[], int in, int ms, size_t limit,
		struct str *out, struct err *err);

/* Starts a function in a forked child; what it returns becomes the exit status. The child ignores
 * ^C, which is the parent's to handle, and dies with it. */
MUST_CHECK int run_function(int (*fn)(void *arg), void *arg, struct run_child *ret,
			    struct err *err);

/* Runs fn in a forked child, and hands back what it returned and left in `reply` (size bytes, at
 * most 64 KiB): for work that may crash, hang, or give up its rights. Fails with fn's own err, or
 * with one that says how the child ended; after `ms` (-1: never) it is killed: ETIMEDOUT. */
MUST_CHECK int run_isolated(int (*fn)(void *arg, void *reply, struct err *err), void *arg,
			    void *reply, size_t size, int ms, struct err *err);

#endif
