/* SPDX-License-Identifier: Apache-2.0 */
/* Removes old results of a container. */
#ifndef DFG_RECORD_RETENTION_H
#define DFG_RECORD_RETENTION_H

#include <stddef.h>

/* Removes all but the newest `keep` directories of a directory, which is dfg's own, that are named
 * as dfg names results, after a time: those of whoever runs it. The one named `newest`, and those
 * that are being recorded (session_create), stay. Best effort; returns how many were removed. */
size_t results_remove_old(int dirfd, const char *newest, unsigned keep);

#endif
