/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `perf record`. It is told to open nothing of the containers (-B -N: no build ids, no copies:
 * perf would follow a container's paths as root), only to write down what the kernel reports. */
#ifndef DFG_RECORD_H
#define DFG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "dfg/err.h"
#include "dfg/run.h"

struct record_options {
	const char *dir; /* of the session: perf.data and perf.log are made in it */
	unsigned frequency;
	unsigned stack_bytes; /* of each sample's stack to copy, with the registers; 0: frame
				 pointers */
	const pid_t *pids;
	size_t count;
};

struct recording {
	struct run_child perf;
	bool whole_machine; /* too many threads for one event each: all was recorded */
	char *dir;
};

MUST_CHECK int record_start(const struct record_options *o, struct recording *ret, struct err *err);

/* 1 when perf has ended by itself (all processes are gone, or it failed), else 0 after `ms`. */
int record_wait(struct recording *r, int ms);

/* Ends the recording and checks that there is something: fails with perf's own words. */
MUST_CHECK int record_stop(struct recording *r, struct err *err);

/* Kills perf, if it still runs. */
void record_abort(struct recording *r);

#endif
