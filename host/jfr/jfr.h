/* SPDX-License-Identifier: Apache-2.0 */
/* Reads recordings of JDK Flight Recorder and async-profiler, which are untrusted. */
#ifndef DFG_JFR_JFR_H
#define DFG_JFR_JFR_H

#include "calltree/samples.h"
#include "common/err.h"

/* True if data begins like a recording. */
bool jfr_is(const void *data, size_t len);

/* Adds the events of a kind: bytes of an allocation, nanoseconds of a wait, else 1 each. Stacks
 * begin with the thread, and end with the class that is allocated or waited for. Adds to quality,
 * to events (of all kinds) and to cut. Events that count 1 are kept as samples, with their times.
 */
MUST_CHECK int jfr_read(struct profile *p, const void *data, size_t len, enum event_kind kind,
			struct err *err);

#endif
