/* SPDX-License-Identifier: Apache-2.0 */
/* An event that perf knows by its name. */
#ifndef DFG_RECORD_PERF_EVENT_H
#define DFG_RECORD_PERF_EVENT_H

#include <stdint.h>

#include "record/perf.h"

/* Counts the event of the processes for 0.2 s, by `perf stat`. Returns of how many events one is to
 * be a sample, so that there are `frequency` a second on each processor: perf's own choice, by -F,
 * is off by a factor of 100 for events of software that come in bursts (perf 6.1). Fails where the
 * kernel or the machine lacks the event; the message is perf's. */
MUST_CHECK int perf_event_period(const struct perf_config *c, uint64_t *ret, struct err *err);

#endif
