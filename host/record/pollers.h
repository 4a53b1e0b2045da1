/* SPDX-License-Identifier: Apache-2.0 */
/* The watches over all JVMs of a run (collect/watch.h). */
#ifndef DFG_RECORD_POLLERS_H
#define DFG_RECORD_POLLERS_H

#include "record/targets.h"

/* Starts watching every JVM, and waits for the first snapshots. What fails is warned about and
 * noted in the session. Fails only when there is no room for the session itself. */
MUST_CHECK int watches_start(struct targets *t, const struct options *o, struct err *err);

/* While recording: looks for processes and JVMs that came since, and has every JVM's next snapshot
 * taken now; waits until they are there, `ms` at most. Fails as watches_start. */
MUST_CHECK int watches_refresh(struct targets *t, const struct options *o, int ms, struct err *err);

bool watches_any_ended(const struct targets *t);

/* Bytes of all snapshots. */
uint64_t watches_bytes(const struct targets *t);

/* Behind the recording: looks for JVMs that came since, takes the last snapshots, and notes in the
 * sessions how it went. Fails as watches_start. */
MUST_CHECK int watches_end(struct targets *t, const struct options *o, struct err *err);

/* Ends what is still running. */
void watches_abort(struct targets *t);

#endif
