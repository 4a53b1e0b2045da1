/* SPDX-License-Identifier: Apache-2.0 */
/* Polls all JVMs of a recording run: a child process for each takes its snapshots
 * (jvm_snapshot.h) while perf records.
 *
 * A JVM can make whoever reads it wait without limit, and can lie: a child may be killed at any
 * moment (its report is in shared memory), and the sandbox reads what it has written. */
#ifndef DFG_RECORD_JVM_POLLER_H
#define DFG_RECORD_JVM_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "record/targets.h"

/* Starts a poller for every JVM that has none, and waits for all first snapshots. The wait has one
 * time limit for all of them, and ends early when *stop of the configuration changes. What fails is
 * logged and noted in the session. Fails only where the session's file system is full. */
MUST_CHECK int pollers_start(struct targets *t, const struct record_config *c, struct err *err);

/* While recording: finds new processes and JVMs, and asks for every JVM's next snapshot; waits for
 * all of them, `ms` at most. Fails as pollers_start. */
MUST_CHECK int pollers_refresh(struct targets *t, const struct record_config *c, int ms,
			       struct err *err);

/* True if a poller has given up, or its JVM has ended. */
bool pollers_any_ended(const struct targets *t);

/* Bytes of all snapshots. */
uint64_t pollers_bytes(const struct targets *t);

/* After the recording: finds JVMs that were started since, takes the last snapshots, and notes the
 * results in the sessions. Fails as pollers_start. */
MUST_CHECK int pollers_end(struct targets *t, const struct record_config *c, struct err *err);

/* Kills those that still run, and removes what killed ones have left in the containers' shares,
 * which are below `root`. */
void pollers_abort(struct targets *t, const char *root);

#endif
