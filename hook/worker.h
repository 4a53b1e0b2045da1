/* SPDX-License-Identifier: Apache-2.0 */
/* The work of one call, in the host's mount namespace: from the state to the record. */
#ifndef HOOK_WORKER_H
#define HOOK_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/options.h"
#include "hook/reason.h"
#include "oci/conf.h"
#include "oci/state.h"

struct hook_job {
	const struct hook_options *options;
	const struct conf *conf;
	const char *input; /* the state */
	size_t len;
	uint64_t started_us; /* CLOCK_MONOTONIC */
};

struct hook_outcome {
	enum hook_reason reason;
	char id[OCI_ID_MAX + 1]; /* "" when the state had none */
	struct err err;		 /* msg "": nothing to say */
};

void hook_worker_run(const struct hook_job *job, struct hook_outcome *ret);

/* The root directory by option and configuration. */
const char *hook_worker_root(const struct hook_options *o, const struct conf *c);

#endif
