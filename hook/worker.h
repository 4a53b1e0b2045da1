/* SPDX-License-Identifier: Apache-2.0 */
/* The work of one call, in the host's mount namespace: from the runtime's state to state.json.
 *
 * Root's privileges shrink in three phases: dfg-hook itself has no capability once its worker is
 * started (self.c); the worker has six, and the system calls of its work, before it reads its first
 * byte; the worker's child in the container has four and eighteen system calls (container.c).
 *
 * The worker parses the JSON of runtime and bundle with its six: a child without any would add
 * 0.35 ms to each start (fork, capabilities, filter; 1.3 ms in a jail), of 2 to 3 ms in all. */
#ifndef HOOK_WORKER_H
#define HOOK_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "hook/state.h"
#include "oci/conf.h"

struct hook_job {
	const struct conf *conf;
	const char *root, *payload; /* payload may be NULL: the default */
	bool join;
	bool requested;	   /* somebody chose the hook for this container */
	const char *input; /* the state */
	size_t len;
	uint64_t started_us; /* CLOCK_MONOTONIC */
};

struct hook_outcome {
	enum hook_status status;
	char id[OCI_ID_MAX + 1]; /* "" when the state had none */
	struct err err;		 /* msg "": no detail */
};

/* For a process of its own: what it gives up cannot come back. */
void hook_worker_run(const struct hook_job *job, struct hook_outcome *ret);

#endif
