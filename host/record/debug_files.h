/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the separate debug files of mapped libraries and programs where distributions put them
 * (GDB's manual, "Separate Debug Files"), first in the container, then on the host, and copies
 * their symbols. Files are parsed by a child in a jail (jail.h). */
#ifndef DFG_RECORD_DEBUG_FILES_H
#define DFG_RECORD_DEBUG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "session/session.h"

#define DEBUG_LINKS_MAX 64 /* files that are read at once */

/* The reference of an ELF file to its separate debug file. */
struct debug_link {
	bool whole; /* it has its symbols itself and needs none */
	uint8_t id_len;
	uint8_t id[32]; /* build id */
	char name[64];	/* .gnu_debuglink, a plain file name; "" none */
	uint32_t crc;	/* of that file */
};

/* Fills ret[n] (n <= DEBUG_LINKS_MAX), with 0 for a descriptor that is -1 or no ELF file. */
MUST_CHECK int debug_links_read(const int *fds, size_t n, struct debug_link *ret, struct err *err);

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

/* Opens the first file that exists at a path of the debug file of `path` (as mapped), without
 * checking that it matches. A descriptor, or -1. */
MUST_CHECK int debug_file_open(const char *path, const struct debug_link *l, int rootfd);

#endif
