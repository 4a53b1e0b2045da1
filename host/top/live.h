/* SPDX-License-Identifier: Apache-2.0 */
/* dfg-top in a terminal. */
#ifndef DFG_TOP_LIVE_H
#define DFG_TOP_LIVE_H

#include <signal.h>

#include "cmd/options.h"
#include "common/err.h"

/* Shows what comes by the feed until a key ends it, or *stop is not 0. Lines of `log` are shown as
 * they come; those that came where nobody could read them are written to stderr at the end. The
 * screen begins with the first window, so that early errors find the terminal as it was. */
MUST_CHECK int live_show(const struct options *o, const char *name, int feed, int log,
			 const volatile sig_atomic_t *stop, struct err *err);

#endif
