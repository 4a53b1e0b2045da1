/* SPDX-License-Identifier: Apache-2.0 */
/* Becoming the JVM's user: what a client of its socket must be, and no more. */
#ifndef INJECTOR_IDS_H
#define INJECTOR_IDS_H

#include <sys/types.h>

#include "common/err.h"

/* All three user and group ids, no supplementary groups, no capability, no way back, no core dump.
 * For a process that does nothing else afterwards. Without the right to change ids they must be the
 * caller's already. */
MUST_CHECK int ids_take(uid_t uid, gid_t gid, struct err *err);

#endif
