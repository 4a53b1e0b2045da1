/* SPDX-License-Identifier: Apache-2.0 */
/* The agent in a JVM of a container: whether it is there, how it gets there, how it is woken. */
#ifndef DFG_RECORD_AGENT_CLIENT_H
#define DFG_RECORD_AGENT_CLIENT_H

#include <stdbool.h>

#include "common/err.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "record/share.h"

/* Whether the JVM has the agent's thread. */
bool agent_is_resident(const struct jvm *j);

/* Fails where the JVM has the agent, whose thread is stopped or frozen. */
MUST_CHECK int agent_can_answer(const struct jvm *j, struct err *err);

/* Whether the JVM can see the payload directory. */
bool agent_is_visible(const struct jvm *j);

/* Mounts payload and share into a container that runs without them, by `dfg-hook --join`. */
MUST_CHECK int agent_join(const char *root, const struct container *c, struct err *err);

/* Removes what ended containers left, `dfg-hook --gc`: those that were joined have no hook that
 * runs when they end. Best effort. */
void agent_sweep(const char *root);

/* Attaches and loads; `request` is a dump to do at once, or NULL; debug_info: switch
 * DebugNonSafepoints on (request.h, dns=1). */
MUST_CHECK int agent_load(const struct jvm *j, const struct dump *request, bool debug_info,
			  struct err *err);

/* Sends the agent's signal, after checking that the JVM catches it. */
MUST_CHECK int agent_signal(const struct jvm *j, int pidfd, int sig, struct err *err);

#endif
