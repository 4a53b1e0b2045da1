/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the threads and the memory that the control groups of a process leave it. */
#ifndef COMMON_ROOM_H
#define COMMON_ROOM_H

#include <stdint.h>

#include "common/err.h"

/* Fails if one of the groups of a process, or a group above, leaves fewer threads or fewer bytes
 * than that; the message says how many. File cache counts as free. Groups that cannot be read have
 * no limit: in a container only its own are seen. */
MUST_CHECK int room_check(int procfd, unsigned threads, uint64_t bytes, struct err *err);

#endif
