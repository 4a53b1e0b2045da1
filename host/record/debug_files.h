/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the symbols of the separate debug files of mapped libraries and programs
 * (debug_link.h) into a session. Files are parsed by a child in a jail (jail.h). */
#ifndef DFG_RECORD_DEBUG_FILES_H
#define DFG_RECORD_DEBUG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "discover/debug_link.h"
#include "session/session.h"

struct debug_copy {
	const struct debug_link *link;
	int from; /* what may be its debug file */
	int to;	  /* an empty file */
};

/* Writes the symbols of each debug file that matches its link (by build id, else by checksum): an
 * ELF file of its section headers, in which only .symtab, .strtab and the build id have contents.
 * ret[n] tells which are written, with `room` bytes in all; n <= DEBUG_LINKS_MAX. */
MUST_CHECK int debug_symbols_copy(const struct debug_copy *c, size_t n, uint64_t room, bool *ret,
				  struct err *err);

/* Finds debug files for the session's files from number `first` on that have no symbols of their
 * own; copies and registers their symbols. rootfd: the root directory of the process that has them
 * mapped, or -1. Best effort. */
void debug_files_copy(struct session *s, size_t first, int rootfd);

#endif
