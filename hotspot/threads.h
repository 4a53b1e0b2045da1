/* SPDX-License-Identifier: Apache-2.0 */
/* The names Java gave its threads, as SNAP_THREAD records. */
#ifndef HS_THREADS_H
#define HS_THREADS_H

#include "hotspot/snapshot.h"

/* Writes a record for each Java thread whose name can be read; with `known`, only for what is not
 * known yet. A virtual thread has its carrier's. False: the sink takes no more. */
bool snapshot_threads(struct snapshot *s, struct hs_threads_known *known);

#endif
