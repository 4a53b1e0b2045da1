/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, loads and wakes the agent in a JVM of a container. */
#ifndef DFG_RECORD_AGENT_CLIENT_H
#define DFG_RECORD_AGENT_CLIENT_H

#include <stdbool.h>

#include "common/err.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "record/agent_share.h"

/* True if the JVM has the agent's thread. */
bool agent_is_resident(const struct jvm *j);

/* Fails where the agent's thread is stopped or frozen, or the container is about to reach its limit
 * of memory, at which the kernel would kill the JVM. */
MUST_CHECK int agent_can_answer(const struct jvm *j, struct err *err);

/* True if the JVM can see the payload directory. */
bool agent_is_visible(const struct jvm *j);

/* True where loading the agent goes unnoticed: it is visible, and the JVM prints no warning when an
 * agent is loaded (before JDK 21, JEP 451). */
bool agent_loads_silently(const struct jvm *j);

/* Mounts payload and share into a running container, by `dfg-hook --join`. */
MUST_CHECK int agent_join(const char *root, const struct container *c, struct err *err);

/* Removes the mounts and records of ended containers, by `dfg-hook --gc`: for containers that were
 * joined no hook runs when they end. Best effort. */
void agent_sweep(const char *root);

/* Attaches and loads the agent; `d` is a dump that it makes at once, or NULL; debug_info: switches
 * DebugNonSafepoints on (request.h, dns=1). */
MUST_CHECK int agent_load(const struct jvm *j, const struct dump *d, bool debug_info,
			  struct err *err);

/* Sends the agent's signal, after checking that the JVM catches it. */
MUST_CHECK int agent_signal(const struct jvm *j, int pidfd, int sig, struct err *err);

#endif
