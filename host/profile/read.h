/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recording and adds it to a profile: finds the process of each sample, and names its
 * stack. */
#ifndef DFG_PROFILE_READ_H
#define DFG_PROFILE_READ_H

#include "calltree/samples.h"
#include "common/err.h"
#include "session/recording.h"

/* Adds the recording to the profile, by several threads if it is large. Records before a damaged
 * end of the recording count. Reads only the open files of the recording. */
MUST_CHECK int profile_read(const struct recording *in, struct profile *profile, struct err *err);

#endif
