/* SPDX-License-Identifier: Apache-2.0 */
/* dfg-top in a terminal. */
#ifndef DFG_TOP_LIVE_H
#define DFG_TOP_LIVE_H

#include <signal.h>

#include "common/err.h"
#include "record/config.h"
#include "report/formats.h"

struct live_config {
	const struct record_config *record;
	const struct format_set *formats; /* of the graphs that a key writes */
	unsigned count;			  /* refreshes; 0: no limit */
};

/* Shows the windows of the feed until a key ends it, or *stop is not 0. Shows lines of `log`, too;
 * those after the last window are repeated on stderr at the end. The screen begins with the first
 * window, so that early errors find the terminal as it was. */
MUST_CHECK int live_show(const struct live_config *c, const char *name, int feed, int log,
			 const volatile sig_atomic_t *stop, struct err *err);

#endif
