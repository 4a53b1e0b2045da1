/* SPDX-License-Identifier: Apache-2.0 */
/* What snapshots have said (dfg/hotspot.h, hs_dump_delta), kept between two requests so that the
 * next can be a delta (request.h, since= and keep=). One series at a time; mapped only while it is
 * kept. Of the agent's thread alone. */
#ifndef AGENT_KEPT_H
#define AGENT_KEPT_H

#include "order.h"

/* The memory for an order, zeroed where what it asks for is not there. NULL: the order remembers
 * nothing, or there is no memory; a whole snapshot then. */
void *kept_take(const struct order *order);

/* Behind the dump. Forgets all unless the order says for how long to keep it. */
void kept_give(const struct order *order);

/* Forgets what has been kept for long enough. Returns the milliseconds up to when there will be
 * something to forget, -1: never. */
int kept_expire(void);

#endif
