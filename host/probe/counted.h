/* SPDX-License-Identifier: Apache-2.0 */
/* Events that the kernel counts by a name of their own, without a tracepoint. */
#ifndef DFG_PROBE_COUNTED_H
#define DFG_PROBE_COUNTED_H

#include <stdbool.h>
#include <stdint.h>

struct counted_event {
	uint32_t type;	 /* PERF_TYPE_SOFTWARE, PERF_TYPE_HARDWARE */
	uint64_t config; /* linux/perf_event.h */
};

/* By the name that `perf list` shows. False: it is another one. */
bool counted_event_find(const char *name, struct counted_event *ret);

#endif
