/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the JVM's stubs, as SNAP_STUB records: a blob ("StubRoutines (2)") holds many. */
#ifndef HS_STUBS_H
#define HS_STUBS_H

#include "hotspot/snapshot.h"

/* Writes a record for each stub that has a name; with `known`, which a snapshot that is whole sets
 * anew, a delta writes only those that came since. Nothing where they are not found. To be called
 * while no code is in the batch. False: the sink takes no more. */
bool snapshot_stubs(struct snapshot *s, const struct hs_heaps *heaps, struct hs_stubs_known *known);

#endif
