/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions -> maps for stock perf: a tar archive with perf-<pid>.map, by the host's pids, for each
 * JVM there is a snapshot of. */
#ifndef DFG_REPORT_PERFMAPS_H
#define DFG_REPORT_PERFMAPS_H

#include "common/err.h"
#include "report/load.h"

/* Snapshots come from containers: they are read in a reading's child. */
MUST_CHECK int perfmaps_draw(const struct inputs *in, int fd, struct err *err);

#endif
