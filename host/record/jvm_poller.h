/* SPDX-License-Identifier: Apache-2.0 */
/* Polls the JVMs of a target: a child process for each takes its snapshots (jvm_snapshot.h) while
 * perf records.
 *
 * A JVM can make whoever reads it wait without limit, and can lie: a child may be killed at any
 * moment (its report is in shared memory), and the sandbox reads what it has written. */
#ifndef DFG_RECORD_JVM_POLLER_H
#define DFG_RECORD_JVM_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "record/target.h"

/* Starts a poller for every JVM that has none, and waits for the first snapshots until `deadline`
 * (clock_ms), or until *stop of the configuration changes. A JVM that takes longer is still read
 * during the recording. Failures are logged and noted in the session. Fails only where the
 * session's file system is full. */
MUST_CHECK int pollers_start(struct target *t, const struct record_config *c, uint64_t deadline,
			     struct err *err);

/* Takes another snapshot of every JVM during a recording, and looks for new processes and JVMs.
 * Each of these steps has its part of the time until the deadline. Fails as pollers_start. */
MUST_CHECK int pollers_refresh(struct target *t, const struct record_config *c, uint64_t deadline,
			       struct err *err);

/* Returns the file of a JVM's snapshots, borrowed, the first time that it has one; else -1. Then
 * *ret_asks is a socket to ask for its code (bpf/made.h): the caller's. */
int pollers_follow(struct target *t, pid_t pid, int *ret_asks);

/* True if a JVM still has no snapshot, or one that pollers_follow has not returned. */
bool pollers_any_late(const struct target *t);

/* True if a poller has given up, or its JVM has ended. */
bool pollers_any_ended(const struct target *t);

/* Bytes of all snapshots. */
uint64_t pollers_bytes(const struct target *t);

/* After the recording: finds JVMs that were started since, takes the last snapshots, and notes the
 * results in the session. Fails as pollers_start. */
MUST_CHECK int pollers_end(struct target *t, const struct record_config *c, uint64_t deadline,
			   struct err *err);

/* Kills those that still run, and removes what killed ones have left in the container's share,
 * which is below `root`. */
void pollers_abort(struct target *t, const char *root);

#endif
