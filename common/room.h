/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the threads and the memory that its control groups, and its user, leave a process. */
#ifndef COMMON_ROOM_H
#define COMMON_ROOM_H

#include <stdint.h>

#include "common/err.h"

/* Fails if one of the groups of a process, or a group above, leaves fewer threads or fewer bytes
 * than that, or if RLIMIT_NPROC leaves fewer threads; the message says how many. File cache counts
 * as free. What cannot be read has no limit: in a container only its own groups and processes are
 * seen. */
MUST_CHECK int room_check(int procfd, unsigned threads, uint64_t bytes, struct err *err);

#endif
