/* SPDX-License-Identifier: Apache-2.0 */
/* The half of dfg-top that records: a process of its own, so that neither a JVM that keeps it
 * waiting nor the terminal's signals reach the other half. Its log goes to its stderr. */
#ifndef DFG_TOP_COLLECTOR_H
#define DFG_TOP_COLLECTOR_H

#include "common/child.h"
#include "record/config.h"

struct collector {
	const struct record_config *config; /* window_dir, stop: set by the collector */
	const char *dir;		    /* for its files; emptied by the caller */
	int feed[2]; /* of feed_open: it writes to the second, and closes the first */
	int log;     /* becomes its stderr */
	bool waits;  /* when all processes have ended: for a container of the same name */
};

/* Starts it. It ends with an enum record_result as its status: when SIGTERM comes or the feed's
 * reader has ended, when all processes have ended and it does not wait, or when it fails. */
MUST_CHECK int collector_start(const struct collector *c, struct child *ret, struct err *err);

#endif
