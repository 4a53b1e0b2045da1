/* SPDX-License-Identifier: Apache-2.0 */
/* Separate debug files of the libraries and programs that were mapped, where distributions put
 * them (GDB's manual, "Separate Debug Files"): first in the container, then on the host. */
#ifndef DFG_RECORD_DEBUGFILES_H
#define DFG_RECORD_DEBUGFILES_H

#include <stddef.h>

#include "record/symfile.h"
#include "session/session.h"

/* For those of the session's files from number `first` on that have no symbols of their own and
 * whose debug file is found, puts its symbols beside them and registers that. rootfd: the root
 * directory of the process that has them mapped, or -1. Best effort: what cannot be had stays
 * without. */
void debugfiles_keep(struct session *s, size_t first, int rootfd);

/* The first file that is where the debug file of `path` (as mapped) would be: in the container,
 * then on the host. Whether it belongs to it is not looked at. A descriptor, or -1. */
MUST_CHECK int debugfiles_open(const char *path, const struct symfile_link *l, int rootfd);

#endif
