/* SPDX-License-Identifier: Apache-2.0 */
/* The half of dfg-top that records: a process of its own, so that neither a JVM that keeps it
 * waiting nor the terminal's signals reach the other half. Its remarks and errors go to its stderr.
 */
#ifndef DFG_TOP_COLLECTOR_H
#define DFG_TOP_COLLECTOR_H

#include "cmd/options.h"
#include "common/child.h"
#include "record/targets.h"

struct collector {
	const struct options *options;
	const char *dir; /* for its files; emptied by the caller */
	int feed[2];	 /* of feed_open: it writes to the second, and closes the first */
	int log;	 /* becomes its stderr */
	bool waits;	 /* at their end for processes that come in their place */
};

/* Starts it. It ends with an exit_status: when SIGTERM comes or the feed's reader has gone, when
 * all processes have ended and it does not wait, or when it fails. */
MUST_CHECK int collector_start(const struct collector *c, struct child *ret, struct err *err);

#endif
