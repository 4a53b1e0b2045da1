/* SPDX-License-Identifier: Apache-2.0 */
/* The watches over all JVMs of a run (collect/watch.h). */
#ifndef DFG_WATCHES_H
#define DFG_WATCHES_H

#include "target.h"

/* Starts watching every JVM, and waits for the first snapshots. What fails is warned about and
 * noted in the session. Fails only when there is no room for the session itself. */
MUST_CHECK int watches_start(struct targets *t, const struct options *o, struct err *err);

/* Behind the recording: looks for JVMs that came since, takes the last snapshots, and notes in the
 * sessions how it went. Fails as watches_start. */
MUST_CHECK int watches_end(struct targets *t, const struct options *o, struct err *err);

/* Ends what is still running. */
void watches_abort(struct targets *t);

#endif
