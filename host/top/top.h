/* SPDX-License-Identifier: Apache-2.0 */
/* The two processes of dfg-top: the collector records and sends windows, the other shows them in a
 * terminal. */
#ifndef DFG_TOP_TOP_H
#define DFG_TOP_TOP_H

#include <signal.h>

#include "common/child.h"
#include "record/config.h"
#include "report/formats.h"

/* Configures the process that records: one of its own, so that neither a JVM that keeps it waiting
 * nor the terminal's signals reach the other. Its log goes to its stderr. */
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

struct live_config {
	const struct record_config *record;
	const struct format_set *formats; /* of the graphs that a key writes */
	unsigned roots;			  /* report/merge.h: of pools or of threads */
	unsigned count;			  /* refreshes; 0: no limit */
};

/* Shows the windows of the feed until a key ends it, or *stop is not 0. Shows lines of `log`, too;
 * those after the last window are repeated on stderr at the end. The screen begins with the first
 * window, so that early errors find the terminal as it was. */
MUST_CHECK int live_show(const struct live_config *c, const char *name, int feed, int log,
			 const volatile sig_atomic_t *stop, struct err *err);

#endif
