/* SPDX-License-Identifier: Apache-2.0 */
/* One order served: the output file opened, the map or the snapshot written, the trailer behind it.
 */
#ifndef AGENT_SERVE_H
#define AGENT_SERVE_H

#include "agent-jni/request.h"

/* vm is the JavaVM*, since_us the time of the wake-up. False: the output file could not be opened,
 * so that there is no answer. */
bool serve_order(const struct order *order, const void *vm, uint64_t since_us);

/* Reads <ctl>/request.<pid>. Returns 1 and the order (dir unset), 0 when there is none or it is
 * malformed, -1 when the directory itself is not there. */
int serve_read_request(const char *ctl, int pid, struct order *ret);

/* Writes <dir>/agent.<pid>. Best effort. */
void serve_publish(const char *dir, int pid, int tid, int signal);

/* Whether a thread of this process other than tid has the agent's name. */
bool serve_other_resident(int tid);

#endif
