/* SPDX-License-Identifier: Apache-2.0 */
/* This process: its command line, what it inherited from the runtime, its input, log and worker. */
#ifndef HOOK_SELF_H
#define HOOK_SELF_H

#include "common/err.h"
#include "hook/worker.h"

enum hook_mode {
	HOOK_MODE_HOOK,	     /* OCI state on stdin; the runtime waits */
	HOOK_MODE_JOIN,	     /* the same for a running container; prints a line */
	HOOK_MODE_PRECREATE, /* podman: specification from stdin to stdout */
	HOOK_MODE_GC,
	HOOK_MODE_RELEASE,
	HOOK_MODE_HELP,
	HOOK_MODE_VERSION,
};

struct hook_options {
	enum hook_mode mode;
	bool requested;			   /* somebody chose the hook for this container */
	const char *root, *payload, *conf; /* borrowed from argv; NULL: not given */
};

/* The administrator or dfg-trigger makes the command line, never a container. Names of stages (such
 * as "prestart") are ignored: the stage is in the state. On failure ret->mode is set all the same.
 */
MUST_CHECK int hook_options_parse(int argc, char **argv, struct hook_options *ret, struct err *err);

/* First call of main: clears the environment, closes descriptors above 2 and opens missing ones
 * below, resets signals, forbids new privileges, changes to "/". */
void hook_self_sanitise(void);

/* Reads stdin to its end or to the deadline: the runtime must not block on a full pipe. Returns the
 * length, or -1 with err when stdin had no end or more than fits. The buffer is static. */
MUST_CHECK long hook_self_read_input(uint64_t deadline, const char **ret, struct err *err);

/* Runs the worker in a child process, which is killed with all its children at the deadline. */
void hook_self_work(const struct hook_job *job, uint64_t deadline, struct hook_outcome *ret);

/* Sends one datagram to /dev/log, without waiting; it may get lost. */
void hook_self_log(const struct hook_outcome *o, uint64_t us);

#endif
