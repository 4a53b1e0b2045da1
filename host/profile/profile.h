/* SPDX-License-Identifier: Apache-2.0 */
/* A recording and what was kept beside it -> named stacks. Pure: reads the descriptors it is given,
 * opens nothing, and needs no privilege. */
#ifndef DFG_PROFILE_PROFILE_H
#define DFG_PROFILE_PROFILE_H

#include "calltree/calltree.h"
#include "calltree/samples.h"
#include "common/err.h"
#include "session/recording.h"

/* Adds the recording to the profile. A damaged end of it is not an error: what was whole before it
 * is used. */
MUST_CHECK int profile_read(const struct recording *in, struct profile *profile, struct err *err);

#endif
